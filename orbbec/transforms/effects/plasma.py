"""Clouds of noise: uneven brightness and contrast, and soft shadows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from orbbec.bridge.arguments import copied_to
from orbbec.bridge.spec import OpSpec, register
from orbbec.color.statistics import channel_statistics
from orbbec.noise import philox_noise
from orbbec.plan.build import Build
from orbbec.plan.parameters import Column, OperatorStep
from orbbec.transforms.base.checks import Range, flag, interval, number
from orbbec.transforms.base.transform import _Chance


def grid_sides(size: tuple[int, int]) -> list[int]:
    """The sides of the grids from 3 to one that has a size: each halves the spacing of the one before."""
    sides = [3]
    while sides[-1] < max(size):
        sides.append(2 * sides[-1] - 1)
    return sides


def draw_count(size: tuple[int, int]) -> int:
    """How many numbers `plasma` takes."""
    return sum(side * side for side in grid_sides(size))


def plasma(size: tuple[int, int], roughness: float, draws: Tensor) -> Tensor:
    """Clouds from 0 to 1 by midpoint displacement: float32 `[H, W]`.

    Args:
        size: (height, width).
        roughness: the factor of the noise from each grid to the next.
        draws: numbers from 0 to 1, as many as `draw_count` says.
    """
    first, *others = grid_sides(size)
    parts = iter(torch.split((draws * 2).sub_(1), [side * side for side in (first, *others)]))
    grid, scale = next(parts).view(first, first), 1.0
    for side in others:
        grid = _from_0_to_1(_finer(grid, next(parts).view(side, side).mul_(scale)))
        scale *= roughness
    return _from_0_to_1(grid[: size[0], : size[1]])


def _finer(grid: Tensor, noise: Tensor) -> Tensor:
    """A grid of half the spacing: means of four neighbors, where they are above 0, plus noise.

    First the points amid four of the grid, then those between two of it.
    """
    finer = torch.empty_like(noise)
    corners, middle, across, down = (finer[y::2, x::2] for y, x in ((0, 0), (1, 1), (0, 1), (1, 0)))
    torch.add(grid, noise[::2, ::2], out=corners)
    middle.copy_(_displaced(_pairs(_pairs(corners, 0), 1), noise[1::2, 1::2]))
    across.copy_(_displaced(_pairs(corners, 1) + _pairs(F.pad(middle, (0, 0, 1, 1)), 0), noise[::2, 1::2]))
    down.copy_(_displaced(_pairs(corners, 0) + _pairs(F.pad(middle, (1, 1)), 1), noise[1::2, ::2]))
    return finer


def _pairs(values: Tensor, axis: int) -> Tensor:
    """Sums of neighbors along an axis."""
    length = values.shape[axis] - 1
    return values.narrow(axis, 0, length) + values.narrow(axis, 1, length)


def _displaced(sums: Tensor, noise: Tensor) -> Tensor:
    """Means of four numbers plus noise, 0 where a mean is not above 0; overwrites the sums."""
    means = sums.mul_(0.25)
    is_above = means > 0
    return means.add_(noise).mul_(is_above)


def _from_0_to_1(values: Tensor) -> Tensor:
    """Numbers shifted and scaled to 0 to 1, in place."""
    low, high = values.aminmax()
    return values.sub_(low).div_((high - low).clamp(min=1e-30))


def _clouds(images: Tensor, sample_ids: Tensor, roughness: float, key: dict[str, Any]) -> list[Tensor]:
    """The clouds of each image, on the CPU."""
    size, ids = (images.shape[-2], images.shape[-1]), sample_ids.cpu()
    results = []
    for n in range(len(images)):
        draws = philox_noise(ids[n : n + 1], 1, (1, draw_count(size)), **key).flatten()
        results.append(plasma(size, roughness, draws))
    return results


def _scaled(image: Tensor, factors: Tensor, shifts: Tensor | float = 0.0) -> Tensor:
    """An image times `factors` plus `shifts`, `[H, W]`, rounded and clipped to its range."""
    result, is_byte = torch.empty_like(image), image.dtype == torch.uint8
    factors = copied_to(image.device, factors)
    shifts = copied_to(image.device, shifts) if isinstance(shifts, Tensor) else shifts
    for plane, target in zip(image, result, strict=True):  # a plane stays in the cache
        values = (plane * factors).add_(shifts)
        target.copy_(values.round_().clamp_(0, 255) if is_byte else values.clamp_(0, 1))
    return result


def _brightened(
    images: Tensor, brightness: Tensor, contrast: Tensor, sample_ids: Tensor, roughness: float, **key: Any
) -> Tensor:
    """Add clouds, and scale the difference from the mean by clouds."""
    maximum, results = 255.0 if images.dtype == torch.uint8 else 1.0, []
    clouds, means = _clouds(images, sample_ids, roughness, key), channel_statistics(images).mean.mean(1).cpu()
    rows = zip(images, clouds, means, brightness.tolist(), contrast.tolist(), strict=True)
    for image, there, mean, added, scaled in rows:
        factors, light = there * scaled + 1, there * (added * maximum)
        level = (mean + there.double().mean() * (added * maximum)).float()
        results.append(_scaled(image, factors, light * factors + level * (1 - factors)))
    return torch.stack(results) if results else images


def _shaded(images: Tensor, intensity: Tensor, sample_ids: Tensor, roughness: float, **key: Any) -> Tensor:
    """Darken by clouds."""
    clouds = _clouds(images, sample_ids, roughness, key)
    rows = zip(images, clouds, intensity.tolist(), strict=True)
    results = [_scaled(each, 1 - there * weight) for each, there, weight in rows]
    return torch.stack(results) if results else images


for _call, _name, _columns in (
    (_brightened, "plasma_brightness_contrast", ("brightness", "contrast")),
    (_shaded, "plasma_shadow", ("intensity",)),
):
    register(OpSpec(call=_call, name=_name, host_columns=_columns, takes_ragged=False, capturable=False))


class _Plasma(_Chance):
    """Draws clouds; its subclasses have these fields."""

    roughness: float
    per_frame: bool

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(
            roughness=number(self.name, "roughness", self.roughness, 1e-6, 1000.0),
            per_frame=flag(self.name, "per_frame", self.per_frame),
        )

    def _add(self, build: Build, name: str, ranges: dict[str, Range]) -> None:
        chosen = build.chance(self.p)
        columns = {column: Column("registers", build.uniform(*ends)) for column, ends in ranges.items()}
        options = {"roughness": self.roughness, "transform_index": build.stream}
        build.operator(OperatorStep(name, columns, options, chosen, "draws clouds", self.per_frame))


@dataclass(frozen=True)
class PlasmaBrightnessContrast(_Plasma):
    """Change brightness and contrast unevenly, by clouds of noise.

    With clouds c from 0 to 1, a pixel becomes `x = pixel + brightness * c`, then
    `x * (1 + contrast * c) - mean(x) * contrast * c`.

    Args:
        brightness_range: a range from -1 to 1, as fractions of the largest value.
        contrast_range: a range from -1 to 1.
        roughness: the factor of the noise from one grid of the clouds to the next, which is twice as fine,
            above 0: more gives smaller clouds.
        p: probability, from 0 to 1.
        per_frame: draw other clouds for each frame of a clip; False: all frames get those of the first.

    Source:
        `PlasmaBrightnessContrast` of Albumentations, by `cv2.filter2D`; midpoint displacement (Fournier,
        Fussell, Carpenter, 1982).

    Example:
        >>> change = PlasmaBrightnessContrast((0.5, 0.5), (0.0, 0.0), p=1.0)
        >>> result = change(torch.full((1, 20, 30), 100, dtype=torch.uint8))
        >>> result.amin().item(), result.amax().item()
        (100, 228)
    """

    brightness_range: Range = (-0.3, 0.3)
    contrast_range: Range = (-0.3, 0.3)
    roughness: float = 3.0
    p: float = 0.5
    per_frame: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("brightness_range", "contrast_range"):
            self._set(**{name: interval(self.name, name, getattr(self, name), -1.0, 1.0)})

    def rules(self, build: Build) -> None:
        ranges = {"brightness": self.brightness_range, "contrast": self.contrast_range}
        self._add(build, "plasma_brightness_contrast", ranges)


@dataclass(frozen=True)
class PlasmaShadow(_Plasma):
    """Darken unevenly, by clouds of noise.

    Args:
        shadow_intensity_range: a range from 0 to 1: how dark the darkest pixels become.
        roughness: see `PlasmaBrightnessContrast`.
        p: probability, from 0 to 1.
        per_frame: draw other clouds for each frame of a clip; False: all frames get those of the first.

    Source:
        `PlasmaShadow` of Albumentations, by `cv2.filter2D`; see `PlasmaBrightnessContrast`.

    Example:
        >>> result = PlasmaShadow((0.5, 0.5), p=1.0)(torch.full((1, 20, 30), 100, dtype=torch.uint8))
        >>> result.amin().item(), result.amax().item()
        (50, 100)
    """

    shadow_intensity_range: Range = (0.3, 0.7)
    roughness: float = 3.0
    p: float = 0.5
    per_frame: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        ends = interval(self.name, "shadow_intensity_range", self.shadow_intensity_range, 0.0, 1.0)
        self._set(shadow_intensity_range=ends)

    def rules(self, build: Build) -> None:
        self._add(build, "plasma_shadow", {"intensity": self.shadow_intensity_range})
