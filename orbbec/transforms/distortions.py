"""Distortions by a perspective, a lens, a grid and a thin plate, and exchanged cells of a grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from math import isqrt
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec.bridge.arguments import Array, copied_to
from orbbec.bridge.spec import EVERY_DTYPE, composite
from orbbec.matrices import get_perspective_matrix, invert_perspective
from orbbec.plan.build import Build
from orbbec.plan.parameters import Column, OperatorStep
from orbbec.plan.steps import BatchState, Step, identities
from orbbec.plan.stream import Stream
from orbbec.transforms.base.arguments import at_least, both, checks, warp_interpolation
from orbbec.transforms.base.checks import FillValue, Range, whole
from orbbec.transforms.base.transform import Transform, _Chance
from orbbec.transforms.warps import displacement_options, reading_of, warp, warp_step
from orbbec.warpaffine import remap

_CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])  # clockwise from the top left
_SPLINE_PIXELS = 1 << 14  # that are computed at once: the terms stay in the cache
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


def spline_displacement(size: tuple[int, int], scale: Tensor, draws: Tensor) -> Tensor:
    """How far from each pixel a thin plate with displaced points reads: float32 `[N, 2, H, W]` on the CPU.

    Args:
        size: (height, width).
        scale: float64 `[N]`: standard deviation of the displacements of the control points, in units of the
            size.
        draws: float64 `[N, K, 2]` from 0 to 1, of which Box and Muller's method makes normal numbers.
    """
    (height, width), count = size, 2 if draws.shape[1] == 5 else isqrt(draws.shape[1])
    chances, angles = np.moveaxis(draws.double().numpy(), 2, 0) * [[[1.0]], [[2 * np.pi]]]
    radii = np.sqrt(-2 * np.log1p(-chances)) * scale.double().numpy()[:, None]
    offsets = np.stack([radii * np.cos(angles), radii * np.sin(angles)], 2)
    # Sums of products in this order, which is the same for any number of images.
    weights = (_spline_matrix(count)[:, :, None] * offsets[:, None]).sum(2) * (width, height)
    results = np.empty((len(draws), 2, height, width), np.float32)
    x, rows = np.arange(width) / width, max(_SPLINE_PIXELS // max(width, 1), 1)
    for top in range(0, height, rows):
        y = np.arange(top, min(top + rows, height))[:, None] / height
        terms = [_bending((x - at_x) ** 2 + (y - at_y) ** 2) for at_x, at_y in _control_points(count)]
        terms += np.broadcast_arrays(np.ones((1, 1)), x, y)
        for result, weight in zip(results, weights, strict=True):
            result[:, top : top + rows] = sum(
                term * each[:, None, None] for term, each in zip(terms, weight, strict=True)
            )
    return torch.from_numpy(results)


def _control_points(count: int) -> Array:
    """Points (x, y) of a grid in units of the size: float64 `[K, 2]`; for 2, the corners and the center."""
    along = np.linspace(0, 1, count)
    grid = np.stack(np.meshgrid(along, along), 2).reshape(-1, 2)
    return np.concatenate([grid, [[0.5, 0.5]]]) if count == 2 else grid


def _bending(squared: Array) -> Array:
    """The fundamental solution of a thin plate, of squared distances."""
    result: Array = squared * np.log(np.maximum(squared, np.finfo(np.float64).tiny))
    return result


@cache
def _spline_matrix(count: int) -> Array:
    """From displacements of control points to the weights of all terms: float64 `[K + 3, K]`."""
    points = _control_points(count)
    affine = np.concatenate([np.ones((len(points), 1)), points], 1)
    kernel = _bending(((points[:, None] - points) ** 2).sum(2))
    return np.linalg.inv(np.block([[kernel, affine], [affine.T, np.zeros((3, 3))]]))[:, : len(points)]


def _displaced(images: Tensor, displacement: Tensor, how: dict[str, Any]) -> Tensor:
    *_, height, width = images.shape
    on_device = copied_to(images.device, displacement)
    x = on_device[:, 0] + torch.arange(width, device=images.device)
    y = on_device[:, 1] + torch.arange(height, device=images.device)[:, None]
    result: Tensor = remap(images, x, y, **how)
    return result


@composite("optical_distortion", EVERY_DTYPE, displacement=lens_displacement, host_columns=("distortion",))
def _seen_by_lens(images: Tensor, distortion: Tensor, **how: Any) -> Tensor:
    size = images.shape[-2], images.shape[-1]
    return _displaced(images, lens_displacement(size, distortion), how)


@composite(
    "grid_distortion",
    EVERY_DTYPE,
    displacement=grid_displacement,
    host_columns=("steps_x", "steps_y", "is_normalized"),
)
def _seen_by_grid(
    images: Tensor, steps_x: Tensor, steps_y: Tensor, is_normalized: Tensor, **how: Any
) -> Tensor:
    size = images.shape[-2], images.shape[-1]
    return _displaced(images, grid_displacement(size, steps_x, steps_y, is_normalized), how)


@composite(
    "thin_plate_spline", EVERY_DTYPE, displacement=spline_displacement, host_columns=("scale", "draws")
)
def _seen_by_plate(images: Tensor, scale: Tensor, draws: Tensor, **how: Any) -> Tensor:
    return _displaced(images, spline_displacement((images.shape[-2], images.shape[-1]), scale, draws), how)


@dataclass(frozen=True)
class RandomPerspective(Transform):
    """Move the corners of each image inwards.

    Args:
        distortion_scale: largest displacement as a fraction of half a side, from 0 to 1.
        p: probability, from 0 to 1.
        interpolation: "nearest", "linear" (also as "area"), "cubic" or "lanczos4".
        fill: value outside the image, in pixel units: a number or one per channel.
        padding_mode: how pixels outside the image are read: "constant" (`fill`) or a mode of `Pad`.

    Source:
        `torchvision.transforms.v2.RandomPerspective`.

    Example:
        >>> image = torch.zeros(3, 20, 30, dtype=torch.uint8)
        >>> RandomPerspective(0.5, p=1.0, fill=255)(image).shape
        torch.Size([3, 20, 30])
    """

    distortion_scale: float = 0.5
    p: float = 0.5
    interpolation: str = "linear"
    fill: FillValue = 0.0
    padding_mode: str = "constant"

    _checks = checks(distortion_scale=(0.0, 1.0), interpolation=warp_interpolation)

    def rules(self, build: Build) -> None:
        with build.only(build.chance(self.p)):
            reading = reading_of(self)
            warp(build, "perspective", self.distortion_scale, reading=reading, operator="warp_perspective")


@dataclass(frozen=True)
class Perspective(_Chance):
    """Look at the quadrilateral of four points that are drawn near the corners of each image.

    The quadrilateral fills the image, and is then enlarged about its top left corner: a side of it becomes
    as long as the side of the image.

    Args:
        scale: range of the standard deviation of the points' distances from the corners, as fractions of the
            sides; distances are taken modulo 0.32.
        keep_size: whether results have the size of the image; otherwise that of the quadrilateral.
        fit_output: show the whole image instead, without enlarging it.
        interpolation: see `RandomPerspective`.
        fill: see `RandomPerspective`.
        padding_mode: see `RandomPerspective`.
        p: probability, from 0 to 1.

    Source:
        `Perspective` of Albumentations, by `cv2.getPerspectiveTransform` and `cv2.warpPerspective`.

    Example:
        >>> Perspective(p=1.0)(torch.zeros(3, 20, 30, dtype=torch.uint8)).shape
        torch.Size([3, 20, 30])
    """

    scale: Range = (0.05, 0.1)
    keep_size: bool = True
    fit_output: bool = False
    interpolation: str = "linear"
    fill: FillValue = 0.0
    padding_mode: str = "constant"
    p: float = 0.5

    _checks = checks(scale=at_least(0.0), interpolation=warp_interpolation)

    def sample(self, sizes: Array, stream: Stream) -> tuple[Array, Array]:
        """Whether each image is changed, and its points: bool `[N]`, float64 `[N, 4, 2]`."""
        chosen, scale = stream.chance(self.p), stream.between(*self.scale)
        distances = np.abs(stream.normals(8).reshape(-1, 4, 2) * scale[:, None, None]) % 0.32
        return chosen, np.abs(_CORNERS - distances) * sizes[:, None, ::-1]

    def steps(self, params: tuple[Array, Array], state: BatchState) -> list[Step]:
        chosen, points = params
        sides = np.broadcast_to(state.sizes[:, None, ::-1], points.shape)
        corners = (_CORNERS * sides).astype(np.float32)
        forward = get_perspective_matrix(points.astype(np.float32), corners).astype(np.float64)
        lengths = np.hypot(*np.moveaxis(points - np.roll(points, -1, 1), 2, 0))  # above, right, below, left
        ends = np.maximum(lengths[:, :2], lengths[:, 2:])
        if self.fit_output:
            forward, ends = _fitted(forward, corners)
        outputs = np.maximum(ends, 1).astype(np.int64)[:, ::-1]
        if self.keep_size:
            scales = identities(len(state))
            scales[:, [0, 1], [0, 1]] = (state.sizes / outputs)[:, ::-1]
            forward, outputs = scales @ forward, state.sizes
        reading = reading_of(self)
        step = warp_step(invert_perspective(forward), outputs, *reading, (1, 1), "warp_perspective")
        return [step.only(chosen)]


def _fitted(forward: Array, corners: Array) -> tuple[Array, Array]:
    """Matrices that show the whole images, and the sides of what they show: `[N, 3, 3]`, `[N, 2]`."""
    # Corners behind the viewer too, which `carried` gives no position: cv2.perspectiveTransform does.
    homogeneous = np.concatenate([corners, np.ones_like(corners[..., :1])], 2) @ forward.transpose(0, 2, 1)
    ends = homogeneous[..., :2] / homogeneous[..., 2:]
    ends = np.rint(ends - ends.min(1, keepdims=True)).astype(np.float32)
    matrices = get_perspective_matrix(corners, ends).astype(np.float64)
    return matrices, ends.max(1)


def _ends(side: int, order: Array) -> Array:
    """The ends of the intervals of an axis: whole numbers `[K + 1]`; `order` says which are longer."""
    least, longer = divmod(side, len(order))
    return np.concatenate([[0], np.cumsum(least + (order < longer))])


def shuffled_cells(size: tuple[int, int], row_order: Array, column_order: Array, order: Array) -> Array:
    """The cells of a grid, and where each moves: int64 `[K, 6]`; see `pieces` of `OpSpec`.

    Args:
        size: (height, width).
        row_order: a permutation `[rows]`: the rows of the first numbers are longer if heights differ.
        column_order: the same of columns.
        order: a permutation `[K]` of all cells, by which those of one size are exchanged.
    """
    y, x = (_ends(*pair) for pair in zip(size, (row_order, column_order), strict=True))
    tops, lefts = (each.reshape(-1) for each in np.meshgrid(y[:-1], x[:-1], indexing="ij"))
    bottoms, rights = (each.reshape(-1) for each in np.meshgrid(y[1:], x[1:], indexing="ij"))
    sides = bottoms - tops, rights - lefts
    sources, outputs = np.lexsort(sides), np.lexsort((order, *sides))
    corners = np.empty((len(order), 2), np.int64)
    corners[sources] = np.stack([lefts, tops], 1)[outputs]
    return np.concatenate([np.stack([lefts, tops, rights, bottoms], 1), corners], 1).astype(np.int64)


@composite(
    "grid_shuffle",
    EVERY_DTYPE,
    pieces=shuffled_cells,
    host_columns=("row_order", "column_order", "order"),
)
def _with_shuffled_cells(images: Tensor, **orders: Tensor) -> Tensor:
    size, result = (images.shape[-2], images.shape[-1]), torch.empty_like(images)
    for n, (image, output) in enumerate(zip(images, result, strict=True)):
        numbers = {name: values[n].numpy() for name, values in orders.items()}
        for left, top, right, bottom, x, y in shuffled_cells(size, **numbers).tolist():
            output[:, y : y + bottom - top, x : x + right - left] = image[:, top:bottom, left:right]
    return result


@dataclass(frozen=True)
class RandomGridShuffle(_Chance):
    """Exchange the cells of a grid at random.

    Where sides are no multiples of the numbers of cells, random rows and columns are longer by a pixel, and
    cells of one size are exchanged. A keypoint moves with its cell. A box or a polygon becomes its largest
    part within one cell, and the rest counts as hidden.

    Args:
        grid: numbers of cells along y and x, each from 1 to 16.
        p: probability, from 0 to 1.

    Source:
        `RandomGridShuffle` of Albumentations, where all parts of a box become boxes.

    Example:
        >>> image = torch.tensor([[[1, 2]]], dtype=torch.uint8)
        >>> shuffled = [RandomGridShuffle((1, 2), 1.0)(image).flatten().tolist() for _ in range(50)]
        >>> sorted(set(map(tuple, shuffled)))
        [(1, 2), (2, 1)]
    """

    grid: Sequence[int] = (3, 3)
    p: float = 0.5

    _checks = checks(grid=both(partial(whole, low=1, high=16)))

    def rules(self, build: Build) -> None:
        chosen, (rows, columns) = build.chance(self.p), self.grid
        counts = {"row_order": rows, "column_order": columns, "order": rows * columns}
        orders = {
            name: Column("registers", build.permutation(count), (count,), "int64")
            for name, count in counts.items()
        }
        build.operator(OperatorStep("grid_shuffle", orders, drawn=chosen, why="exchanges cells of a grid"))


class _Distortion(Transform):
    """Moves pixels; its subclasses have these fields."""

    interpolation: str
    fill: FillValue
    padding_mode: str
    p: float

    _checks = checks(interpolation=warp_interpolation)

    def _add(self, build: Build, name: str, columns: dict[str, Column], chosen: int) -> None:
        build.operator(OperatorStep(name, columns, displacement_options(self), drawn=chosen, why=_WHY))


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

    _checks = checks(distort_range=(-1.0, 1.0))

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

    _checks = checks(num_steps=(1, 64), distort_range=at_least(-0.999))

    def rules(self, build: Build) -> None:
        chosen, count = build.chance(self.p), self.num_steps + 1
        low, high = self.distort_range
        columns = {"is_normalized": Column("constant", dtype="bool", value=self.normalized)}
        for name in ("steps_x", "steps_y"):
            first = build.consecutive([build.uniform(1 + low, 1 + high) for _ in range(count)])
            columns[name] = Column("registers", first, (count,))
        self._add(build, "grid_distortion", columns, chosen)


@dataclass(frozen=True)
class ThinPlateSpline(_Distortion):
    """Bend images as a thin plate whose control points move.

    Args:
        scale_range: range of the standard deviation of their displacements, in tenths of the size, from 0 to
            1.
        num_control_points: along each axis, from 2 to 8; 2 adds the center.
        interpolation: see `OpticalDistortion`.
        fill: see `OpticalDistortion`.
        padding_mode: see `OpticalDistortion`.
        p: probability, from 0 to 1.

    Source:
        Bookstein: Principal warps (1989). Numbers: `ThinPlateSpline` of AlbumentationsX, by `cv2.remap`.

    Example:
        >>> ThinPlateSpline(p=1.0)(torch.zeros(3, 20, 30, dtype=torch.uint8)).shape
        torch.Size([3, 20, 30])
    """

    scale_range: Range = (0.2, 0.4)
    num_control_points: int = 4
    interpolation: str = "linear"
    fill: FillValue = 0.0
    padding_mode: str = "constant"
    p: float = 0.5

    _checks = checks(scale_range=(0.0, 1.0), num_control_points=(2, 8))

    def rules(self, build: Build) -> None:
        chosen, count = build.chance(self.p), len(_control_points(self.num_control_points))
        low, high = self.scale_range
        scale = build.uniform(low / 10, high / 10)
        first = build.consecutive([build.uniform() for _ in range(2 * count)])
        columns = {"scale": Column("registers", scale), "draws": Column("registers", first, (count, 2))}
        self._add(build, "thin_plate_spline", columns, chosen)
