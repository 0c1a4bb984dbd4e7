"""Pointwise color transforms: steps of a color program."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from orbbec.bridge.arguments import Array
from orbbec.plan.steps import (
    GAMMA,
    POSTERIZE,
    SOLARIZE,
    BatchState,
    Colors,
    Operator,
    Step,
    color_row,
    matrix_row,
    same_rows,
)
from orbbec.plan.stream import Stream
from orbbec.transforms.adjustments import (
    BY_ITSELF,
    CONTRAST_OF,
    IDENTITY,
    SATURATION_OF,
    TO_GRAY,
    Jitter,
    adjustment,
    factor_range,
    hue_range,
)
from orbbec.transforms.base.checks import Range, interval, is_number, number, whole
from orbbec.transforms.base.transform import Chosen, Transform, _Chance, _EvenChance


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
        ranges = zip(("brightness", "contrast", "saturation", "hue"), self._ranges, strict=True)
        self._set(**{name: span for name, span in ranges if not is_number(getattr(self, name))})

    @cached_property
    def _ranges(self) -> tuple[Range | None, ...]:
        factors = ("brightness", "contrast", "saturation")
        return (
            *(factor_range(self.name, n, getattr(self, n)) for n in factors),
            hue_range(self.name, self.hue),
        )

    def sample(self, sizes: Array, stream: Stream) -> Jitter:
        ranges = self._ranges
        order = stream.permutation(4)
        draws = stream.uniforms(4)
        low, high = np.array([given or (1.0, 1.0) for given in ranges]).T
        chosen = same_rows([given is not None for given in ranges], len(sizes)) == 1
        known = tuple(k for k, given in enumerate(ranges) if given is not None)
        return Jitter(order, low + draws * (high - low), chosen, known=known)

    def steps(self, params: Jitter, state: BatchState) -> list[Step]:
        colors = params.colors(state.exact)
        return [Colors(colors.rows, self._ranges[CONTRAST_OF] is not None, colors.operators)]


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

    def __post_init__(self) -> None:
        for name in ("brightness", "contrast", "saturation"):
            self._set(**{name: interval(self.name, name, getattr(self, name), 0.0)})
        self._set(hue=interval(self.name, "hue", self.hue, -0.5, 0.5))
        self._check("p")

    def sample(self, sizes: Array, stream: Stream) -> Jitter:
        chosen = stream.uniforms(4) < self.p
        low, high = np.array([self.brightness, self.contrast, self.saturation, self.hue]).T
        factors = low + stream.uniforms(4) * (high - low)
        first = stream.chance(0.5)
        order = np.where(first[:, None], [0, 1, 2, 3], [0, 2, 3, 1])
        swapped = stream.chance(self.p)
        permutation = np.where(swapped[:, None], stream.permutation(3), [0, 1, 2])
        return Jitter(order, factors, chosen, permutation)

    def steps(self, params: Jitter, state: BatchState) -> list[Step]:
        swap = matrix_row(np.eye(3)[params.permutation], 0.0, len(state))
        return [params.colors(state.exact), Colors(swap)]


def _only(rows: Array, chosen: Array, operator: Operator | None = None) -> list[Step]:
    operators = () if operator is None else (operator,)
    return [Colors(rows * chosen[:, None, None].astype(np.float32), operators=operators)]


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

    def steps(self, params: Chosen, state: BatchState) -> list[Step]:
        rows = matrix_row(TO_GRAY, 0.0, len(state))
        gray = adjustment(SATURATION_OF, np.zeros(len(state)), params.chosen)
        return _only(rows, params.chosen, gray)


@dataclass(frozen=True)
class Grayscale(Transform):
    """Convert images to gray.

    Args:
        num_output_channels: 1 or 3; 1 takes a pass of its own.

    Source:
        `torchvision.transforms.v2.Grayscale`; `cv2.cvtColor` for 1 channel.

    Example:
        >>> image = torch.tensor([[[0, 100]], [[0, 150]], [[0, 200]]], dtype=torch.uint8)  # 1 x 2 pixels
        >>> Grayscale()(image).tolist()
        [[[0, 141]]]
    """

    num_output_channels: int = 1

    def __post_init__(self) -> None:
        if whole(self.name, "num_output_channels", self.num_output_channels, 1, 3) == 2:
            raise ValueError(f"{self.name}: expected num_output_channels as 1 or 3, but got 2")

    def steps(self, params: Any, state: BatchState) -> list[Step]:
        if self.num_output_channels == 3:
            return RandomGrayscale(1.0).steps(Chosen(np.ones(len(state), bool)), state)
        if state.channels == 1:
            return []
        options = {"source": "RGB", "target": "GRAY"}
        return [Operator("cvt_color", options=options, why="changes the number of channels", channels=1)]


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

    def steps(self, params: Chosen, state: BatchState) -> list[Step]:
        rows = matrix_row(-np.eye(3), 1.0, len(state))
        return _only(rows, params.chosen, Operator("invert", drawn=params.chosen, why=BY_ITSELF))


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

    def __post_init__(self) -> None:
        super().__post_init__()
        whole(self.name, "bits", self.bits, 0, 8)

    def steps(self, params: Chosen, state: BatchState) -> list[Step]:
        table = {"bits": np.full(len(state), float(self.bits))}
        operator = Operator("posterize", table, drawn=params.chosen, why=BY_ITSELF)
        return _only(color_row(POSTERIZE, self.bits, count=len(state)), params.chosen, operator)


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

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(threshold=number(self.name, "threshold", self.threshold, 0.0, 255.0))

    def steps(self, params: Chosen, state: BatchState) -> list[Step]:
        if self.threshold > state.maximum:
            raise ValueError(
                f"{self.name}: expected threshold of at most {state.maximum:g}, but got {self.threshold}"
            )
        table = {"threshold": np.full(len(state), self.threshold)}
        operator = Operator("solarize", table, drawn=params.chosen, why=BY_ITSELF)
        return _only(
            color_row(SOLARIZE, self.threshold / state.maximum, count=len(state)), params.chosen, operator
        )


@dataclass(frozen=True, eq=False)
class Gammas:
    """The exponent of each image: float64 `[N]`."""

    gamma: Array
    chosen: Array


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

    def __post_init__(self) -> None:
        self._set(gamma=self._range(), gain=number(self.name, "gain", self.gain, 0.0))
        self._check("p")

    def _range(self) -> Range:
        one = isinstance(self.gamma, (int, float))
        return interval(self.name, "gamma", (self.gamma, self.gamma) if one else self.gamma, 0.0)

    def sample(self, sizes: Array, stream: Stream) -> Gammas:
        return Gammas(stream.between(*self._range()), stream.chance(self.p))

    def steps(self, params: Gammas, state: BatchState) -> list[Step]:
        options, table = {"gain": self.gain}, {"gamma": params.gamma}
        operator = Operator("adjust_gamma", table, options, drawn=params.chosen, why=BY_ITSELF)
        return _only(color_row(GAMMA, params.gamma, self.gain, count=len(state)), params.chosen, operator)


@dataclass(frozen=True, eq=False)
class Lines:
    """The factor and the summand of each image: float64 `[N]`; the summand is a fraction of the maximum."""

    factor: Array
    summand: Array
    chosen: Array


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

    def __post_init__(self) -> None:
        self._set(
            brightness=interval(self.name, "brightness", self.brightness, -1.0, 1.0),
            contrast=interval(self.name, "contrast", self.contrast, -1.0),
        )
        self._check("p")

    def sample(self, sizes: Array, stream: Stream) -> Lines:
        chosen = stream.chance(self.p)
        factor = 1.0 + stream.between(*self.contrast)
        return Lines(factor, stream.between(*self.brightness), chosen)

    def steps(self, params: Lines, state: BatchState) -> list[Step]:
        matrix = params.factor[:, None, None] * IDENTITY
        return _only(matrix_row(matrix, params.summand[:, None], len(state)), params.chosen)


class RandomChannelPermutation(Transform):
    """Shuffle the channels.

    Source:
        `torchvision.transforms.v2.RandomChannelPermutation`.

    Example:
        >>> image = torch.tensor([[[0, 100]], [[0, 150]], [[0, 200]]], dtype=torch.uint8)  # 1 x 2 pixels
        >>> sorted(RandomChannelPermutation()(image)[:, 0, 1].tolist())
        [100, 150, 200]
    """

    def sample(self, sizes: Array, stream: Stream) -> Array:
        return stream.permutation(3)  # int64 [N, 3]

    def steps(self, params: Array, state: BatchState) -> list[Step]:
        return [Colors(matrix_row(np.eye(3)[params], 0.0, len(state)))]
