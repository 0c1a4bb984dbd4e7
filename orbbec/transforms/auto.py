"""Policies that choose operations per image: TrivialAugmentWide, RandAugment, AutoAugment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from functools import partial
from typing import TypeAlias

from orbbec.plan.build import Build
from orbbec.plan.parameters import Column, OperatorStep
from orbbec.transforms.adjustments import BRIGHTNESS_OF, BY_ITSELF, CONTRAST_OF, SATURATION_OF, adjustment
from orbbec.transforms.base.arguments import at_least, checks, warp_interpolation
from orbbec.transforms.base.checks import FillValue, checked_numbers, choice, whole
from orbbec.transforms.base.transform import Transform
from orbbec.transforms.policies import POLICIES
from orbbec.transforms.warps import Reading, warp

OPERATIONS = (
    *("Identity", "ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate", "Brightness", "Color"),
    *("Contrast", "Sharpness", "Posterize", "Solarize", "AutoContrast", "Equalize", "Invert", "SolarizeAdd"),
)
Choice: TypeAlias = tuple[int, int]  # the registers of an operation and its magnitude
TORCHVISION = range(OPERATIONS.index("Invert"))  # the operations of its RandAugment
_HISTOGRAM = "takes a histogram of the whole image"


@dataclass(frozen=True)
class Space:
    """The strength of the operations: the largest value of each, linear in the level.

    In the order of Space in operations.h.
    """

    shear: float
    degrees: float
    factor: float
    bits: int  # most bits removed
    most_bits: float = 8.0
    shift: float | None = None  # in pixels; None: a fraction of the side
    fraction: float = 150.0 / 331.0
    solarize_levels: float = 0.0  # its thresholds are whole: this number to 0; 0: any fractions

    def magnitude(self, build: Build, operation: int, level: int, sign: int) -> int:
        """The register of signed magnitudes, from those of operation, level from 0 to 1 and sign draw."""
        largest = astuple(replace(self, shift=-1.0 if self.shift is None else self.shift))
        return build.compute("magnitude", operation, level, sign, largest)


WIDE = Space(shear=0.99, degrees=135.0, factor=0.99, bits=6, shift=32.0)
NARROW = Space(shear=0.3, degrees=30.0, factor=0.9, bits=4)
TIMM = Space(
    shear=0.3, degrees=30.0, factor=0.9, bits=4, most_bits=4.4999, fraction=0.45, solarize_levels=256
)

# The space of each set of RandAugment, and its operations.
SETS = {"torchvision": (NARROW, TORCHVISION), "timm": (TIMM, range(1, len(OPERATIONS)))}


def apply_operation(
    build: Build, operation: int, magnitude: int, reading: Reading, adds: bool = False
) -> None:
    """Apply one operation per image.

    Args:
        build: the program.
        operation: the register of its index in OPERATIONS; 0 is the identity.
        magnitude: the register of its signed magnitude.
        reading: interpolation, border and fill.
        adds: whether the operation may be SolarizeAdd.
    """
    warp(build, "auto_warp", operation, magnitude, reading=reading)
    one_by_one = _color_operators(build, operation, magnitude) if build.exact else ()
    build.colors("auto_color", operation, magnitude, contrast=True, operators=one_by_one)
    if adds and one_by_one:
        is_added = build.equal(operation, OPERATIONS.index("SolarizeAdd"))
        threshold, adds_below = build.constant(128 / 255), build.constant(1.0)
        build.color("solarize", threshold, adds_below, magnitude, drawn=is_added)
    sharp = build.equal(operation, OPERATIONS.index("Sharpness"))
    factor = build.select(sharp, build.compute("plus", magnitude, 1.0), 1.0)
    build.operator(
        OperatorStep("adjust_sharpness", {"sharpness_factor": Column("registers", factor)}, drawn=sharp)
    )
    for name in ("AutoContrast", "Equalize"):
        drawn = build.equal(operation, OPERATIONS.index(name))
        build.operator(OperatorStep(name.lower(), drawn=drawn, why=_HISTOGRAM))


def _color_operators(build: Build, operation: int, magnitude: int) -> list[OperatorStep]:
    """Operators that reproduce torchvision's bytes for the color step of each image."""
    drawn = {name: build.equal(operation, index) for index, name in enumerate(OPERATIONS)}
    factor, threshold = (
        build.compute("plus", magnitude, 1.0),
        build.compute("times", magnitude, build.constant(build.maximum)),
    )

    def step(name: str, argument: str, values: int, otherwise: float) -> OperatorStep:
        column = Column("registers", build.select(drawn[name], values, otherwise))
        return OperatorStep(name.lower(), {argument: column}, drawn=drawn[name], why=BY_ITSELF)

    factors = {"Brightness": BRIGHTNESS_OF, "Color": SATURATION_OF, "Contrast": CONTRAST_OF}
    return [
        *(
            adjustment(which, Column("registers", build.select(drawn[name], factor, 1.0)), drawn[name])
            for name, which in factors.items()
        ),
        step("Posterize", "bits", magnitude, 8.0),
        step("Solarize", "threshold", threshold, build.maximum),
        OperatorStep("invert", drawn=drawn["Invert"], why=BY_ITSELF),
    ]


class _Auto(Transform):
    """Applies one operation per image in each slot; its subclasses have these fields."""

    interpolation: str
    fill: FillValue

    _checks = checks(interpolation=warp_interpolation)

    def _adds(self) -> bool:
        """Whether SolarizeAdd may be drawn."""
        return False

    def add_operations(self, build: Build, operations: Sequence[Choice]) -> None:
        """Apply operations in order."""
        for operation, magnitude in operations:
            reading = self.interpolation, "constant", checked_numbers(self.fill)
            apply_operation(build, operation, magnitude, reading, self._adds())


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

    _checks = checks(num_magnitude_bins=(2, 1 << 30))

    def rules(self, build: Build) -> None:
        operation = build.whole(0, len(TORCHVISION))
        level = build.compute("over", build.whole(0, self.num_magnitude_bins), self.num_magnitude_bins - 1)
        self.add_operations(build, [(operation, WIDE.magnitude(build, operation, level, build.uniform()))])


@dataclass(frozen=True)
class RandAugment(_Auto):
    """Apply several of fourteen operations to each image, all of one strength or about it; uint8 only.

    Args:
        num_ops: number of operations, up to 64, applied in order.
        magnitude: the strength, from 0 to `num_magnitude_bins` - 1.
        num_magnitude_bins: number of strength levels, at least 2.
        interpolation: "nearest", "linear", "cubic" or "lanczos4".
        fill: value outside the image, in pixel units: a number or one per channel.
        magnitude_std: standard deviation of the magnitude of an operation, which is clipped to the levels.
        p: probability of each of the `num_ops` operations.
        operations: "torchvision", with the identity; or "timm", its increasing set, for 11 bins: with
            inversion and `SolarizeAdd` instead, and stronger posterization.

    Source:
        `torchvision.transforms.v2.RandAugment`; timm's `rand-m9-mstd0.5-inc1`.

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
    magnitude_std: float = 0.0
    p: float = 1.0
    operations: str = "torchvision"

    _checks = checks(
        num_ops=(0, 64),
        num_magnitude_bins=(2, 1 << 30),
        magnitude_std=at_least(0.0),
        operations=partial(choice, known=tuple(SETS)),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        most = self.num_magnitude_bins - 1
        self._set(magnitude=whole(self.name, "magnitude", self.magnitude, 0, most))

    def rules(self, build: Build) -> None:
        space, operations = SETS[self.operations]
        fixed, choices = build.constant(self.magnitude / (self.num_magnitude_bins - 1)), list[Choice]()
        for _ in range(self.num_ops):
            operation, sign = build.whole(operations.start, len(operations)), build.uniform()
            level = self._level(build) if self.magnitude_std else fixed
            if self.p < 1:
                operation = build.compute("times", operation, build.chance(self.p))
            choices.append((operation, space.magnitude(build, operation, level, sign)))
        self.add_operations(build, choices)

    def _adds(self) -> bool:
        return self.operations == "timm"

    def _level(self, build: Build) -> int:
        """A level from 0 to 1 about that of the magnitude."""
        largest = self.num_magnitude_bins - 1
        level = build.compute("normal", self.magnitude / largest, self.magnitude_std / largest, draws=2)
        level = build.compute("larger", level, build.constant(0.0))
        return build.compute("smaller", level, build.constant(1.0))


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

    def rules(self, build: Build) -> None:
        pairs = POLICIES[self.policy]
        which, draws = build.whole(0, len(pairs)), [build.uniform() for _ in range(4)]
        choices = []
        for slot in range(2):
            names, chances, levels = zip(*(pair[slot] for pair in pairs), strict=True)
            is_drawn = build.compute("at_most", draws[2 * slot], build.lookup(which, chances))
            code = build.lookup(which, [OPERATIONS.index(name) for name in names])
            operation = build.compute("times", code, is_drawn)
            level = build.lookup(which, [(level or 0) / 9 for level in levels])
            choices.append((operation, NARROW.magnitude(build, operation, level, draws[2 * slot + 1])))
        self.add_operations(build, choices)
