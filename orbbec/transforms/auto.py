"""Policies that choose operations per image: TrivialAugmentWide, RandAugment, AutoAugment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from orbbec.bridge.arguments import Array
from orbbec.plan.steps import (
    CONTRAST,
    POSTERIZE,
    SOLARIZE,
    BatchState,
    Colors,
    Operator,
    Step,
    color_row,
    matrix_row,
)
from orbbec.plan.stream import Stream
from orbbec.transforms.adjustments import (
    BRIGHTNESS_OF,
    BY_ITSELF,
    CONTRAST_OF,
    SATURATION_OF,
    adjustment,
    adjustment_row,
)
from orbbec.transforms.affine import Affine
from orbbec.transforms.base.checks import FillValue, choice, interpolation_of, numbers, whole
from orbbec.transforms.base.transform import Transform
from orbbec.transforms.policies import POLICIES
from orbbec.transforms.warps import warped

OPERATIONS = (
    *(
        "Identity",
        "ShearX",
        "ShearY",
        "TranslateX",
        "TranslateY",
        "Rotate",
        "Brightness",
        "Color",
        "Contrast",
    ),
    *("Sharpness", "Posterize", "Solarize", "AutoContrast", "Equalize", "Invert"),
)
SIGNED = OPERATIONS[1:10]
_HISTOGRAM = "takes a histogram of the whole image"


@dataclass(frozen=True, eq=False)
class Choices:
    """The operations of each image, one per slot.

    Args:
        operation: int64 `[N, slots]`: index in OPERATIONS; 0 is the identity.
        magnitude: float64 `[N, slots]`, signed.
    """

    operation: Array
    magnitude: Array


@dataclass(frozen=True)
class Space:
    """The strength of the operations: the largest value of each, linear in the level."""

    shear: float
    degrees: float
    factor: float
    bits: int  # most bits removed
    most_bits: int = 8
    shift: float | None = None  # in pixels; None: a fraction of the side
    fraction: float = 150.0 / 331.0

    def magnitudes(self, operation: Array, level: Array, sizes: Array) -> Array:
        """Unsigned magnitudes for levels from 0 to 1: `[N]`."""
        shift = (
            np.full((len(sizes), 2), self.shift) if self.shift is not None else sizes[:, ::-1] * self.fraction
        )
        largest = {
            **dict.fromkeys(("ShearX", "ShearY"), self.shear),
            "TranslateX": shift[:, 0],
            "TranslateY": shift[:, 1],
            "Rotate": self.degrees,
            **dict.fromkeys(("Brightness", "Color", "Contrast", "Sharpness"), self.factor),
        }
        result = np.zeros(len(sizes))
        for index, name in enumerate(OPERATIONS):
            if name == "Posterize":
                value = np.rint(self.most_bits - level * self.bits)
            elif name == "Solarize":
                value = 1.0 - level
            else:
                value = level * largest.get(name, 0.0)
            result = np.where(operation == index, value, result)
        return result


WIDE = Space(shear=0.99, degrees=135.0, factor=0.99, bits=6, shift=32.0)
NARROW = Space(shear=0.3, degrees=30.0, factor=0.9, bits=4)


class _Auto(Transform):
    """Applies one operation per image in each slot; its subclasses have these fields."""

    interpolation: str
    fill: FillValue

    def __post_init__(self) -> None:
        self._set(interpolation=interpolation_of(self.name, self.interpolation))
        self._check("fill")

    def steps(self, params: Choices, state: BatchState) -> list[Step]:
        return slot_steps(params, state, self.interpolation, numbers(self.name, "fill", self.fill))


def slot_steps(params: Choices, state: BatchState, interpolation: str, fill: tuple[float, ...]) -> list[Step]:
    """The steps of all slots in order."""
    result: list[Step] = []
    for slot in range(params.operation.shape[1]):
        operation, magnitude = params.operation[:, slot], params.magnitude[:, slot]
        matrices = moves(operation, magnitude, state)
        result.append(warped(matrices, state.sizes, interpolation, "constant", fill))
        one_by_one = color_operators(operation, magnitude, state) if state.exact else ()
        result.append(Colors(colors(operation, magnitude), contrast=True, operators=one_by_one))
        result += operators(operation, magnitude)
    return result


def moves(operation: Array, magnitude: Array, state: BatchState) -> Array:
    """Matrices of the geometric operations, identity for the others: float64 `[N, 3, 3]`."""
    count = len(state)

    def of(name: str) -> Array:
        return np.where(operation == OPERATIONS.index(name), magnitude, 0.0)

    translate = np.trunc(np.stack([of("TranslateX"), of("TranslateY")], 1))
    none = np.zeros((count, 2))
    matrices, _ = Affine(-of("Rotate"), translate, np.ones(count), none).matrices(state, None)
    for axis, name in ((0, "ShearX"), (1, "ShearY")):  # about the top-left corner of the image
        matrices[:, axis, 1 - axis] += of(name)
        matrices[:, axis, 2] += 0.5 * of(name)
    return matrices


def colors(operation: Array, magnitude: Array) -> Array:
    """The color step of each image: float32 `[N, 1, 16]`; zeros mean no step."""
    count, factor = len(operation), 1.0 + magnitude
    known = {
        "Brightness": adjustment_row(BRIGHTNESS_OF, factor),
        "Color": adjustment_row(SATURATION_OF, factor),
        "Contrast": color_row(CONTRAST, factor, count=count),
        "Posterize": color_row(POSTERIZE, magnitude, count=count),
        "Solarize": color_row(SOLARIZE, magnitude, count=count),
        "Invert": matrix_row(-np.eye(3), 1.0, count),
    }
    result = np.zeros_like(known["Invert"])
    for name, rows in known.items():
        result = np.where((operation == OPERATIONS.index(name))[:, None, None], rows, result)
    return result


def color_operators(operation: Array, magnitude: Array, state: BatchState) -> tuple[Operator, ...]:
    """Operators that reproduce torchvision's bytes for the color step of each image."""
    chosen = {name: operation == OPERATIONS.index(name) for name in OPERATIONS}

    def factors(name: str, which: int) -> Operator:
        return adjustment(which, np.where(chosen[name], 1.0 + magnitude, 1.0), chosen[name])

    def table(name: str, argument: str, values: Array, otherwise: float) -> Operator:
        numbers = {argument: np.where(chosen[name], values, otherwise)}
        return Operator(name.lower(), numbers, drawn=chosen[name], why=BY_ITSELF)

    return (
        factors("Brightness", BRIGHTNESS_OF),
        factors("Color", SATURATION_OF),
        factors("Contrast", CONTRAST_OF),
        table("Posterize", "bits", magnitude, 8.0),
        table("Solarize", "threshold", magnitude * state.maximum, state.maximum),
        Operator("invert", drawn=chosen["Invert"], why=BY_ITSELF),
    )


def operators(operation: Array, magnitude: Array) -> list[Step]:
    """The operations that run as operators of their own."""
    sharp = operation == OPERATIONS.index("Sharpness")
    factor = np.where(sharp, 1.0 + magnitude, 1.0)
    return [
        Operator("adjust_sharpness", {"sharpness_factor": factor}, drawn=sharp),
        Operator("autocontrast", drawn=operation == OPERATIONS.index("AutoContrast"), why=_HISTOGRAM),
        Operator("equalize", drawn=operation == OPERATIONS.index("Equalize"), why=_HISTOGRAM),
    ]


def signed(magnitude: Array, operation: Array, number: Array) -> Array:
    """Magnitudes with a random sign for operations that have a direction."""
    directed = (operation > 0) & (operation <= len(SIGNED))
    return np.where(directed & (number <= 0.5), -magnitude, magnitude)


@dataclass(frozen=True)
class TrivialAugmentWide(_Auto):
    """Apply one of fourteen operations to each image, at a random strength; uint8 only.

    Args:
        num_magnitude_bins: number of strength levels, at least 2.
        interpolation: "nearest", "linear", "cubic" or "lanczos4".
        fill: value outside the image, in pixel units: a number or one per channel.

    Source:
        `torchvision.transforms.v2.TrivialAugmentWide`.

    Example:
        >>> image = torch.zeros(3, 20, 30, dtype=torch.uint8)
        >>> TrivialAugmentWide()(image).shape
        torch.Size([3, 20, 30])
    """

    num_magnitude_bins: int = 31
    interpolation: str = "nearest"
    fill: FillValue = 0.0

    def __post_init__(self) -> None:
        self._set(num_magnitude_bins=whole(self.name, "num_magnitude_bins", self.num_magnitude_bins, 2))
        super().__post_init__()

    def sample(self, sizes: Array, stream: Stream) -> Choices:
        operation = stream.below(len(OPERATIONS) - 1)  # without Invert
        level = stream.below(self.num_magnitude_bins) / (self.num_magnitude_bins - 1)
        magnitude = WIDE.magnitudes(operation, level, sizes)
        return Choices(operation[:, None], signed(magnitude, operation, stream.uniforms(1)[:, 0])[:, None])


@dataclass(frozen=True)
class RandAugment(_Auto):
    """Apply several of fourteen operations to each image, all with one magnitude; uint8 only.

    Args:
        num_ops: number of operations, applied in order.
        magnitude: the strength, from 0 to `num_magnitude_bins` - 1.
        num_magnitude_bins: number of strength levels, at least 2.
        interpolation: "nearest", "linear", "cubic" or "lanczos4".
        fill: value outside the image, in pixel units: a number or one per channel.

    Source:
        `torchvision.transforms.v2.RandAugment`.

    Example:
        >>> image = torch.zeros(3, 20, 30, dtype=torch.uint8)
        >>> RandAugment(num_ops=2, magnitude=9)(image).shape
        torch.Size([3, 20, 30])
    """

    num_ops: int = 2
    magnitude: int = 9
    num_magnitude_bins: int = 31
    interpolation: str = "nearest"
    fill: FillValue = 0.0

    def __post_init__(self) -> None:
        self._set(num_ops=whole(self.name, "num_ops", self.num_ops, 0))
        bins = whole(self.name, "num_magnitude_bins", self.num_magnitude_bins, 2)
        self._set(
            num_magnitude_bins=bins, magnitude=whole(self.name, "magnitude", self.magnitude, 0, bins - 1)
        )
        super().__post_init__()

    def sample(self, sizes: Array, stream: Stream) -> Choices:
        operations, magnitudes = [], []
        level = np.full(len(sizes), self.magnitude / (self.num_magnitude_bins - 1))
        for _ in range(self.num_ops):
            operation = stream.below(len(OPERATIONS) - 1)  # without Invert
            magnitude = NARROW.magnitudes(operation, level, sizes)
            operations.append(operation)
            magnitudes.append(signed(magnitude, operation, stream.uniforms(1)[:, 0]))
        shape = (len(sizes), self.num_ops)
        return Choices(
            np.array(operations).T.reshape(shape).astype(int), np.array(magnitudes).T.reshape(shape)
        )


@dataclass(frozen=True)
class AutoAugment(_Auto):
    """Apply one of 25 learned pairs of operations to each image; uint8 only.

    Args:
        policy: the data set that the pairs were learned on: "imagenet", "cifar10" or "svhn".
        interpolation: "nearest", "linear", "cubic" or "lanczos4".
        fill: value outside the image, in pixel units: a number or one per channel.

    Raises:
        TypeError: an argument has a wrong type.
        ValueError: the policy is unknown, or an argument is out of range.

    Source:
        `torchvision.transforms.v2.AutoAugment`; Cubuk and others: AutoAugment (2019).

    Example:
        >>> image = torch.zeros(3, 20, 30, dtype=torch.uint8)
        >>> AutoAugment("cifar10")(image).shape
        torch.Size([3, 20, 30])
    """

    policy: str = "imagenet"
    interpolation: str = "nearest"
    fill: FillValue = 0.0

    def __post_init__(self) -> None:
        name = getattr(self.policy, "value", self.policy)
        self._set(policy=choice(self.name, "policy", name, tuple(POLICIES)))
        super().__post_init__()

    def sample(self, sizes: Array, stream: Stream) -> Choices:
        pairs = POLICIES[self.policy]
        which, draws = stream.below(len(pairs)), stream.uniforms(4)
        columns = [_slot(pairs, slot, which, draws[:, 2 * slot : 2 * slot + 2], sizes) for slot in range(2)]
        operations, magnitudes = zip(*columns, strict=True)
        return Choices(np.stack(operations, 1), np.stack(magnitudes, 1))


def _slot(pairs: Sequence[Any], slot: int, which: Array, draws: Array, sizes: Array) -> tuple[Array, Array]:
    names, chances, levels = zip(*(pair[slot] for pair in pairs), strict=True)
    codes = np.array([OPERATIONS.index(name) for name in names])
    operation = np.where(draws[:, 0] <= np.array(chances)[which], codes[which], 0)
    level = np.array([0 if value is None else value for value in levels])[which] / 9
    magnitude = NARROW.magnitudes(operation, level, sizes)
    return operation, signed(magnitude, operation, draws[:, 1])
