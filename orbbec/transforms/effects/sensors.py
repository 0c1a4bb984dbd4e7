"""Noise of camera sensors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from orbbec.bridge.spec import composite
from orbbec.color import cvt_color
from orbbec.noise import philox_noise
from orbbec.transforms.base.arguments import checks
from orbbec.transforms.base.checks import Range
from orbbec.transforms.operators import Row, _RowTransform

_LEVELS = 255.0  # counts that make the maximum value
_COUNTS = 256  # those from here on are not drawn: a rate is at most half of the levels
_SQUARINGS = 10  # of the exponential function
_STEPS = 32768.0  # of half a level of floats, whose sums are whole numbers


def exponentials(rate: Tensor) -> Tensor:
    """`exp(-rate)` for float64 rates from 0 to 128, by products and sums alone: one result on all devices."""
    small, result = rate * (1 / 2**_SQUARINGS), torch.ones_like(rate)
    for degree in range(8, 0, -1):
        result = 1 - small * (1 / degree) * result
    for _ in range(_SQUARINGS):
        result = result * result
    return result


def poisson_functions(rate: Tensor) -> Tensor:
    """The distribution functions of Poisson numbers of float64 rates `[N]`: float64 `[N, 256]`."""
    terms = [exponentials(rate)]
    sums = [terms[0]]
    for count in range(1, _COUNTS):
        terms.append(terms[-1] * rate * (1 / count))
        sums.append(sums[-1] + terms[-1])
    return torch.stack(sums, 1)


def lightness_deviations(images: Tensor) -> Tensor:
    """The standard deviation of the lightness of each image, from 0 to 1/2: float64 `[N]`.

    By sums of whole numbers, which do not depend on their order.
    """
    values, is_float = images.float(), images.is_floating_point()
    both = (values.amax(1) + values.amin(1)).flatten(1)
    both = ((both.nan_to_num(0.0).clamp(0, 2) * _STEPS).round() if is_float else both).to(torch.int64)
    unit = 2 * (_STEPS if is_float else 255.0)
    number = torch.full((), both.shape[1], dtype=torch.float64, device=images.device)
    mean, square = both.sum(1).double() / number, (both * both).sum(1).double() / number
    return (square - mean * mean).clamp(min=0).sqrt() * (1 / unit)


@composite("iso_noise", channels=(3,))
def _with_iso_noise(
    images: Tensor, color_shift: Tensor, intensity: Tensor, sample_ids: Tensor, **key: Any
) -> Tensor:
    """Add Poisson noise to the lightness and normal noise to the hue, in HLS."""
    is_byte, size = images.dtype == torch.uint8, (images.shape[-2], images.shape[-1])
    uniform = philox_noise(sample_ids, 1, size, **key)[:, 0]
    normal = philox_noise(sample_ids, 2, size, kind="normal", **key)[:, 1]  # after the uniform numbers
    rates = lightness_deviations(images) * intensity.double() * _LEVELS
    functions = poisson_functions(rates)
    counts = torch.searchsorted(functions, uniform.flatten(1).double(), right=True).view(uniform.shape)
    values = images.float() * (1 / 255) if is_byte else images.float()
    hue, lightness, saturation = cvt_color(values, "RGB", "HLS").unbind(1)
    deviations = (color_shift.double() * intensity.double() * 360.0).float().view(-1, 1, 1)
    added = counts.float() * (1 / _LEVELS) * (1 - lightness)
    hls = torch.stack([hue + normal * deviations, lightness + added, saturation], 1)
    noisy: Tensor = cvt_color(hls, "HLS", "RGB").clamp(0, 1)
    return (noisy * 255.0).round().byte() if is_byte else noisy.to(images.dtype)


@dataclass(frozen=True)
class ISONoise(_RowTransform):
    """Add the noise of a sensor at a high sensitivity, to lightness and hue.

    In HLS, the lightness l becomes `l + k (1 - l) / 255`, where k is Poisson with mean `255 * intensity * s`
    and s is the standard deviation of the lightness in the image. The hue is shifted by a normal number with
    a deviation of `color_shift * intensity` circles.

    Args:
        color_shift: at least 0: one number, or a range.
        intensity: from 0 to 1: one number, or a range.
        p: probability, from 0 to 1.
        per_frame: draw other noise for each frame of a clip; False: all frames get the noise of the first.

    Raises:
        TypeError: an argument has a wrong type.
        ValueError: an argument is out of range, or images do not have 3 channels.

    Source:
        `ISONoise` of Albumentations up to 1.4. From 2.0 on its hue shifts are degrees, and its counts are
        fewer and larger.

    Example:
        >>> ISONoise(p=1.0)(torch.full((3, 20, 30), 9, dtype=torch.uint8)).unique().tolist()
        [9]
    """

    color_shift: float | Range = (0.01, 0.05)
    intensity: float | Range = (0.1, 0.5)
    p: float = 0.5
    per_frame: bool = field(default=True, kw_only=True)

    _checks = checks(color_shift=(0.0, 1.0), intensity=(0.0, 1.0))

    _row = Row("iso_noise", ("p", "color_shift", "intensity"), why="draws noise per image")
