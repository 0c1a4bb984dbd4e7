"""Color temperature."""

from __future__ import annotations

from dataclasses import dataclass

from orbbec.plan.build import Build
from orbbec.transforms.base.checks import Range, choice, interval
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

    def __post_init__(self) -> None:
        self._set(mode=choice(self.name, "mode", self.mode, tuple(_LIGHTS)))
        if self.temperature_range is not None:
            low, high = interval(
                self.name, "temperature_range", self.temperature_range, _LIGHTS[self.mode][0], _HOTTEST
            )
            if not low <= _NEUTRAL <= high:
                expected = f"temperature_range with {_NEUTRAL:g} within"
                raise ValueError(f"{self.name}: expected {expected}, but got ({low:g}, {high:g})")
            self._set(temperature_range=(low, high))
        self._check("p")

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
    fraction = build.compute("sum", position, build.compute("times", index, build.constant(-1.0)))
    first = build.lookup(index, values)
    second = build.lookup(build.compute("plus", index, 1.0), values)
    step = build.compute("sum", second, build.compute("times", first, build.constant(-1.0)))
    return build.compute("sum", first, build.compute("times", step, fraction))
