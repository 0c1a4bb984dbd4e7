"""Distortions by a lens, and along a grid: operators that move each pixel by a formula."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from orbbec.bridge.arguments import copied_to
from orbbec.bridge.spec import EVERY_DTYPE, OpSpec, register
from orbbec.plan.build import Build
from orbbec.plan.parameters import Column, OperatorStep
from orbbec.transforms.base.checks import FillValue, Range, flag, interval, whole
from orbbec.transforms.base.transform import Transform
from orbbec.transforms.warps import checked_reading, reading_of
from orbbec.warpaffine import remap

_WHY = "moves each pixel by a formula of its own"


def lens_displacement(size: tuple[int, int], distortion: Tensor) -> Tensor:
    """How far from each pixel a lens reads, by two coefficients: float32 `[N, 2, H, W]` on the CPU."""
    height, width = size
    x = torch.arange(width, dtype=torch.float64, device="cpu") - width / 2
    y = torch.arange(height, dtype=torch.float64, device="cpu") - height / 2
    squared = (x / width) ** 2 + (y[:, None] / height) ** 2
    stretch = distortion.double().view(-1, 1, 1) * (squared + squared * squared)
    return torch.stack([x * stretch, y[:, None] * stretch], 1).float()


def grid_displacement(
    size: tuple[int, int], steps_x: Tensor, steps_y: Tensor, is_normalized: Tensor
) -> Tensor:
    """How far from each pixel a distorted grid reads: float32 `[N, 2, H, W]` on the CPU.

    Args:
        size: (height, width).
        steps_x: float64 `[N, cells + 1]`: sides of the cells along x that are read, relative to theirs.
        steps_y: the same along y.
        is_normalized: bool `[N]`: whether all cells together have the side of the image.
    """
    height, width = size
    x = _along(width, steps_x.double(), is_normalized) - torch.arange(width, device="cpu")
    y = _along(height, steps_y.double(), is_normalized) - torch.arange(height, device="cpu")
    count = len(x)
    return torch.stack(
        [x[:, None].expand(count, height, width), y[..., None].expand(count, height, width)], 1
    ).float()


def _along(side: int, steps: Tensor, is_normalized: Tensor) -> Tensor:
    """The positions that an axis reads: float64 `[N, side]`; the last cell has what is left."""
    cells = steps.shape[1] - 1
    cell = max(side // cells, 1)
    shares = steps.clone()
    shares[:, -1] *= (min(side, (cells + 1) * cell) - min(side, cells * cell)) / cell
    normal = shares * (side / cell / shares.sum(1, keepdim=True))
    lengths = torch.where(is_normalized[:, None], normal, steps) * cell
    ends = lengths.cumsum(1)
    positions = torch.zeros(len(steps), side, dtype=torch.float64, device="cpu")
    for index in range(cells + 1):
        start, end = min(index * cell, side), min((index + 1) * cell, side)
        fractions = torch.arange(end - start, dtype=torch.float64, device="cpu") / max(end - start - 1, 1)
        first = ends[:, index] - lengths[:, index]
        positions[:, start:end] = first[:, None] + fractions * lengths[:, index, None]
    return positions


def _displaced(images: Tensor, displacement: Tensor, how: dict[str, Any]) -> Tensor:
    *_, height, width = images.shape
    on_device = copied_to(images.device, displacement)
    x = on_device[:, 0] + torch.arange(width, device=images.device)
    y = on_device[:, 1] + torch.arange(height, device=images.device)[:, None]
    result: Tensor = remap(images, x, y, **how)
    return result


def _seen_by_lens(images: Tensor, distortion: Tensor, **how: Any) -> Tensor:
    size = images.shape[-2], images.shape[-1]
    return _displaced(images, lens_displacement(size, distortion), how)


def _seen_by_grid(
    images: Tensor, steps_x: Tensor, steps_y: Tensor, is_normalized: Tensor, **how: Any
) -> Tensor:
    size = images.shape[-2], images.shape[-1]
    return _displaced(images, grid_displacement(size, steps_x, steps_y, is_normalized), how)


for _call, _name, _displacement, _columns in (
    (_seen_by_lens, "optical_distortion", lens_displacement, ("distortion",)),
    (_seen_by_grid, "grid_distortion", grid_displacement, ("steps_x", "steps_y", "is_normalized")),
):
    register(
        OpSpec(
            call=_call,
            name=_name,
            dtypes=EVERY_DTYPE,
            displacement=_displacement,
            host_columns=_columns,
            takes_ragged=False,
            capturable=False,
        )
    )


class _Distortion(Transform):
    """Moves pixels; its subclasses have these fields."""

    interpolation: str
    fill: FillValue
    padding_mode: str
    p: float

    def __post_init__(self) -> None:
        self._set(**checked_reading(self))
        self._check("p")

    def _add(self, build: Build, name: str, columns: dict[str, Column], chosen: int) -> None:
        interpolation, border, fill = reading_of(self)
        options = {
            "interpolation": interpolation,
            "border": border,
            "fill": list(fill) if len(fill) > 1 else fill[0],
        }
        build.operator(OperatorStep(name, columns, options, drawn=chosen, why=_WHY))


@dataclass(frozen=True)
class OpticalDistortion(_Distortion):
    """Distort images as a lens does.

    Output pixel (x, y) reads `c + ((x, y) - c) * (1 + k r^2 + k r^4)`, where c is half the size and r the
    distance from c in units of the size.

    Args:
        distort_range: range of k, from -1 to 1.
        interpolation: "nearest", "linear", "cubic" or "lanczos4".
        fill: value outside the image, in pixel units: a number or one per channel.
        padding_mode: how pixels outside the image are read: "constant" (`fill`) or a mode of `Pad`.
        p: probability, from 0 to 1.

    Source:
        `OpticalDistortion` of Albumentations with mode "camera", by `cv2.initUndistortRectifyMap`; without
        the shift by half a pixel that it adds.

    Example:
        >>> OpticalDistortion((0.2, 0.2), p=1.0)(torch.zeros(3, 20, 30, dtype=torch.uint8)).shape
        torch.Size([3, 20, 30])
    """

    distort_range: Range = (-0.05, 0.05)
    interpolation: str = "linear"
    fill: FillValue = 0.0
    padding_mode: str = "constant"
    p: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(distort_range=interval(self.name, "distort_range", self.distort_range, -1.0, 1.0))

    def rules(self, build: Build) -> None:
        chosen = build.chance(self.p)
        columns = {"distortion": Column("registers", build.uniform(*self.distort_range))}
        self._add(build, "optical_distortion", columns, chosen)


@dataclass(frozen=True)
class GridDistortion(_Distortion):
    """Stretch the rows and columns of a grid, each by a drawn factor.

    Args:
        num_steps: number of cells along each axis, from 1 to 64; what is left is one more.
        distort_range: range of the relative change of a cell's side, above -1.
        normalized: whether the cells together have the side of the image.
        interpolation: see `OpticalDistortion`.
        fill: see `OpticalDistortion`.
        padding_mode: see `OpticalDistortion`.
        p: probability, from 0 to 1.

    Source:
        `GridDistortion` of Albumentations, by `cv2.remap`.

    Example:
        >>> GridDistortion(p=1.0)(torch.zeros(3, 20, 30, dtype=torch.uint8)).shape
        torch.Size([3, 20, 30])
    """

    num_steps: int = 5
    distort_range: Range = (-0.3, 0.3)
    normalized: bool = True
    interpolation: str = "linear"
    fill: FillValue = 0.0
    padding_mode: str = "constant"
    p: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(
            num_steps=whole(self.name, "num_steps", self.num_steps, 1, 64),
            distort_range=interval(self.name, "distort_range", self.distort_range, -0.999),
            normalized=flag(self.name, "normalized", self.normalized),
        )

    def rules(self, build: Build) -> None:
        chosen, count = build.chance(self.p), self.num_steps + 1
        low, high = self.distort_range
        columns = {"is_normalized": Column("constant", dtype="bool", value=self.normalized)}
        for name in ("steps_x", "steps_y"):
            first = build.consecutive([build.uniform(1 + low, 1 + high) for _ in range(count)])
            columns[name] = Column("registers", first, (count,))
        self._add(build, "grid_distortion", columns, chosen)
