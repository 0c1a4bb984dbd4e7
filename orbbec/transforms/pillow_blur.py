"""Pillow's Gaussian blur."""

from __future__ import annotations

from dataclasses import dataclass

from orbbec.plan.build import Build
from orbbec.plan.parameters import Column, OperatorStep
from orbbec.transforms.base.arguments import checks
from orbbec.transforms.base.checks import Range
from orbbec.transforms.base.transform import Transform


@dataclass(frozen=True)
class PillowBlur(Transform):
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

    def rules(self, build: Build) -> None:
        columns = {"radius": Column("registers", build.uniform(*self.radius_range))}
        build.operator(OperatorStep("pillow_blur", columns, drawn=build.chance(self.p)))
