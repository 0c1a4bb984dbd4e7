"""Pointwise color transforms of detectors and robots: HSV, channels, tone curves, sepia."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from orbbec.plan.build import Build
from orbbec.transforms.adjustments import factor_range, hue_range
from orbbec.transforms.base.arguments import at_least, checks, several
from orbbec.transforms.base.checks import Range, checked_numbers, whole
from orbbec.transforms.base.transform import Transform, _EvenChance

# Of the colors of ImageNet, as fractions of the maximum value: the directions in which they differ most, in
# the columns, and the standard deviations along them.
_DIRECTIONS = (-0.5675, 0.7192, 0.4009), (-0.5808, -0.0045, -0.8140), (-0.5836, -0.6948, 0.4203)
_DEVIATIONS = 0.2175, 0.0188, 0.0045
_SEPIA = 0.393, 0.769, 0.189, 0.349, 0.686, 0.168, 0.272, 0.534, 0.131


def _factors(op: str, name: str, value: Any) -> Range:
    return factor_range(op, name, value) or (1.0, 1.0)


def _hue_shifts(op: str, name: str, value: Any) -> Range:
    return hue_range(op, value) or (0.0, 0.0)


@dataclass(frozen=True)
class RandomHSV(Transform):
    """Shift the hue and scale saturation and value, in bytes; YOLO's color augmentation.

    Saturation and value are truncated, and gray pixels stay gray. Floats are rounded to 256 levels.

    Args:
        hue: a range of hue shifts within -0.5 to 0.5 of the color circle, or h for (-h, h).
        saturation: a range of factors, or s for (max(0, 1 - s), 1 + s).
        value: as saturation.
        p: probability, from 0 to 1.

    Source:
        `RandomHSV` of Ultralytics from 8.3.79, by `cv2.cvtColor` and `cv2.LUT`.

    Example:
        >>> image = torch.tensor([200, 100, 50], dtype=torch.uint8).reshape(3, 1, 1)
        >>> RandomHSV(hue=0.0, saturation=(0.5, 0.5), value=(1.2, 1.2))(image).flatten().tolist()
        [240, 180, 150]
    """

    hue: float | Range = 0.015
    saturation: float | Range = 0.7
    value: float | Range = 0.4
    p: float = 1.0

    _checks = checks(saturation=_factors, value=_factors, hue=_hue_shifts)

    def rules(self, build: Build) -> None:
        chosen = build.chance(self.p)
        shift = build.uniform(*_scaled(self.hue, 180.0))
        factors = [build.uniform(*_scaled(ends, 1.0)) for ends in (self.saturation, self.value)]
        zero = build.constant(0.0)
        build.color("hsv", shift, factors[0], zero, factors[1], zero, drawn=chosen)


def _scaled(ends: float | Range, factor: float) -> Range:
    assert isinstance(ends, tuple)
    return ends[0] * factor, ends[1] * factor


@dataclass(frozen=True)
class HueSaturationValue(Transform):
    """Add to hue, saturation and value, in bytes.

    Results are truncated, and gray pixels stay gray. Floats are rounded to 256 levels.

    Args:
        hue_range: a range of hue shifts in half degrees, from -180 to 180.
        saturation_range: a range of summands in bytes, from -255 to 255.
        value_range: as saturation_range.
        p: probability, from 0 to 1.

    Source:
        `HueSaturationValue` of Albumentations, by `cv2.cvtColor`.

    Example:
        >>> image = torch.tensor([200, 100, 50], dtype=torch.uint8).reshape(3, 1, 1)
        >>> greener = HueSaturationValue((45, 45), (0, 0), (20, 20), p=1.0)
        >>> greener(image).flatten().tolist()
        [82, 220, 55]
    """

    hue_range: Range = (-20.0, 20.0)
    saturation_range: Range = (-30.0, 30.0)
    value_range: Range = (-20.0, 20.0)
    p: float = 0.5

    _checks = checks(hue_range=(-180.0, 180.0), saturation_range=(-255.0, 255.0), value_range=(-255.0, 255.0))

    def rules(self, build: Build) -> None:
        chosen = build.chance(self.p)
        ranges = self.hue_range, self.saturation_range, self.value_range
        hue, saturation, value = (build.uniform(*ends) for ends in ranges)
        one = build.constant(1.0)
        build.color("hsv", hue, one, saturation, one, value, drawn=chosen)


@dataclass(frozen=True)
class RGBShift(Transform):
    """Add a number to each channel.

    Args:
        red_range: a range of fractions of the maximum value (255 or 1), from -1 to 1.
        green_range: as red_range.
        blue_range: as red_range.
        p: probability, from 0 to 1.

    Source:
        `RGBShift` of Albumentations.

    Example:
        >>> shift = RGBShift((0.2, 0.2), (0.0, 0.0), (-0.2, -0.2), p=1.0)
        >>> shift(torch.full((3, 1, 1), 100, dtype=torch.uint8)).flatten().tolist()
        [151, 100, 49]
    """

    red_range: Range = (-20 / 255, 20 / 255)
    green_range: Range = (-20 / 255, 20 / 255)
    blue_range: Range = (-20 / 255, 20 / 255)
    p: float = 0.5

    _checks = checks(red_range=(-1.0, 1.0), green_range=(-1.0, 1.0), blue_range=(-1.0, 1.0))

    def rules(self, build: Build) -> None:
        chosen = build.chance(self.p)
        ranges = self.red_range, self.green_range, self.blue_range
        summands = build.consecutive([build.uniform(*ends) for ends in ranges])
        build.colors("color_scale", build.constants([1.0] * 3), summands, drawn=chosen)


@dataclass(frozen=True)
class MultiplicativeNoise(Transform):
    """Multiply each image, or each of its channels, by a number.

    Args:
        multiplier_range: a range of factors, at least 0.
        per_channel: whether each channel has a number of its own.
        p: probability, from 0 to 1.

    Source:
        `MultiplicativeNoise` of Albumentations, with `elementwise=False`.

    Example:
        >>> image = torch.tensor([[[10, 100, 200]]], dtype=torch.uint8)
        >>> MultiplicativeNoise((1.5, 1.5), p=1.0)(image).tolist()
        [[[15, 150, 255]]]
    """

    multiplier_range: Range = (0.9, 1.1)
    per_channel: bool = False
    p: float = 0.5

    _checks = checks(multiplier_range=at_least(0.0))

    def rules(self, build: Build) -> None:
        chosen = build.chance(self.p)
        drawn = [build.uniform(*self.multiplier_range) for _ in range(3 if self.per_channel else 1)]
        factors = build.copies(drawn * (3 // len(drawn)))
        build.colors("color_scale", factors, build.constants([0.0] * 3), drawn=chosen)


@dataclass(frozen=True)
class ChannelDropout(Transform):
    """Fill some channels, drawn per image.

    Args:
        channel_drop_range: how many, 1 or 2: a number, or a range.
        fill: in pixel units.
        p: probability, from 0 to 1.

    Raises:
        TypeError: an argument has a wrong type.
        ValueError: an argument is out of range, or images have one channel.

    Source:
        `ChannelDropout` of Albumentations.

    Example:
        >>> image = torch.full((3, 1, 1), 100, dtype=torch.uint8)
        >>> sorted(ChannelDropout(2, fill=7.0, p=1.0)(image).flatten().tolist())
        [7, 7, 100]
    """

    channel_drop_range: int | Sequence[int] = (1, 1)
    fill: float = 0.0
    p: float = 0.5

    _checks = checks(channel_drop_range=(1, 2), fill=(0.0, 255.0))

    def rules(self, build: Build) -> None:
        _expect_colors(build)
        low, high = map(int, checked_numbers(self.channel_drop_range))
        chosen, order = build.chance(self.p), build.permutation(3)
        last = build.whole(low - 1, high - low + 1)
        dropped = [build.compute("at_most", order + channel, last) for channel in range(3)]
        zero, fill = build.constant(0.0), build.constant(self.fill / build.maximum)
        factors = build.consecutive([build.select(each, zero, 1.0) for each in dropped])
        summands = build.consecutive([build.select(each, fill, 0.0) for each in dropped])
        build.colors("color_scale", factors, summands, drawn=chosen)


@dataclass(frozen=True)
class ChannelSwap(Transform):
    """Reorder the channels.

    Args:
        channel_order: output channel c is input channel `channel_order[c]`.
        p: probability, from 0 to 1.

    Raises:
        TypeError: an argument has a wrong type.
        ValueError: an argument is out of range, or images have one channel.

    Source:
        `ChannelSwap` of AlbumentationsX.

    Example:
        >>> image = torch.tensor([[[1]], [[2]], [[3]]], dtype=torch.uint8)
        >>> ChannelSwap(p=1.0)(image).flatten().tolist()
        [3, 2, 1]
    """

    channel_order: Sequence[int] = (2, 1, 0)
    p: float = 0.5

    _checks = checks(channel_order=several(partial(whole, low=0, high=2)))

    def __post_init__(self) -> None:
        super().__post_init__()
        if sorted(self.channel_order) != [0, 1, 2]:
            raise ValueError(
                f"{self.name}: expected channel_order as a permutation of 0, 1, 2, "
                f"but got {self.channel_order}"
            )

    def rules(self, build: Build) -> None:
        _expect_colors(build)
        order = build.constants([float(channel) for channel in self.channel_order])
        build.colors("color_swap", order, drawn=build.chance(self.p))


class ToSepia(_EvenChance):
    """Convert images to brown tones. Gray images stay as they are.

    Args:
        p: probability, from 0 to 1.

    Source:
        `ToSepia` of Albumentations.

    Example:
        >>> image = torch.tensor([[[0, 100]], [[0, 150]], [[0, 200]]], dtype=torch.uint8)  # 1 x 2 pixels
        >>> ToSepia(p=1.0)(image)[:, 0, 1].tolist()
        [192, 171, 134]
    """

    def rules(self, build: Build) -> None:
        chosen = build.chance(self.p)
        if build.channels != 1:
            build.colors("color_matrix", (*_SEPIA, 0.0, 0.0, 0.0), drawn=chosen)


@dataclass(frozen=True)
class FancyPCA(Transform):
    """Add to all pixels along the main directions in which the colors of ImageNet differ.

    Each of the three directions is added with a normal weight times its deviation. Gray images get the mean
    of the channels.

    Args:
        alpha: standard deviation of the weights, at least 0.
        p: probability, from 0 to 1.

    Source:
        The lighting of AlexNet (Krizhevsky et al., 2012), with the numbers that PyTorch's ImageNet recipes
        use. `FancyPCA` of Albumentations takes the directions of each image.

    Example:
        >>> image = torch.full((3, 1, 1), 100, dtype=torch.uint8)
        >>> FancyPCA(0.0, p=1.0)(image).flatten().tolist()
        [100, 100, 100]
    """

    alpha: float = 0.1
    p: float = 0.5

    _checks = checks(alpha=at_least(0.0))

    def rules(self, build: Build) -> None:
        chosen = build.chance(self.p)
        weights = [build.compute("normal", 0.0, self.alpha, draws=2) for _ in _DEVIATIONS]
        rows = _DIRECTIONS if build.channels == 3 else [np.mean(_DIRECTIONS, 0).tolist()] * 3
        summands = build.copies([_weighted(build, weights, row) for row in rows])
        build.colors("color_scale", build.constants([1.0] * 3), summands, drawn=chosen)


def _weighted(build: Build, weights: Sequence[int], row: Sequence[float]) -> int:
    """The sum of weights times the entries of a row and the deviations."""
    factors = [build.constant(entry * size) for entry, size in zip(row, _DEVIATIONS, strict=True)]
    return build.sum(*(build.compute("times", *pair) for pair in zip(weights, factors, strict=True)))


@dataclass(frozen=True)
class RandomToneCurve(Transform):
    """Bend the curve from dark to bright, a Bezier curve with two drawn control points.

    A value t from 0 to 1 becomes `t^3 + 3 t^2 (1 - t) high + 3 t (1 - t)^2 low`.

    Args:
        scale: standard deviation of low about 0.25 and of high about 0.75, from 0 to 1.
        per_channel: whether each channel has a curve of its own.
        p: probability, from 0 to 1.

    Source:
        `RandomToneCurve` of Albumentations.

    Example:
        >>> image = torch.tensor([[[0, 64, 128, 255]]], dtype=torch.uint8)
        >>> RandomToneCurve(scale=0.0, p=1.0)(image).tolist()
        [[[0, 58, 128, 255]]]
    """

    scale: float = 0.1
    per_channel: bool = False
    p: float = 0.5

    _checks = checks(scale=(0.0, 1.0))

    def rules(self, build: Build) -> None:
        chosen, zero, one = build.chance(self.p), build.constant(0.0), build.constant(1.0)
        points: list[int] = []
        for middle in (0.25, 0.75):
            drawn = [
                build.compute("normal", middle, self.scale, draws=2)
                for _ in range(3 if self.per_channel else 1)
            ]
            clipped = [build.compute("smaller", build.compute("larger", x, zero), one) for x in drawn]
            points += clipped * (3 // len(clipped))
        build.color("curve", *points, drawn=chosen)


def _expect_colors(build: Build) -> None:
    if build.channels != 3:
        raise ValueError(f"{build.name}: expected images of 3 channels, but got {build.channels}")
