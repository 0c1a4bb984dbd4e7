"""Random erasing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from orbbec.bridge.arguments import Array
from orbbec.plan.draws import draw_areas
from orbbec.plan.steps import ERASE_WIDTH, BatchState, Erase, Operator, Step
from orbbec.plan.stream import Stream
from orbbec.transforms.base.checks import Range, choice, interval, numbers
from orbbec.transforms.base.transform import Transform


@dataclass(frozen=True, eq=False)
class Rectangles:
    """One rectangle per image: int64 `[N, 4]` of left, top, right, bottom, exclusive; empty for none."""

    boxes: Array
    transform_index: int


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

    def sample(self, sizes: Array, stream: Stream) -> Rectangles:
        chosen = stream.chance(self.p)
        found, sides, begin = draw_areas(sizes, self.scale, self.ratio, stream, transposed=True)
        boxes = np.concatenate([begin[:, ::-1], (begin + sides)[:, ::-1]], 1)
        boxes = np.where((chosen & found)[:, None], boxes, 0).astype(np.int64)
        return Rectangles(boxes, stream.transform_index)

    def steps(self, params: Rectangles, state: BatchState) -> list[Step]:
        if isinstance(self.value, str):
            options = {"noise": "normal", "transform_index": params.transform_index}
            return [Operator("erase", {"boxes": params.boxes}, options, why="fills with noise per image")]
        fill = numbers(self.name, "value", self.value)
        if len(fill) not in (1, state.channels):
            raise ValueError(
                f"{self.name}: expected 1 or {state.channels} numbers in value, but got {len(fill)}"
            )
        boxes = np.zeros((len(state), 1, ERASE_WIDTH))
        boxes[:, 0, :4] = params.boxes
        boxes[:, 0, 4 : 4 + min(4, state.channels)] = np.resize(fill, min(4, state.channels))
        return [Erase(boxes)]
