"""Clouds of noise: uneven brightness and contrast, and soft shadows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from orbbec._library import operators
from orbbec.bridge.arguments import copied_to
from orbbec.bridge.buffer_pool import output_buffer, pooled_like
from orbbec.bridge.fakes import register_fake
from orbbec.bridge.spec import composite
from orbbec.color.statistics import channel_statistics
from orbbec.noise import philox_noise
from orbbec.transforms.base.arguments import checks
from orbbec.transforms.base.checks import Range
from orbbec.transforms.operators import Row, _RowTransform


def draw_count(size: tuple[int, int]) -> int:
    """How many numbers `plasma` takes: one for each point of every grid."""
    return int(operators.plasma_draw_count(*size))


def plasma(size: tuple[int, int], roughness: float, draws: Tensor) -> Tensor:
    """Clouds from 0 to 1 by midpoint displacement: float32 `[H, W]`.

    Args:
        size: (height, width).
        roughness: the factor of the noise from each grid to the next.
        draws: numbers from 0 to 1, as many as `draw_count` says.
    """
    clouds = output_buffer(size, torch.float32, False, draws)
    _plasma_out(draws, roughness, clouds)
    return clouds


def _clouds(images: Tensor, sample_ids: Tensor, roughness: float, key: dict[str, Any]) -> list[Tensor]:
    """The clouds of each image, on the CPU."""
    size, ids = (images.shape[-2], images.shape[-1]), sample_ids.cpu()
    results = []
    for n in range(len(images)):
        draws = philox_noise(ids[n : n + 1], 1, (1, draw_count(size)), **key).flatten()
        results.append(plasma(size, roughness, draws))
    return results


def _scale(images: Tensor, factors: Sequence[Tensor], shifts: Sequence[Tensor | None]) -> Tensor:
    """Images times `factors` plus `shifts`, `[H, W]` each, rounded and clipped to their range."""
    if not images.is_cuda and images.dtype in (torch.uint8, torch.float32):
        results = pooled_like(images)
        for n, (factor, shift) in enumerate(zip(factors, shifts, strict=True)):
            each = slice(n, n + 1)
            planes = factor[None], None if shift is None else shift[None]
            _scale_by_factors_out(images[each], *planes, results[each])
        return results
    return _scale_by_torch(images, factors, shifts)


def _scale_by_torch(images: Tensor, factors: Sequence[Tensor], shifts: Sequence[Tensor | None]) -> Tensor:
    """The same by operators of torch, for other devices and dtypes."""
    results, is_byte = pooled_like(images), images.dtype == torch.uint8
    for image, target, factor, shift in zip(images, results, factors, shifts, strict=True):
        values = image.float() * copied_to(images.device, factor)
        values.add_(0.0 if shift is None else copied_to(images.device, shift))
        target.copy_(values.round_().clamp_(0, 255) if is_byte else values.clamp_(0, 1))
    return results


@composite("plasma_brightness_contrast", host_columns=("brightness", "contrast"))
def _brightened(
    images: Tensor, brightness: Tensor, contrast: Tensor, sample_ids: Tensor, roughness: float, **key: Any
) -> Tensor:
    """Add clouds, and scale the difference from the mean by clouds."""
    maximum = 255.0 if images.dtype == torch.uint8 else 1.0
    clouds, means = _clouds(images, sample_ids, roughness, key), channel_statistics(images).mean.mean(1).cpu()
    all_factors, all_shifts = [], []
    for there, mean, added, scaled in zip(clouds, means, brightness.tolist(), contrast.tolist(), strict=True):
        factors, light = there * scaled + 1, there * (added * maximum)
        level = (mean + there.double().mean() * (added * maximum)).float()
        all_factors.append(factors)
        all_shifts.append(light * factors + level * (1 - factors))
    return _scale(images, all_factors, all_shifts)


@composite("plasma_shadow", host_columns=("shadow_intensity",))
def _shaded(
    images: Tensor, shadow_intensity: Tensor, sample_ids: Tensor, roughness: float, **key: Any
) -> Tensor:
    """Darken by clouds."""
    clouds = _clouds(images, sample_ids, roughness, key)
    factors = [
        there.mul_(-weight).add_(1) for there, weight in zip(clouds, shadow_intensity.tolist(), strict=True)
    ]
    return _scale(images, factors, [None] * len(images))


class _Plasma(_RowTransform):
    """Draws clouds; its subclasses have these fields."""

    roughness: float
    p: float

    _checks = checks(roughness=(1e-6, 1000.0))


_plasma_out: Callable[..., None] = operators.plasma_out
_scale_by_factors_out: Callable[..., None] = operators.scale_by_factors_out


@register_fake("plasma_out", draws=1, out=2)
def _(draws: Tensor, roughness: float, out: Tensor) -> None:
    pass


@register_fake("scale_by_factors_out", factors=3, out=4)
def _(images: Tensor, factors: Tensor, shifts: Tensor | None, out: Tensor) -> None:
    pass


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

    _checks = checks(brightness_range=(-1.0, 1.0), contrast_range=(-1.0, 1.0))

    _row = Row(
        "plasma_brightness_contrast",
        ("p", "brightness_range", "contrast_range"),
        ("roughness",),
        "draws clouds",
    )


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

    _checks = checks(shadow_intensity_range=(0.0, 1.0))

    _row = Row("plasma_shadow", ("p", "shadow_intensity_range"), ("roughness",), "draws clouds")
