"""`scale_offset` in pipelines: a color step of fused passes."""

from __future__ import annotations

from dataclasses import dataclass

from orbbec.plan.build import Build
from orbbec.transforms.base.arguments import checks
from orbbec.transforms.base.checks import Range, interval
from orbbec.transforms.base.transform import Transform
from orbbec.transforms.parity import Parity


@dataclass(frozen=True)
class RandomScaleOffset(Transform):
    """Scale the pixels of images and add an offset.

    Args:
        scale: a range.
        offset: a range, as a fraction of the maximum value.
        p: probability, from 0 to 1.

    Source:
        NumPy: a float32 product, a float32 sum, `clip`.

    Example:
        >>> image = torch.tensor([[[0, 100, 200]]], dtype=torch.uint8)
        >>> RandomScaleOffset((1.5, 1.5), (0.2, 0.2), p=1.0)(image).tolist()
        [[[51, 201, 255]]]
    """

    scale: Range = (0.8, 1.2)
    offset: Range = (-0.1, 0.1)
    p: float = 0.5

    parity = (Parity("", "clip(rint(pixel * scale + offset))"),)

    _checks = checks(scale=interval, offset=interval)

    def rules(self, build: Build) -> None:
        scale, offset = build.uniform(*self.scale), build.uniform(*self.offset)
        build.color("scale_offset", scale, offset, drawn=build.chance(self.p))
