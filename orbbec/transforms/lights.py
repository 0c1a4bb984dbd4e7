"""Light: color temperature, and light and shadow that depend on the position in the image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from orbbec.augment.codes import STEPS
from orbbec.plan.build import Build
from orbbec.plan.rules import IMAGE_HEIGHT, IMAGE_WIDTH
from orbbec.transforms.base.arguments import at_least, checks
from orbbec.transforms.base.checks import Range, choice, interval, region
from orbbec.transforms.base.transform import Transform

# Red, green and blue of lights every 500 kelvins from the first, in units of 1/10000: of black bodies, and of
# CIE's daylight. By Zini et al., Planckian jitter (2022).
# fmt: off
_LIGHTS = {
    "blackbody": (3000.0, (
        (6743, 6281, 5919, 5623, 5376, 5163, 4979, 4816, 4672, 4542, 4426, 4320, 4223, 4135, 4054, 3980, 3911,
         3847, 3787, 3732, 3680, 3632, 3586, 3544, 3503),
        (4029, 4241, 4372, 4457, 4515, 4555, 4584, 4604, 4619, 4630, 4638, 4644, 4648, 4651, 4653, 4654, 4655,
         4656, 4656, 4656, 4655, 4655, 4655, 4654, 4653),
        (13, 1665, 2513, 3154, 3672, 4103, 4468, 4782, 5053, 5289, 5497, 5681, 5844, 5990, 6121, 6239, 6346,
         6444, 6532, 6613, 6688, 6756, 6820, 6878, 6933),
    )),
    "cied": (4000.0, (
        (5829, 5510, 5246, 5021, 4826, 4654, 4502, 4364, 4240, 4127, 4023, 3928, 3839, 3757, 3681, 3609, 3543,
         3480, 3421, 3365, 3313, 3263, 3217),
        (4421, 4514, 4576, 4618, 4646, 4667, 4681, 4692, 4700, 4705, 4709, 4713, 4715, 4716, 4717, 4718, 4719,
         4719, 4719, 4719, 4719, 4719, 4719),
        (2288, 2948, 3488, 3941, 4325, 4654, 4938, 5186, 5403, 5594, 5763, 5914, 6049, 6171, 6281, 6380, 6472,
         6555, 6631, 6702, 6766, 6826, 6882),
    )),
}
# fmt: on
_STEP, _NEUTRAL, _HOTTEST = 500.0, 6000.0, 15000.0
_WARM = 0.4  # probability of a temperature below white
_SIDES = (IMAGE_WIDTH, IMAGE_HEIGHT)
_SIGNS = {"brighten": (1.0,), "darken": (-1.0,), "both": (-1.0, 1.0)}
_CORNERS = 7  # of the color step


def _squared(build: Build, register: int) -> int:
    return build.compute("times", register, register)


@dataclass(frozen=True)
class Vignetting(Transform):
    """Darken pixels by the square of their distance from a center.

    A pixel is multiplied by `1 - intensity * d`, where d is the squared distance in half sides of the image,
    as a fraction of that of the farthest pixel.

    Args:
        intensity_range: a range of intensities, from 0 to 1: black in the farthest corner.
        center_range: a range of the center's x and y, as fractions of the sides, from 0 to 1.
        p: probability, from 0 to 1.

    Source:
        `Vignetting` of AlbumentationsX.

    Example:
        >>> image = torch.full((1, 1, 5), 200, dtype=torch.uint8)
        >>> Vignetting((0.5, 0.5), (0.0, 0.0), p=1.0)(image).flatten().tolist()
        [200, 194, 175, 144, 100]
    """

    intensity_range: Range = (0.2, 0.5)
    center_range: Range = (0.3, 0.7)
    p: float = 0.5

    _checks = checks(intensity_range=(0.0, 1.0), center_range=(0.0, 1.0))

    def rules(self, build: Build) -> None:
        chosen, intensity = build.chance(self.p), build.uniform(*self.intensity_range)
        fractions = [build.uniform(*self.center_range) for _ in _SIDES]
        centers = [build.compute("times", side, at) for side, at in zip(_SIDES, fractions, strict=True)]
        scales = [build.compute("quotient", build.constant(4.0), _squared(build, side)) for side in _SIDES]
        farthest = [
            build.compute("times", scale, _farthest(build, side, center))
            for side, center, scale in zip(_SIDES, centers, scales, strict=True)
        ]
        total = build.compute("larger", build.compute("sum", *farthest), build.constant(1e-6))
        scales = [build.compute("quotient", scale, total) for scale in scales]
        slope = build.negative(intensity)
        build.color("radial", *centers, *scales, slope, build.constant(0.0), drawn=chosen)


def _farthest(build: Build, side: int, center: int) -> int:
    """The largest squared distance of a pixel from a center, along an axis."""
    last = build.difference(build.compute("plus", side, -1.0), center)
    return build.compute("larger", _squared(build, center), _squared(build, last))


@dataclass(frozen=True)
class Illumination(Transform):
    """Brighten or darken along a direction, or around a center.

    A pixel is multiplied by `1 + s * g`, where s is the intensity, negative where it darkens. In "linear"
    mode, g grows evenly along the direction, from -1 in one corner of the image to 1 in the opposite one. In
    "gaussian" mode, it is `exp(-r^2 / (2 sigma^2))`, where r is the distance from the center.

    Args:
        mode: "linear" or "gaussian".
        intensity_range: a range of intensities, from 0 to 1.
        effect_type: "brighten", "darken" or "both", for either with equal probability.
        angle_range: linear: a range of directions in degrees; 0: to the right, 90: down, for square images.
        center_range: gaussian: a range of the center's x and y, as fractions of the sides, from 0 to 1.
        sigma_range: gaussian: a range of sigma, as a fraction of the longer side, above 0.
        p: probability, from 0 to 1.

    Source:
        `Illumination` of Albumentations, which scales g in linear mode only at multiples of 45 degrees.

    Example:
        >>> image = torch.full((1, 1, 5), 100, dtype=torch.uint8)
        >>> ramp = Illumination("linear", (0.2, 0.2), "brighten", (0.0, 0.0), p=1.0)
        >>> ramp(image).flatten().tolist()
        [80, 90, 100, 110, 120]
    """

    mode: str = "linear"
    intensity_range: Range = (0.01, 0.2)
    effect_type: str = "both"
    angle_range: Range = (0.0, 360.0)
    center_range: Range = (0.1, 0.9)
    sigma_range: Range = (0.2, 1.0)
    p: float = 0.5

    _checks = checks(
        mode=partial(choice, known=("linear", "gaussian")),
        intensity_range=(0.0, 1.0),
        effect_type=partial(choice, known=tuple(_SIGNS)),
        angle_range=interval,
        center_range=(0.0, 1.0),
        sigma_range=at_least(1e-6),
    )

    def rules(self, build: Build) -> None:
        chosen, signs = build.chance(self.p), _SIGNS[self.effect_type]
        sign = build.lookup(build.whole(0, len(signs)), signs)
        intensity = build.compute("times", build.uniform(*self.intensity_range), sign)
        add = self._linear if self.mode == "linear" else self._gaussian
        add(build, intensity, chosen)

    def _linear(self, build: Build, intensity: int, chosen: int) -> None:
        sine = build.compute("sine_cosine", build.uniform(*self.angle_range))
        parts = [sine + 1, sine]
        ends = [build.compute("larger", part, build.negative(part)) for part in parts]
        total, one = build.compute("sum", *ends), build.constant(1.0)
        fractions = [build.compute("quotient", part, total) for part in parts]
        gains = [build.compute("times", intensity, fraction) for fraction in fractions]
        lasts = [build.compute("larger", build.compute("plus", side, -1.0), one) for side in _SIDES]
        slopes = [
            build.compute("quotient", build.compute("times", gain, build.constant(2.0)), last)
            for gain, last in zip(gains, lasts, strict=True)
        ]
        first = build.difference(one, build.compute("sum", *gains))
        build.color("ramp", first, *slopes, drawn=chosen)

    def _gaussian(self, build: Build, intensity: int, chosen: int) -> None:
        fractions = [build.uniform(*self.center_range) for _ in _SIDES]
        centers = [build.compute("times", side, at) for side, at in zip(_SIDES, fractions, strict=True)]
        longer = build.compute("larger", *_SIDES)
        sigma = build.compute("times", longer, build.uniform(*self.sigma_range))
        scale = build.compute("quotient", build.constant(0.5), _squared(build, sigma))
        build.color("radial", *centers, scale, scale, build.constant(0.0), intensity, drawn=chosen)


@dataclass(frozen=True)
class PlanckianJitter(Transform):
    """Scale red and blue as a light of a drawn color temperature does.

    Args:
        mode: "blackbody" or "cied", CIE's daylight.
        temperature_range: in kelvins, with 6000 within; None: (3000, 15000), from 4000 for "cied". Below 6000
            is drawn with a probability of 0.4.
        p: probability, from 0 to 1.

    Source:
        `PlanckianJitter` of Albumentations, sampled uniformly.

    Example:
        >>> image = torch.full((3, 1, 1), 100, dtype=torch.uint8)
        >>> PlanckianJitter(temperature_range=(6000, 6000), p=1.0)(image).flatten().tolist()
        [109, 100, 97]
    """

    mode: str = "blackbody"
    temperature_range: Range | None = None
    p: float = 0.5

    _checks = checks(mode=partial(choice, known=tuple(_LIGHTS)))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.temperature_range is not None:
            low, high = interval(
                self.name, "temperature_range", self.temperature_range, _LIGHTS[self.mode][0], _HOTTEST
            )
            if not low <= _NEUTRAL <= high:
                expected = f"temperature_range with {_NEUTRAL:g} within"
                raise ValueError(f"{self.name}: expected {expected}, but got ({low:g}, {high:g})")
            self._set(temperature_range=(low, high))

    def rules(self, build: Build) -> None:
        coldest, lights = _LIGHTS[self.mode]
        low, high = self.temperature_range or (coldest, _HOTTEST)
        chosen, is_warm = build.chance(self.p), build.chance(_WARM)
        warm, cold = build.uniform(low, _NEUTRAL), build.uniform(_NEUTRAL, high)
        both = build.select(is_warm, warm, 0.0), build.select(build.equal(is_warm, 0.0), cold, 0.0)
        kelvins = build.compute("floor", build.compute("sum", *both))
        position = build.compute("over", build.compute("plus", kelvins, -coldest), _STEP)
        red, green, blue = (_between(build, position, light) for light in lights)
        ratios = [build.compute("quotient", red, green), build.constant(1.0)]
        ratios.append(build.compute("quotient", blue, green))
        build.colors("color_scale", build.copies(ratios), build.constants([0.0] * 3), drawn=chosen)


def _between(build: Build, position: int, values: tuple[int, ...]) -> int:
    """The value of a table at a position between its entries."""
    index = build.compute("floor", position)
    fraction = build.difference(position, index)
    first = build.lookup(index, values)
    second = build.lookup(build.compute("plus", index, 1.0), values)
    step = build.difference(second, first)
    return build.compute("sum", first, build.compute("times", step, fraction))


@dataclass(frozen=True)
class RandomShadow(Transform):
    """Darken random polygons.

    A pixel is inside a polygon where a ray from it along x crosses the sides an odd number of times; their
    corners are at whole pixels.

    Args:
        shadow_roi: left, top, right and bottom of the part of the image that has the corners, as fractions of
            the sides, from 0 to 1.
        num_shadows_range: how many: a number, or a range, from 1 to 16.
        shadow_dimension: number of corners, from 3 to 7.
        shadow_intensity_range: a range of intensities, from 0 to 1: black.
        p: probability, from 0 to 1.

    Source:
        `RandomShadow` of Albumentations, by `cv2.fillPoly`, which also fills the border.

    Example:
        >>> shadow = RandomShadow((0, 0, 1, 0.5), 16, 7, (1.0, 1.0), p=1.0)
        >>> shadow(torch.full((1, 40, 40), 200, dtype=torch.uint8)).unique().tolist()
        [0, 200]
    """

    shadow_roi: Sequence[float] = (0.0, 0.5, 1.0, 1.0)
    num_shadows_range: int | Sequence[int] = (1, 2)
    shadow_dimension: int = 5
    shadow_intensity_range: Range = (0.5, 0.5)
    p: float = 0.5

    _checks = checks(
        shadow_roi=region,
        num_shadows_range=(1, 16),
        shadow_dimension=(3, _CORNERS),
        shadow_intensity_range=(0.0, 1.0),
    )

    def rules(self, build: Build) -> None:
        chosen, are_there = build.chance(self.p), build.each_of(self.num_shadows_range)
        limits = [_limits(build, side, self.shadow_roi[axis::2]) for axis, side in enumerate(_SIDES)]
        for is_there in are_there:
            with build.only(build.both(chosen, is_there)):
                self._add(build, limits)

    def _add(self, build: Build, limits: Sequence[tuple[int, int]]) -> None:
        intensity = build.uniform(*self.shadow_intensity_range)
        corners = [[_corner(build, *ends) for ends in limits] for _ in range(self.shadow_dimension)]
        corners += corners[-1:] * (_CORNERS - len(corners))
        factor = build.difference(build.constant(1.0), intensity)
        code = build.constant(STEPS["shadow"])
        row = build.copies([code, factor, *(number for corner in corners for number in corner)])
        build.colors("step_colors", row, 1, placed=True)


def _limits(build: Build, side: int, ends: Sequence[float]) -> tuple[int, int]:
    """The first pixel along an axis, and the number of pixels."""
    first, past = (build.compute("floor", build.compute("times", side, build.constant(end))) for end in ends)
    return first, build.difference(past, first)


def _corner(build: Build, first: int, count: int) -> int:
    return build.sum(first, build.below(count))
