"""`scale_offset` in pipelines: its `OpSpec`, and a transform that draws its arguments."""

from __future__ import annotations

from dataclasses import dataclass

from orbbec.bridge.spec import OpSpec, register
from orbbec.plan.build import Build
from orbbec.plan.parameters import Column, OperatorStep
from orbbec.scaleoffset.scaleoffset import scale_offset
from orbbec.transforms.base.arguments import checks
from orbbec.transforms.base.checks import Range, interval
from orbbec.transforms.base.transform import Transform
from orbbec.transforms.parity import Parity

register(OpSpec(call=scale_offset, dtypes=("uint8", "float32"), takes_ragged=False))


@dataclass(frozen=True)
class RandomScaleOffset(Transform):
    """Scale the pixels of images and add an offset.

    Args:
        scale: a range.
        offset: a range, as a fraction of the maximum value.
        p: probability, from 0 to 1.

    Source:
        NumPy: a float32 product, a float32 sum, `round`, `clip`.

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
        offset = build.compute("times", offset, build.constant(build.maximum))
        columns = {
            "scale": Column("registers", scale, dtype="float32"),
            "offset": Column("registers", offset, dtype="float32"),
        }
        drawn, why = build.chance(self.p), "rounds its own result"
        build.operator(OperatorStep("scale_offset", columns, drawn=drawn, why=why))
