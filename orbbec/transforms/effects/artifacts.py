"""Artifacts of sharpening, codecs and lenses: ringing, relief, colored edges, grown and shrunken shapes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from math import pi, sqrt
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from orbbec.bridge.arguments import copied_to
from orbbec.bridge.spec import EVERY_DTYPE, composite
from orbbec.filters import filter2d
from orbbec.plan.build import Build
from orbbec.plan.parameters import Column, OperatorStep
from orbbec.transforms.base.arguments import at_least, checks, odd_sides, warp_interpolation
from orbbec.transforms.base.checks import Range, checked_size, choice, size_pair
from orbbec.transforms.base.transform import Transform
from orbbec.transforms.operators import Row, _RowTransform
from orbbec.warpaffine import remap

_MODES = {"green_purple": 1.0, "red_blue": -1.0, "random": 0.0}
_EXTREMES = {"dilation": torch.maximum, "erosion": torch.minimum}


def _filtered(images: Tensor, kernels: Tensor) -> Tensor:
    """Filter images, within the range of floats too."""
    result: Tensor = filter2d(images, copied_to(images.device, kernels.float()))
    return result.clamp(0, 1) if images.is_floating_point() else result


def relief_kernels(alpha: Tensor, strength: Tensor) -> Tensor:
    """Kernels that blend an image with its relief, lit from the top left: float64 `[N, 3, 3]`."""
    kernels = torch.zeros(len(alpha), 3, 3, dtype=torch.float64, device="cpu")
    slope, steep = (alpha.double() * each for each in (strength.double(), 1 + strength.double()))
    kernels[:, 0, 0], kernels[:, 2, 2] = -steep, steep
    kernels[:, 0, 1] = kernels[:, 1, 0] = -slope
    kernels[:, 1, 2] = kernels[:, 2, 1] = slope
    kernels[:, 1, 1] = 1
    return kernels


def sharpening_kernels(alpha: Tensor, lightness: Tensor) -> Tensor:
    """Kernels that blend an image with its difference from its neighbors: float64 `[N, 3, 3]`."""
    kernels = -alpha.double()[:, None, None].repeat(1, 3, 3)
    kernels[:, 1, 1] = 1 - alpha.double() + alpha.double() * (8 + lightness.double())
    return kernels


def ringing_kernels(sides: Tensor, cutoff: Tensor, reach: int) -> Tensor:
    """Circular low-pass filters with sums of 1: float64 `[N, 2 reach + 1, 2 reach + 1]`.

    Args:
        sides: int64 `[N]`: odd sides; the values beyond are 0.
        cutoff: float64 `[N]`: the highest frequency that passes, in radians per pixel.
        reach: half of the largest side, rounded down.
    """
    steps = torch.arange(-reach, reach + 1, dtype=torch.float64, device="cpu")
    radius = torch.hypot(steps[:, None], steps[None])
    frequency = cutoff.double().view(-1, 1, 1)
    kernels = frequency * torch.special.bessel_j1(frequency * radius) / (2 * pi * radius)
    kernels[:, reach, reach] = cutoff.double() ** 2 / (4 * pi)
    within = torch.maximum(steps[:, None].abs(), steps.abs()) <= (sides // 2).view(-1, 1, 1)
    kernels = torch.where(within, kernels, 0.0)
    return kernels / kernels.sum((1, 2), keepdim=True)


@composite("emboss", EVERY_DTYPE, host_columns=("alpha", "strength"))
def _embossed(images: Tensor, alpha: Tensor, strength: Tensor) -> Tensor:
    return _filtered(images, relief_kernels(alpha, strength))


@composite("sharpening", EVERY_DTYPE, host_columns=("alpha", "lightness"))
def _sharpened(images: Tensor, alpha: Tensor, lightness: Tensor) -> Tensor:
    return _filtered(images, sharpening_kernels(alpha, lightness))


@composite("ringing", EVERY_DTYPE, host_columns=("kernel_size", "cutoff"))
def _ringing(images: Tensor, kernel_size: Tensor, cutoff: Tensor, reach: int) -> Tensor:
    return _filtered(images, ringing_kernels(kernel_size, cutoff, reach))


@composite("chromatic_aberration", EVERY_DTYPE, channels=(3,), host_columns=("red", "blue"))
def _with_colored_edges(images: Tensor, red: Tensor, blue: Tensor, interpolation: str) -> Tensor:
    """See the red and the blue channel through lenses, with two coefficients each."""
    height, width = images.shape[-2:]
    x = torch.arange(width, dtype=torch.float64, device="cpu") - width / 2
    y = (torch.arange(height, dtype=torch.float64, device="cpu") - height / 2)[:, None]
    squared = (x / width) ** 2 + (y / height) ** 2
    channels = [images[:, channel : channel + 1] for channel in range(3)]
    for channel, numbers in ((0, red), (2, blue)):
        primary, secondary = numbers.double().T[..., None, None]
        stretch = 1 + primary * squared + secondary * squared * squared
        maps = (x * stretch + width / 2).float(), (y * stretch + height / 2).float()
        on_device = (copied_to(images.device, each) for each in maps)
        channels[channel] = remap(
            channels[channel], *on_device, interpolation=interpolation, border="replicate"
        )
    return torch.cat(channels, 1)


def ellipse_spans(width: int, height: int) -> list[range]:
    """The columns of each row of an ellipse within a rectangle, as OpenCV draws it."""
    middle, radius, spans = width // 2, height // 2, []
    for row in range(height):
        away = row - radius
        half = round(middle * sqrt((radius**2 - away**2) / radius**2)) if radius else 0
        spans.append(range(max(middle - half, 0), min(middle + half + 1, width)))
    return spans


def _extremes_of_rows(values: Tensor, length: int, extreme: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """The extreme of each `length` columns that follow one another."""
    known = 1
    while 2 * known <= length:
        values, known = extreme(values[..., :-known], values[..., known:]), 2 * known
    rest = length - known
    return extreme(values[..., :-rest], values[..., rest:]) if rest else values


@composite("morphology")
def _morphed(images: Tensor, size: tuple[int, int], operation: str) -> Tensor:
    """The largest or the smallest value within an ellipse around each pixel."""
    (height, width), (rows, columns), extreme = images.shape[-2:], size, _EXTREMES[operation]
    limits = torch.finfo(images.dtype) if images.is_floating_point() else torch.iinfo(images.dtype)
    margins = columns // 2, columns - 1 - columns // 2, rows // 2, rows - 1 - rows // 2
    padded = F.pad(images, margins, value=limits.min if operation == "dilation" else limits.max)
    lengths: dict[int, Tensor] = {}
    seen = []
    for row, inside in enumerate(ellipse_spans(columns, rows)):
        if len(inside) not in lengths:
            lengths[len(inside)] = _extremes_of_rows(padded, len(inside), extreme)
        seen.append(lengths[len(inside)][..., row : row + height, inside.start : inside.start + width])
    return reduce(extreme, seen)


@dataclass(frozen=True)
class Emboss(_RowTransform):
    """Blend each image with its relief, lit from the top left.

    Args:
        alpha: weight of the relief, from 0 to 1: one number, or a range.
        strength: of the relief, at least 0: one number, or a range.
        p: probability, from 0 to 1.

    Source:
        `Emboss` of Albumentations, by `cv2.filter2D`.

    Example:
        >>> image = torch.tensor([[[10, 10, 60, 60]]], dtype=torch.uint8)
        >>> Emboss(0.5, 0.0, p=1.0)(image).tolist()
        [[[10, 35, 85, 60]]]
    """

    alpha: float | Range = (0.2, 0.5)
    strength: float | Range = (0.2, 0.7)
    p: float = 0.5

    _checks = checks(alpha=(0.0, 1.0), strength=at_least(0.0))

    _row = Row("emboss", ("p", "alpha", "strength"))


@dataclass(frozen=True)
class Sharpen(_RowTransform):
    """Blend each image with a filter that lifts pixels above their eight neighbors.

    The filter has -1 around 8 + lightness, so that at 1 the sum is that of the image.

    Args:
        alpha: weight of the filter, from 0 to 1: one number, or a range.
        lightness: at least 0: one number, or a range; below 1 it darkens.
        p: probability, from 0 to 1.

    Source:
        `Sharpen` of Albumentations with `method="kernel"`, by `cv2.filter2D`.

    Example:
        >>> image = torch.tensor([[[50, 50, 60, 50, 50]] * 3], dtype=torch.uint8)
        >>> Sharpen(0.1, 1.0, p=1.0)(image)[0, 1].tolist()
        [50, 47, 66, 47, 50]
    """

    alpha: float | Range = (0.2, 0.5)
    lightness: float | Range = (0.5, 1.0)
    p: float = 0.5

    _checks = checks(alpha=(0.0, 1.0), lightness=at_least(0.0))

    _row = Row("sharpening", ("p", "alpha", "lightness"))


@dataclass(frozen=True)
class RingingOvershoot(_RowTransform):
    """Blur each image by a sharp low-pass filter, which rings at edges as codecs and sharpening do.

    Args:
        kernel_size: odd, in pixels, from 3 to 99: one number, or a range of odd numbers.
        cutoff: the highest frequency that passes, in radians per pixel, above 0 and at most pi: one number,
            or a range.
        p: probability, from 0 to 1.

    Source:
        `RingingOvershoot` of Albumentations, by `cv2.filter2D`.

    Example:
        >>> RingingOvershoot(p=1.0)(torch.full((1, 20, 20), 90, dtype=torch.uint8)).unique().tolist()
        [90]
    """

    kernel_size: int | Sequence[int] = (7, 15)
    cutoff: float | Range = (pi / 4, pi / 2)
    p: float = 0.5

    _checks = checks(kernel_size=partial(odd_sides, low=3, high=99), cutoff=(1e-6, pi))

    _row = Row("ringing", ("p", "kernel_size", "cutoff"))

    def _options(self) -> dict[str, Any]:
        return {"reach": max(checked_size(self.kernel_size)) // 2}


@dataclass(frozen=True)
class ChromaticAberration(Transform):
    """Distort red and blue as a lens does that bends colors differently, which leaves colored edges.

    A position of the channel is `c + ((x, y) - c) * (1 + k r^2 + l r^4)`, where c is half the size, r the
    distance from c in units of the size, and k and l have one sign.

    Args:
        primary_range: a range of k, from -1 to 1.
        secondary_range: a range of the absolute l, from -1 to 1.
        mode: "green_purple": red and blue have one sign; "red_blue": opposite ones; "random": any.
        interpolation: "nearest", "linear", "cubic" or "lanczos4".
        p: probability, from 0 to 1.

    Raises:
        TypeError: an argument has a wrong type.
        ValueError: an argument is out of range, or images do not have 3 channels.

    Source:
        `ChromaticAberration` of Albumentations, by `cv2.initUndistortRectifyMap` and `cv2.remap`.

    Example:
        >>> ChromaticAberration(p=1.0)(torch.full((3, 20, 30), 9, dtype=torch.uint8)).unique().tolist()
        [9]
    """

    primary_range: Range = (-0.02, 0.02)
    secondary_range: Range = (-0.05, 0.05)
    mode: str = "green_purple"
    interpolation: str = "linear"
    p: float = 0.5

    _checks = checks(
        primary_range=(-1.0, 1.0),
        secondary_range=(-1.0, 1.0),
        mode=partial(choice, known=tuple(_MODES)),
        interpolation=warp_interpolation,
    )

    def rules(self, build: Build) -> None:
        chosen = build.chance(self.p)
        ranges = self.primary_range, self.secondary_range
        red, blue = ([build.uniform(*ends) for ends in ranges] for _ in range(2))
        sign = _sign(build, red[0])
        other = build.compute("times", sign, build.constant(_MODES[self.mode]))
        signs = sign, other if _MODES[self.mode] else _sign(build, blue[0])
        columns = {}
        for name, numbers, each in zip(("red", "blue"), (red, blue), signs, strict=True):
            sizes = [build.compute("times", number, _sign(build, number)) for number in numbers]
            signed = build.consecutive([build.compute("times", size, each) for size in sizes])
            columns[name] = Column("registers", signed, (2,))
        options = {"interpolation": self.interpolation}
        why = "moves each pixel by a formula of its own"
        build.operator(OperatorStep("chromatic_aberration", columns, options, chosen, why))


def _sign(build: Build, register: int) -> int:
    """1 where a register is at least 0, else -1."""
    is_positive = build.compute("at_most", build.constant(0.0), register)
    return build.compute("plus", build.compute("times", is_positive, build.constant(2.0)), -1.0)


@dataclass(frozen=True)
class Morphological(_RowTransform):
    """Dilate or erode bright shapes: the largest or the smallest value within an ellipse around each pixel.

    Args:
        size: (height, width) of the ellipse in pixels, or one side of a circle.
        operation: "dilation" or "erosion".
        p: probability, from 0 to 1.

    Source:
        `Morphological` of Albumentations, by `cv2.dilate`, `cv2.erode` and `cv2.getStructuringElement`;
        its size is (width, height), and it also changes boxes.

    Example:
        >>> image = torch.tensor([[[0, 0, 0, 0], [0, 9, 0, 0], [0, 0, 0, 0]]], dtype=torch.uint8)
        >>> Morphological(3, p=1.0)(image).tolist()
        [[[0, 9, 0, 0], [9, 9, 9, 0], [0, 9, 0, 0]]]
    """

    size: int | Sequence[int] = (3, 2)
    operation: str = "dilation"
    p: float = 0.5

    _checks = checks(size=size_pair, operation=partial(choice, known=tuple(_EXTREMES)))

    _row = Row("morphology", ("p",), ("size", "operation"))
