"""Weather: snow, fog and rain."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec.bridge.arguments import Array, copied_to
from orbbec.bridge.buffer_pool import pooled_like
from orbbec.bridge.spec import composite
from orbbec.color import cvt_color
from orbbec.color.tables import lut
from orbbec.filters import box_blur, gaussian_blur
from orbbec.noise import philox_noise
from orbbec.transforms.base.arguments import checks
from orbbec.transforms.base.checks import FillValue, Range, choice, number, numbers
from orbbec.transforms.operators import Row, _RowTransform

_DROPS = {"drizzle": (1, 4), "default": (1, 3), "heavy": (1, 1), "torrential": (2, 1)}  # per row


def _draws(sample_ids: Tensor, row: int, count: int, columns: int, key: dict[str, Any]) -> Array:
    """Numbers from 0 to 1 for one image: float64 `[count, columns]`, the first ones whatever the count."""
    drawn = philox_noise(sample_ids[row : row + 1], 1, (max(count, 1), columns), **key)
    return np.asarray(drawn[0, 0, :count].double().cpu().numpy())


# Snow


@composite("snow", channels=(3,))
def _snowed(images: Tensor, snow_point: Tensor, brightness_coeff: float) -> Tensor:
    """Brighten dark pixels."""
    maximum = 255.0 if images.dtype == torch.uint8 else 1.0
    limits = (snow_point.double() / 2 + 1 / 3).view(-1, 1, 1) * maximum
    values = images if images.dtype == torch.uint8 else images.float()
    hue, lightness, saturation = cvt_color(values, "RGB", "HLS").unbind(1)
    bright = (lightness.float() * brightness_coeff).clamp(max=maximum).to(values.dtype)
    snowy = torch.where(lightness.double() < limits, bright, lightness)
    result: Tensor = cvt_color(torch.stack([hue, snowy, saturation], 1), "HLS", "RGB")
    return result if images.dtype == torch.uint8 else result.clamp(0, 1).to(images.dtype)


# Fog


def fog_regions(size: tuple[int, int], intensity: float) -> list[tuple[int, int, int]]:
    """How many particles each region about the center has, and half of its height and width."""
    height, width = size
    least, regions = max(1, int(width // 3 * intensity)), []
    for _ in range(10):
        if width <= least or height <= least:
            break
        regions.append((int(width * height / least**2 * intensity * 10), height // 2, width // 2))
        height, width = int(height * 0.9), int(width * 0.9)
    return regions


def fog_particles(size: tuple[int, int], intensity: float, draws: Array) -> Array:
    """Particles at x and y with a radius each, int64 `[K, 3]`, by numbers from 0 to 1 `[K, 3]`."""
    height, width = size
    counts, *halves = np.array(fog_regions(size, intensity) or [(0, 0, 0)]).T
    y, x = (np.repeat(half, counts) for half in halves)
    most = max(2, int(min(height, width) * 0.1 * intensity))
    least = max(1, most // 2)
    spans = np.stack([2 * x + 1, 2 * y + 1, np.full_like(x, most - least)], 1)
    first = np.stack([(width - 1) // 2 - x, (height - 1) // 2 - y, np.full_like(x, least)], 1)
    return np.asarray(first + np.floor(draws * spans).astype(np.int64))


def disc_counts(size: tuple[int, int], discs: Tensor) -> Tensor:
    """How many discs cover each pixel: int32 `[H, W]`, for x, y and radius, int64 `[K, 3]`."""
    height, width = size
    x, y, radius = discs.T[..., None]
    reach = int(discs[:, 2].max()) if len(discs) else 0
    offsets = torch.arange(-reach, reach + 1, device=discs.device)
    rows, halves = y + offsets, half_widths(radius, offsets)
    there = (halves >= 0) & (rows >= 0) & (rows < height)
    ends = (x - halves).clamp(0, width), (x + halves + 1).clamp(0, width)
    steps = torch.zeros(height * (width + 1), dtype=torch.int32, device=discs.device)
    for end, sign in zip(ends, (1, -1), strict=True):
        index = (rows * (width + 1) + end)[there]
        steps.index_add_(0, index, torch.full_like(index, sign, dtype=torch.int32))
    return steps.view(height, width + 1).cumsum(1, dtype=torch.int32)[:, :width]


def half_widths(radius: Tensor, offsets: Tensor) -> Tensor:
    """The largest x in the disc of a radius in rows at some offsets; -1 beyond."""
    inside = radius * radius - offsets * offsets
    return torch.where(offsets.abs() <= radius, inside.clamp(min=0).double().sqrt().long(), -1)


def _towards(values: Tensor, color: float, weight: float) -> Tensor:
    """Bytes that are blended with a color, rounded, as float32."""
    return (values * (1 - weight) + color * weight).round()


@composite("fog", channels=(3,), host_columns=("fog_coef",))
def _fogged(images: Tensor, fog_coef: Tensor, sample_ids: Tensor, alpha_coef: float, **key: Any) -> Tensor:
    """Blend discs with white, and blur."""
    size, result = (images.shape[-2], images.shape[-1]), torch.empty_like(images)
    for n, strength in enumerate(fog_coef.tolist()):
        count = sum(region[0] for region in fog_regions(size, strength))
        particles = fog_particles(size, strength, _draws(sample_ids, n, count, 3, key))
        counts = disc_counts(size, copied_to(images.device, torch.from_numpy(particles)))
        result[n] = _whitened(images[n], counts, alpha_coef * strength)
    side = max(3, min(size) // 30) | 1
    blurred: Tensor = gaussian_blur(result, side, 0.0)
    return blurred


def _whitened(image: Tensor, counts: Tensor, weight: float) -> Tensor:
    """Blend pixels with white as often as `counts` `[H, W]` says."""
    most, device = int(counts.max()), image.device
    if image.dtype != torch.uint8:
        left = torch.from_numpy(np.cumprod([1.0] + [1 - weight] * most)).float()
        rest = copied_to(device, left)[counts.long()]
        return (1 - (1 - image.float()) * rest).to(image.dtype)
    tables = [torch.arange(256, dtype=torch.float32, device="cpu")]
    for _ in range(most):
        tables.append(_towards(tables[-1], 255.0, weight))
    table = copied_to(device, torch.cat(tables).byte())
    return table[counts * 256 + image]


# Rain


def line_pixels(across: int, down: int) -> Array:
    """The pixels (x, y) of a line from (0, 0), each with a side in common with the next: int64 `[K, 2]`.

    As `cv2.line` draws it with connectivity 4, from left to right; `down` is at least 0.
    """
    longer, shorter = max(abs(across), down), min(abs(across), down)
    steps = np.arange(longer + 1)
    ends = -(-steps * shorter // max(longer, 1))
    both = np.concatenate([ends, ends[:-1]])
    along = np.concatenate([steps, steps[1:]])
    x, y = (along, both) if abs(across) >= down else (both, along)
    return np.stack([x + across, down - y] if across < 0 else [x, y], 1)


def rain_pixels(size: tuple[int, int], starts: Array, drop: Array) -> Array:
    """The pixels of drops inside an image, numbered row by row: int64 `[K]`.

    Args:
        size: (height, width).
        starts: x and y of each drop, int64 `[N, 2]`.
        drop: its pixels x and y, from its start, int64 `[P, 2]`; y is at least 0.
    """
    height, width = size
    x = starts[:, 0, None] + drop[:, 0]
    inside = (x >= 0) & (x < width) & (starts[:, 1, None] + drop[:, 1] < height)
    return np.asarray((x + (starts[:, 1, None] + drop[:, 1]) * width)[inside])


@composite("rain", channels=(3,), host_columns=("slant",))
def _rained(
    images: Tensor,
    slant: Tensor,
    sample_ids: Tensor,
    drop_length: int,
    drop_width: int,
    drop_color: Sequence[float],
    blur_value: int,
    brightness_coefficient: float,
    rain_type: str,
    **key: Any,
) -> Tensor:
    """Add blurred lines, and darken."""
    size, is_byte = (images.shape[-2], images.shape[-1]), images.dtype == torch.uint8
    factor, divisor = _DROPS[rain_type]
    count, length = factor * size[0] // divisor, drop_length or max(1, size[0] // 8)
    color = torch.tensor(drop_color, dtype=torch.float64, device="cpu") / (1.0 if is_byte else 255.0)
    layer = pooled_like(images).zero_()
    for n, shift in enumerate(slant.tolist()):
        line = line_pixels(math.floor(shift), length)
        drop = np.concatenate([line + np.array([k - drop_width // 2, 0]) for k in range(drop_width)])
        draws = _draws(sample_ids, n, count, 2, key) * (size[1], max(size[0] - length, 1))
        index = torch.from_numpy(rain_pixels(size, draws.astype(np.int64), drop))
        index = copied_to(images.device, index)
        for plane, level in zip(layer[n], color.to(images.dtype).tolist(), strict=True):
            plane.view(-1).index_fill_(0, index, level)
    blurred: Tensor = box_blur(layer, blur_value)
    if is_byte:
        levels = torch.arange(256, dtype=torch.float64, device="cpu") * brightness_coefficient
        rest = torch.bitwise_not(images, out=layer)
        total = torch.minimum(blurred, rest, out=rest).add_(images)
        darkened: Tensor = lut(total, copied_to(images.device, levels.round().byte()))
        return darkened
    total = images.float() + blurred.float()
    return (total.clamp(max=1) * brightness_coefficient).to(images.dtype)


@dataclass(frozen=True)
class RandomSnow(_RowTransform):
    """Cover dark pixels with snow: their lightness, in HLS, is multiplied.

    Args:
        brightness_coeff: the factor, above 0.
        snow_point_range: range of s, from 0 to 1: pixels below a lightness of `s / 2 + 1 / 3` are changed.
        p: probability, from 0 to 1.

    Source:
        `RandomSnow` of Albumentations with method "bleach".

    Example:
        >>> RandomSnow(2.0, p=1.0)(torch.full((3, 1, 1), 60, dtype=torch.uint8)).flatten().tolist()
        [120, 120, 120]
    """

    brightness_coeff: float = 2.5
    snow_point_range: Range = (0.1, 0.3)
    p: float = 0.5

    _checks = checks(brightness_coeff=(0.0, 1000.0), snow_point_range=(0.0, 1.0))

    _row = Row("snow", ("p", "snow_point_range"), ("brightness_coeff",), "changes lightness in HLS")


@dataclass(frozen=True)
class RandomFog(_RowTransform):
    """Blend discs with white, more of them towards the center, and blur the image a little.

    Args:
        alpha_coef: weight of white in a disc, times the intensity of the fog, from 0 to 1.
        fog_coef_range: range of the intensity, from 0 to 1: of more, larger and whiter discs.
        p: probability, from 0 to 1.
        per_frame: draw other discs for each frame of a clip; False: all frames get those of the first.

    Source:
        `RandomFog` of Albumentations, by `cv2.circle`, `cv2.addWeighted` and `cv2.GaussianBlur`.

    Example:
        >>> RandomFog(p=1.0)(torch.full((3, 20, 30), 255, dtype=torch.uint8)).unique().tolist()
        [255]
    """

    alpha_coef: float = 0.08
    fog_coef_range: Range = (0.3, 1.0)
    p: float = 0.5
    per_frame: bool = field(default=False, kw_only=True)

    _checks = checks(alpha_coef=(0.0, 1.0), fog_coef_range=(0.0, 1.0))

    _row = Row("fog", ("p", "fog_coef_range"), ("alpha_coef",), "draws discs")


def checked_color(op: str, name: str, value: Any) -> tuple[float, ...]:
    """Three numbers from 0 to 255; one is for all channels."""
    levels = [number(op, name, level, 0.0, 255.0) for level in numbers(op, name, value, (3,))]
    return tuple(levels * 3 if len(levels) == 1 else levels)


@dataclass(frozen=True)
class RandomRain(_RowTransform):
    """Add drops as blurred lines, and darken the image.

    Args:
        slant_range: range of how far a drop moves along x, in pixels, from -20 to 20.
        drop_length: rows of a drop; 0: an eighth of the image's.
        drop_width: columns of a drop, from 1 to 100.
        drop_color: three numbers from 0 to 255, or one for all channels.
        blur_value: side of the blur of drops in pixels, from 1 to 100.
        brightness_coefficient: factor of the image with its drops, from 0 to 1.
        rain_type: "drizzle", "default", "heavy" or "torrential": 1 drop for 4, 3 or 1 rows, or 2 for each.
        p: probability, from 0 to 1.
        per_frame: draw other drops for each frame of a clip; False: all frames get those of the first.

    Source:
        `RandomRain` of Albumentations, by `cv2.polylines` and `cv2.blur`.

    Example:
        >>> RandomRain(p=1.0)(torch.full((3, 20, 30), 255, dtype=torch.uint8)).unique().tolist()
        [178]
    """

    slant_range: Range = (-10.0, 10.0)
    drop_length: int = 0
    drop_width: int = 1
    drop_color: FillValue = (200.0, 200.0, 200.0)
    blur_value: int = 7
    brightness_coefficient: float = 0.7
    rain_type: str = "default"
    p: float = 0.5
    per_frame: bool = field(default=True, kw_only=True)

    _checks = checks(
        slant_range=(-20.0, 20.0),
        drop_color=checked_color,
        brightness_coefficient=(0.0, 1.0),
        rain_type=partial(choice, known=tuple(_DROPS)),
        drop_length=(0, 1 << 20),
        drop_width=(1, 100),
        blur_value=(1, 100),
    )

    _row = Row(
        "rain",
        ("p", "slant_range"),
        ("drop_length", "drop_width", "drop_color", "blur_value", "brightness_coefficient", "rain_type"),
        "draws drops",
    )
