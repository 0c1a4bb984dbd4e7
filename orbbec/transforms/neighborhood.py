"""Transforms that read a neighborhood or a whole image: operators, each in a pass of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from orbbec.bridge.plain import listed
from orbbec.plan.build import Build
from orbbec.plan.parameters import Column, OperatorStep
from orbbec.transforms.base.arguments import at_least, both, checks, warp_interpolation
from orbbec.transforms.base.checks import (
    MAX_WINDOW,
    FillValue,
    Range,
    checked_size,
    interval,
    number,
    numbers,
    whole,
    whole_range,
)
from orbbec.transforms.base.transform import Transform, _Chance, _EvenChance
from orbbec.transforms.operators import Row, _RowTransform
from orbbec.transforms.warps import displacement_options

_MAX_SIGMA, _MAX_STRENGTH = 4095.0, 1e30  # pixels, of displacements
_STATISTICS = "takes a histogram of the whole image"


def _odd(op: str, name: str, value: Any) -> int:
    if whole(op, name, value, 1, MAX_WINDOW) % 2 == 0:
        raise ValueError(f"{op}: expected {name} as an odd number, but got {value}")
    return int(value)


def _odd_range(op: str, name: str, value: Any) -> tuple[int, ...]:
    return tuple(_odd(op, name, side) for side in whole_range(op, name, value, 1))


def _window(op: str, name: str, value: Any) -> Any:
    sides = listed(value)
    return both(_odd)(op, name, [value] * 2 if sides is None else sides)


@dataclass(frozen=True)
class GaussianBlur(Transform):
    """Blur each image with a Gaussian kernel of random sigma.

    Args:
        kernel_size: odd, in pixels: one number, or (width, height) as in torchvision.
        sigma: a range in pixels, above 0, or one number.

    Raises:
        TypeError: an argument has a wrong type.
        ValueError: `kernel_size` is even, or an argument is out of range.

    Source:
        `torchvision.transforms.v2.GaussianBlur`; identical to `cv2.GaussianBlur` for uint8.

    Example:
        >>> image = torch.tensor([[[0, 0, 255, 0, 0]]], dtype=torch.uint8)
        >>> GaussianBlur((3, 1), sigma=(1.0, 1.0))(image).tolist()
        [[[0, 70, 116, 70, 0]]]
    """

    kernel_size: int | Sequence[int]
    sigma: float | Range = (0.1, 2.0)

    _checks = checks(kernel_size=_window, sigma=at_least(1e-6))

    def rules(self, build: Build) -> None:
        sides = checked_size(self.kernel_size)[::-1]
        columns = {
            "kernel_size": Column("constant", shape=(2,), dtype="int64", value=sides),
            "sigma": Column("registers", build.uniform_in(self.sigma)),
        }
        build.operator(OperatorStep("gaussian_blur", columns, drawn=build.constant(1)))


class _OddWindow(_RowTransform):
    """Windows have a drawn odd side."""

    kernel_size: int | Sequence[int]
    p: float

    _checks = checks(kernel_size=_odd_range)


@dataclass(frozen=True)
class BoxBlur(_OddWindow):
    """Replace each pixel by the mean of its window.

    Args:
        kernel_size: odd, in pixels: one number, or a range (low, high) of odd numbers to draw from.
        p: probability, from 0 to 1.

    Raises:
        TypeError: an argument has a wrong type.
        ValueError: `kernel_size` is even, or an argument is out of range.

    Source:
        `cv2.blur`; `Blur` of Albumentations.

    Example:
        >>> image = torch.tensor([[[0, 0, 90, 0, 0]] * 3], dtype=torch.uint8)
        >>> BoxBlur(3, p=1.0)(image)[0, 0].tolist()
        [0, 30, 30, 30, 0]
    """

    kernel_size: int | Sequence[int] = (3, 7)
    p: float = 0.5

    _row = Row("box_blur", ("kernel_size", "p"))


@dataclass(frozen=True)
class MedianBlur(_OddWindow):
    """Replace each pixel by the median of its window.

    Args:
        kernel_size: odd, in pixels: one number, or a range (low, high) of odd numbers to draw from.
        p: probability, from 0 to 1.

    Raises:
        TypeError: an argument has a wrong type.
        ValueError: `kernel_size` is even, or an argument is out of range.

    Source:
        `cv2.medianBlur`.

    Example:
        >>> image = torch.tensor([[[5, 5, 255, 5, 5]]], dtype=torch.uint8)
        >>> MedianBlur(3, p=1.0)(image).tolist()
        [[[5, 5, 5, 5, 5]]]
    """

    kernel_size: int | Sequence[int] = (3, 5)
    p: float = 0.5

    _row = Row("median_blur", ("kernel_size", "p"))


@dataclass(frozen=True)
class MotionBlur(_RowTransform):
    """Blur each image along a line.

    Args:
        length: a range in pixels, at least 1, whole numbers, or one number.
        angle_degrees: a range of counter-clockwise angles from the horizontal.
        p: probability, from 0 to 1.

    Source:
        `cv2.filter2D` with the kernels of `motion_blur`.

    Example:
        >>> image = torch.tensor([[[0, 0, 255, 0, 0]]], dtype=torch.uint8)
        >>> MotionBlur(3, angle_degrees=(0, 0), p=1.0)(image).tolist()
        [[[0, 85, 85, 85, 0]]]
    """

    length: int | Sequence[int] = (3, 7)
    angle_degrees: Range = (0.0, 180.0)
    p: float = 0.5

    _checks = checks(length=at_least(1), angle_degrees=interval)

    _row = Row("motion_blur", ("length", "angle_degrees", "p"))


@dataclass(frozen=True)
class RandomAdjustSharpness(_Chance):
    """Blend images with their 3x3 blur.

    Args:
        sharpness_factor: at least 0: 0 gives the blur, 1 the image, 2 a sharper image.
        p: probability, from 0 to 1.

    Source:
        `torchvision.transforms.v2.RandomAdjustSharpness`.

    Example:
        >>> image = torch.zeros(1, 3, 3, dtype=torch.uint8)
        >>> image[0, 1, 1] = 130
        >>> RandomAdjustSharpness(0.0, p=1.0)(image)[0, 1].tolist()
        [0, 50, 0]
    """

    sharpness_factor: float
    p: float = 0.5

    _checks = checks(sharpness_factor=at_least(0.0))

    def rules(self, build: Build) -> None:
        columns = {"sharpness_factor": Column("constant", value=self.sharpness_factor)}
        build.operator(OperatorStep("adjust_sharpness", columns, drawn=build.chance(self.p)))


class RandomAutocontrast(_RowTransform, _EvenChance):
    """Stretch each channel to the full range; uint8 only.

    Args:
        p: probability, from 0 to 1.

    Source:
        `torchvision.transforms.v2.RandomAutocontrast`.

    Example:
        >>> image = torch.tensor([[[50, 60, 101]]], dtype=torch.uint8)
        >>> RandomAutocontrast(p=1.0)(image).tolist()
        [[[0, 49, 254]]]
    """

    _row = Row("autocontrast", ("p",), why=_STATISTICS)


class RandomEqualize(_RowTransform, _EvenChance):
    """Equalize the histogram of each channel; uint8 only.

    Args:
        p: probability, from 0 to 1.

    Source:
        `torchvision.transforms.v2.RandomEqualize`.

    Example:
        >>> image = torch.arange(64, 128, dtype=torch.uint8).repeat(1, 16, 1)
        >>> equalized = RandomEqualize(p=1.0)(image)
        >>> equalized.min().item(), equalized.max().item()
        (0, 255)
    """

    _row = Row("equalize", ("p",), why=_STATISTICS)


@dataclass(frozen=True)
class JPEG(Transform):
    """Apply JPEG compression artifacts; uint8 only.

    Args:
        quality: from 1 to 100: one number, or a range.

    Source:
        `torchvision.transforms.v2.JPEG`, with libjpeg's arithmetic.

    Example:
        >>> image = torch.full((3, 8, 8), 100, dtype=torch.uint8)
        >>> JPEG((50, 50))(image)[0, 0].tolist()
        [100, 100, 100, 100, 100, 100, 100, 100]
    """

    quality: int | Sequence[int]

    _checks = checks(quality=(1, 100))

    def rules(self, build: Build) -> None:
        columns = {"quality": Column("registers", build.whole_in(self.quality), dtype="int64")}
        drawn, why = build.constant(1), "works on blocks of pixels"
        build.operator(OperatorStep("jpeg_compression", columns, drawn=drawn, why=why))


def _along_axes(op: str, name: str, value: Any, most: float) -> tuple[float, ...]:
    """Numbers from 0 to `most` along x and y."""
    sides = numbers(op, name, value, (2,))
    return tuple(number(op, name, side, 0.0, most) for side in sides) * (2 // len(sides))


@dataclass(frozen=True)
class ElasticTransform(Transform):
    """Displace the pixels of each image by its own smoothed noise.

    Args:
        alpha: strength in pixels: a number, or (x, y).
        sigma: standard deviation of the smoothing in pixels, up to 4095: a number, or (x, y).
        interpolation: "nearest", "linear" (also as "area"), "cubic" or "lanczos4".
        fill: value outside the image, in pixel units: a number or one per channel.
        padding_mode: how pixels outside the image are read: "constant" (`fill`) or a mode of `Pad`.

    Source:
        `torchvision.transforms.v2.ElasticTransform`, whose alpha counts half pixels of a square image.

    Example:
        >>> image = torch.zeros(3, 20, 30, dtype=torch.uint8)
        >>> ElasticTransform(alpha=40.0, sigma=4.0)(image).shape
        torch.Size([3, 20, 30])
    """

    alpha: float | Sequence[float] = 50.0
    sigma: float | Sequence[float] = 5.0
    interpolation: str = "linear"
    fill: FillValue = 0.0
    padding_mode: str = "constant"

    _checks = checks(
        alpha=partial(_along_axes, most=_MAX_STRENGTH),
        sigma=partial(_along_axes, most=_MAX_SIGMA),
        interpolation=warp_interpolation,
    )

    def rules(self, build: Build) -> None:
        columns = {
            name: Column("constant", shape=(2,), value=getattr(self, name)) for name in ("alpha", "sigma")
        }
        options = {**displacement_options(self), "transform_index": build.stream}
        step = OperatorStep("elastic_transform", columns, options, why="displaces each pixel by noise")
        build.operator(step)


@dataclass(frozen=True)
class PillowBlur(_RowTransform):
    """Blur each image as Pillow's `GaussianBlur` does; uint8 only.

    Args:
        radius_range: a range of standard deviations in pixels, from 0 to 1000.
        p: probability, from 0 to 1.

    Source:
        `PIL.ImageFilter.GaussianBlur`, as DeiT III's 3-Augment blurs.

    Example:
        >>> image = torch.tensor([[[0, 0, 255, 0, 0]]], dtype=torch.uint8)
        >>> PillowBlur((1.0, 1.0), p=1.0)(image).tolist()
        [[[15, 60, 103, 60, 15]]]
    """

    radius_range: Range = (0.1, 2.0)
    p: float = 0.1

    _checks = checks(radius_range=(0.0, 1000.0))

    _row = Row("pillow_blur", ("radius_range", "p"))
