"""`scale_offset` in pipelines: its `OpSpec`, and a transform that draws its arguments."""

from dataclasses import dataclass

import numpy as np

from orbbec.bridge.arguments import Array
from orbbec.bridge.spec import OpSpec, register
from orbbec.plan.steps import BatchState, Operator, Step
from orbbec.plan.stream import Stream
from orbbec.scaleoffset.scaleoffset import scale_offset
from orbbec.transforms.base.checks import Range, interval, probability
from orbbec.transforms.base.transform import Transform
from orbbec.transforms.parity import Parity

register(OpSpec(call=scale_offset, dtypes=("uint8", "float32"), takes_ragged=False))


@dataclass(frozen=True, eq=False)
class Drawn:
    """The scale and offset of each image, float64 `[N]`, and which images are changed, bool `[N]`."""

    scale: Array
    offset: Array
    chosen: Array


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
        >>> import torch
        >>> image = torch.tensor([[[0, 100, 200]]], dtype=torch.uint8)
        >>> RandomScaleOffset((1.5, 1.5), (0.2, 0.2), p=1.0)(image).tolist()
        [[[51, 201, 255]]]
    """

    scale: Range = (0.8, 1.2)
    offset: Range = (-0.1, 0.1)
    p: float = 0.5

    parity = (Parity("", "clip(rint(pixel * scale + offset))"),)

    def __post_init__(self) -> None:
        self._set(
            scale=interval(self.name, "scale", self.scale),
            offset=interval(self.name, "offset", self.offset),
            p=probability(self.name, self.p),
        )

    def sample(self, sizes: Array, stream: Stream) -> Drawn:
        return Drawn(stream.between(*self.scale), stream.between(*self.offset), stream.chance(self.p))

    def steps(self, params: Drawn, state: BatchState) -> list[Step]:
        offset = params.offset * state.maximum
        table = {"scale": params.scale.astype(np.float32), "offset": offset.astype(np.float32)}
        return [Operator("scale_offset", table, drawn=params.chosen, why="rounds its own result")]
