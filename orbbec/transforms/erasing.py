"""Random erasing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orbbec.plan.build import Build
from orbbec.plan.parameters import Column, OperatorStep
from orbbec.plan.registers import log_range
from orbbec.transforms.base.checks import Range, checked_numbers, choice, interval, numbers
from orbbec.transforms.base.transform import Transform


@dataclass(frozen=True)
class RandomErasing(Transform):
    """Fill a random rectangle.

    Draws area and aspect ratio up to ten times until the rectangle fits; otherwise nothing is filled.

    Args:
        p: probability, from 0 to 1.
        scale: range of the area, as a fraction of the image's.
        ratio: range of height to width; drawn uniformly in the logarithm.
        value: a number, one per channel, or "random" for normal noise (a pass of its own). In the units that
            the pixels have at this step of the pipeline, for example normalized after Normalize.

    Source:
        `torchvision.transforms.v2.RandomErasing`.

    Example:
        >>> image = torch.ones(1, 8, 8)
        >>> erased = RandomErasing(p=1.0, scale=(0.25, 0.25), ratio=(1.0, 1.0))(image)
        >>> int(erased.sum())  # of 64 pixels
        48
    """

    p: float = 0.5
    scale: Range = (0.02, 0.33)
    ratio: Range = (0.3, 3.3)
    value: float | Sequence[float] | str = 0.0

    def __post_init__(self) -> None:
        self._set(
            scale=interval(self.name, "scale", self.scale, 0.0, 1.0),
            ratio=interval(self.name, "ratio", self.ratio, 1e-6),
        )
        self._check("p")
        if isinstance(self.value, str):
            self._set(value=choice(self.name, "value", self.value, ("random",)))
        else:
            self._set(value=numbers(self.name, "value", self.value))

    def rules(self, build: Build) -> None:
        chosen = build.chance(self.p)
        numbers = *self.scale, *self.ratio, *log_range(*self.ratio)
        box = build.compute("area", *numbers, chosen, draws=40)
        if isinstance(self.value, str):
            columns = {"boxes": Column("registers", box, (4,), "int64")}
            options = {"noise": "normal", "transform_index": build.stream}
            build.operator(OperatorStep("erase", columns, options, why="fills with noise per image"))
            return
        fill = _fill(self.name, checked_numbers(self.value), build.channels)
        factors, summands = build.erase_units()
        filled = [v * f + s for v, f, s in zip(fill, factors, summands, strict=True)]
        build.constants([*filled, 0.0, 0.0, 0.0][:4])
        build.erase(box)


def _fill(op: str, fill: tuple[float, ...], channels: int) -> list[float]:
    """The fill of up to four channels."""
    if len(fill) not in (1, channels):
        raise ValueError(f"{op}: expected 1 or {channels} numbers in value, but got {len(fill)}")
    return [fill[index % len(fill)] for index in range(min(4, channels))]
