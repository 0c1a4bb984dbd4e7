"""Pointwise color transforms: steps of a color program, and the channels of gray images."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from orbbec.bridge.plain import listed
from orbbec.bridge.spec import EVERY_DTYPE, composite
from orbbec.plan.batches import signed, unsigned
from orbbec.plan.build import Build
from orbbec.plan.parameters import Column, OperatorStep
from orbbec.transforms.adjustments import BY_ITSELF, check_unit, factor_range, hue_range, jitter, to_gray
from orbbec.transforms.base.arguments import at_least, checks
from orbbec.transforms.base.checks import Range, numbers
from orbbec.transforms.base.transform import Transform, _Chance, _EvenChance


@dataclass(frozen=True)
class ColorJitter(Transform):
    """Change brightness, contrast, saturation and hue, in random order.

    Args:
        brightness: a range of factors, or v for (max(0, 1 - v), 1 + v); None or 0: unchanged.
        contrast: as brightness.
        saturation: as brightness.
        hue: a range of hue shifts within -0.5 to 0.5 of the color circle, or h for (-h, h).

    Source:
        `torchvision.transforms.v2.ColorJitter`. When fused, values are not rounded between the four.

    Example:
        >>> image = torch.tensor([[[0, 100]], [[0, 150]], [[0, 200]]], dtype=torch.uint8)  # 1 x 2 pixels
        >>> ColorJitter(brightness=(0.5, 0.5))(image).tolist()
        [[[0, 50]], [[0, 75]], [[0, 100]]]
    """

    brightness: float | Range | None = None
    contrast: float | Range | None = None
    saturation: float | Range | None = None
    hue: float | Range | None = None

    def __post_init__(self) -> None:
        _ = self._ranges
        for name in ("brightness", "contrast", "saturation", "hue"):
            value = getattr(self, name)
            if value is not None:
                several = numbers(self.name, name, value)
                self._set(**{name: several[0] if listed(value) is None else several})

    @cached_property
    def _ranges(self) -> tuple[Range | None, ...]:
        factors = ("brightness", "contrast", "saturation")
        return (
            *(factor_range(self.name, n, getattr(self, n)) for n in factors),
            hue_range(self.name, self.hue),
        )

    def rules(self, build: Build) -> None:
        ranges = self._ranges
        order = build.permutation(4)
        factors = build.consecutive([build.uniform(*(ends or (1.0, 1.0))) for ends in ranges])
        chosen = build.constants([float(ends is not None) for ends in ranges])
        known = [which for which, ends in enumerate(ranges) if ends is not None]
        jitter(build, order, factors, chosen, known)


@dataclass(frozen=True)
class RandomPhotometricDistort(Transform):
    """Randomly change brightness, contrast, saturation, hue and the order of channels, as SSD did.

    Args:
        brightness: a range of factors.
        contrast: a range of factors; applied before or after the two below.
        saturation: a range of factors.
        hue: a range of hue shifts within -0.5 to 0.5 of the color circle.
        p: probability of each change, from 0 to 1.

    Source:
        `torchvision.transforms.v2.RandomPhotometricDistort`.

    Example:
        >>> image = torch.zeros(3, 20, 30, dtype=torch.uint8)
        >>> RandomPhotometricDistort()(image).shape
        torch.Size([3, 20, 30])
    """

    brightness: Range = (0.875, 1.125)
    contrast: Range = (0.5, 1.5)
    saturation: Range = (0.5, 1.5)
    hue: Range = (-0.05, 0.05)
    p: float = 0.5

    _checks = checks(
        brightness=at_least(0.0), contrast=at_least(0.0), saturation=at_least(0.0), hue=(-0.5, 0.5)
    )

    def rules(self, build: Build) -> None:
        chosen = build.consecutive([build.chance(self.p) for _ in range(4)])
        ranges = self.brightness, self.contrast, self.saturation, self.hue
        factors = build.consecutive([build.uniform(*ends) for ends in ranges])
        first = build.chance(0.5)  # whether contrast comes before saturation and hue
        swapped, order = build.chance(self.p), build.permutation(3)
        orders = build.consecutive([build.lookup(first, pair) for pair in ((0, 0), (2, 1), (3, 2), (1, 3))])
        jitter(build, orders, factors, chosen, range(4))
        channels = [build.select(swapped, order + channel, channel) for channel in range(3)]
        build.colors("color_swap", build.consecutive(channels))


@dataclass(frozen=True)
class RandomGrayscale(_Chance):
    """Convert images to gray, keeping the number of channels.

    Args:
        p: probability, from 0 to 1.

    Source:
        `torchvision.transforms.v2.RandomGrayscale`.

    Example:
        >>> image = torch.tensor([[[0, 100]], [[0, 150]], [[0, 200]]], dtype=torch.uint8)  # 1 x 2 pixels
        >>> RandomGrayscale(p=1.0)(image).tolist()
        [[[0, 141]], [[0, 141]], [[0, 141]]]
    """

    p: float = 0.1

    def rules(self, build: Build) -> None:
        to_gray(build, build.chance(self.p))


@dataclass(frozen=True)
class Grayscale(Transform):
    """Convert images to gray.

    Args:
        num_output_channels: 1 or 3; 1 takes a pass of its own, as do 3 of images of one channel.

    Source:
        `torchvision.transforms.v2.Grayscale`; `cv2.cvtColor` for 1 channel.

    Example:
        >>> image = torch.tensor([[[0, 100]], [[0, 150]], [[0, 200]]], dtype=torch.uint8)  # 1 x 2 pixels
        >>> Grayscale()(image).tolist()
        [[[0, 141]]]
    """

    num_output_channels: int = 1

    _checks = checks(num_output_channels=(1, 3))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.num_output_channels == 2:
            raise ValueError(f"{self.name}: expected num_output_channels as 1 or 3, but got 2")

    def rules(self, build: Build) -> None:
        if self.num_output_channels == 3 and build.channels == 1:
            _repeat_channel(build)
        elif self.num_output_channels == 3:
            to_gray(build, build.constant(1))
        elif build.channels != 1:
            options = {"source": "RGB", "target": "GRAY"}
            step = OperatorStep("cvt_color", options=options, why="changes the number of channels")
            build.operator(step, channels=1)


class RandomInvert(_EvenChance):
    """Invert values: the maximum value (255 or 1) minus each value.

    Args:
        p: probability, from 0 to 1.

    Source:
        `torchvision.transforms.v2.RandomInvert`.

    Example:
        >>> image = torch.tensor([[[0, 100, 200]]], dtype=torch.uint8)
        >>> RandomInvert(p=1.0)(image).tolist()
        [[[255, 155, 55]]]
    """

    def rules(self, build: Build) -> None:
        chosen = build.chance(self.p)
        operator = OperatorStep("invert", drawn=chosen, why=BY_ITSELF)
        inversion = *(-float(value) for value in np.eye(3).ravel()), 1.0, 1.0, 1.0
        build.colors("color_matrix", inversion, operators=[operator], drawn=chosen)


@dataclass(frozen=True)
class RandomPosterize(_Chance):
    """Keep the highest bits of each value.

    Args:
        bits: number of bits to keep, from 0 to 8.
        p: probability, from 0 to 1.

    Source:
        `torchvision.transforms.v2.RandomPosterize`.

    Example:
        >>> image = torch.tensor([[[0, 100, 200]]], dtype=torch.uint8)
        >>> RandomPosterize(bits=2, p=1.0)(image).tolist()
        [[[0, 64, 192]]]
    """

    bits: int
    p: float = 0.5

    _checks = checks(bits=(0, 8))

    def rules(self, build: Build) -> None:
        chosen = build.chance(self.p)
        columns = {"bits": Column("constant", value=float(self.bits))}
        operator = OperatorStep("posterize", columns, drawn=chosen, why=BY_ITSELF)
        build.color("posterize", build.constant(self.bits), operator=operator, drawn=chosen)


@dataclass(frozen=True)
class RandomSolarize(_Chance):
    """Invert values at or above a threshold.

    Args:
        threshold: in pixel units: up to 255 for uint8, up to 1 for floats.
        p: probability, from 0 to 1.

    Source:
        `torchvision.transforms.v2.RandomSolarize`.

    Example:
        >>> image = torch.tensor([[[0, 100, 200]]], dtype=torch.uint8)
        >>> RandomSolarize(threshold=128, p=1.0)(image).tolist()
        [[[0, 100, 55]]]
    """

    threshold: float
    p: float = 0.5

    _checks = checks(threshold=(0.0, 255.0))

    def rules(self, build: Build) -> None:
        check_unit(build, "threshold", self.threshold)
        chosen = build.chance(self.p)
        columns = {"threshold": Column("constant", value=self.threshold)}
        operator = OperatorStep("solarize", columns, drawn=chosen, why=BY_ITSELF)
        build.color(
            "solarize", build.constant(self.threshold / build.maximum), operator=operator, drawn=chosen
        )


@dataclass(frozen=True)
class SolarizeAdd(Transform):
    """Add to the values below a threshold, up to the maximum value.

    Args:
        addition: a range in pixel units: up to 255 for uint8, up to 1 for floats.
        threshold: in pixel units.
        p: probability, from 0 to 1.

    Source:
        `solarize_add` of timm, an operation of its RandAugment.

    Example:
        >>> image = torch.tensor([[[0, 100, 200]]], dtype=torch.uint8)
        >>> SolarizeAdd((50, 50), p=1.0)(image).tolist()
        [[[50, 150, 200]]]
    """

    addition: Range = (0.0, 110.0)
    threshold: float = 128.0
    p: float = 0.5

    _checks = checks(addition=(0.0, 255.0), threshold=(0.0, 255.0))

    def rules(self, build: Build) -> None:
        check_unit(build, "addition", self.addition[1])
        check_unit(build, "threshold", self.threshold)
        chosen, adds_below = build.chance(self.p), build.constant(1.0)
        threshold = build.constant(self.threshold / build.maximum)
        addition = build.compute("over", build.uniform(*self.addition), build.maximum)
        build.color("solarize", threshold, adds_below, addition, drawn=chosen)


@dataclass(frozen=True)
class Gamma(Transform):
    """Raise values to a power: `maximum * gain * (value / maximum) ** gamma`, with maximum 255 or 1.

    Args:
        gamma: a range, or one number, at least 0.
        gain: at least 0.
        p: probability, from 0 to 1.

    Source:
        `torchvision.transforms.v2.functional.adjust_gamma`.

    Example:
        >>> image = torch.tensor([[[0, 100, 200]]], dtype=torch.uint8)
        >>> Gamma((2.0, 2.0))(image).tolist()
        [[[0, 39, 157]]]
    """

    gamma: float | Range = (0.8, 1.25)
    gain: float = 1.0
    p: float = 1.0

    _checks = checks(gamma=at_least(0.0), gain=at_least(0.0))

    def rules(self, build: Build) -> None:
        gamma, chosen = build.uniform_in(self.gamma), build.chance(self.p)
        columns, options = {"gamma": Column("registers", gamma)}, {"gain": self.gain}
        operator = OperatorStep("adjust_gamma", columns, options, drawn=chosen, why=BY_ITSELF)
        build.color("gamma", gamma, build.constant(self.gain), operator=operator, drawn=chosen)


@dataclass(frozen=True)
class RandomBrightnessContrast(Transform):
    """Scale and shift values: `value * (1 + contrast) + brightness * maximum`, with maximum 255 or 1.

    Args:
        brightness: a range of fractions of the maximum value.
        contrast: a range of at least -1, added to a factor of 1.
        p: probability, from 0 to 1.

    Source:
        `RandomBrightnessContrast` of Albumentations, with `brightness_by_max`.

    Example:
        >>> brighter = RandomBrightnessContrast((0.2, 0.2), (0.5, 0.5), p=1.0)
        >>> brighter(torch.tensor([0, 100, 200], dtype=torch.uint8).reshape(3, 1, 1)).flatten().tolist()
        [51, 201, 255]
    """

    brightness: Range = (-0.2, 0.2)
    contrast: Range = (-0.2, 0.2)
    p: float = 0.5

    _checks = checks(brightness=(-1.0, 1.0), contrast=at_least(-1.0))

    def rules(self, build: Build) -> None:
        chosen, contrast = build.chance(self.p), build.uniform(*self.contrast)
        summand = build.uniform(*self.brightness)
        factor = build.compute("plus", contrast, 1.0)
        build.colors("color_line", factor, summand, drawn=chosen)


class RandomChannelPermutation(Transform):
    """Shuffle the channels.

    Source:
        `torchvision.transforms.v2.RandomChannelPermutation`.

    Example:
        >>> image = torch.tensor([[[0, 100]], [[0, 150]], [[0, 200]]], dtype=torch.uint8)  # 1 x 2 pixels
        >>> sorted(RandomChannelPermutation()(image)[:, 0, 1].tolist())
        [100, 150, 200]
    """

    def rules(self, build: Build) -> None:
        build.colors("color_swap", build.permutation(3))


@composite("gray_to_rgb", EVERY_DTYPE, channels=(1,))
def _repeated(images: Tensor) -> Tensor:
    return unsigned(torch.cat([signed(images)] * 3, 1), images.dtype)


@dataclass(frozen=True)
class RGB(Transform):
    """Repeat the channel of gray images three times; images of three or more channels are unchanged.

    Raises:
        ValueError: when the plan is made, images have two channels.

    Source:
        `torchvision.transforms.v2.RGB`, which removes the alpha channel of PIL images.

    Example:
        >>> RGB()(torch.tensor([[[7, 9]]], dtype=torch.uint8)).tolist()
        [[[7, 9]], [[7, 9]], [[7, 9]]]
    """

    def rules(self, build: Build) -> None:
        if build.channels < 3:
            _repeat_channel(build)


def _repeat_channel(build: Build) -> None:
    build.operator(OperatorStep("gray_to_rgb", why="changes the number of channels"), channels=3)
