"""Images mixed with others of their batch. What an image gets depends on the images beside it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from orbbec.binding.arguments import Array
from orbbec.plan.steps import Frame, Mix, Step, same_rows
from orbbec.plan.stream import Stream
from orbbec.transforms.checks import (
    FillValue,
    Range,
    Size,
    interval,
    number,
    numbers,
    probability,
    size_pair,
    whole,
)
from orbbec.transforms.transform import Transform


def before(count: int) -> Array:
    """The image before each, the last before the first: int64 `[N]`."""
    return np.roll(np.arange(count), 1)


@dataclass(frozen=True, eq=False)
class Shares:
    """How much of each image stays, where the other lies, and which are mixed at all.

    Args:
        share: float64 `[N]`.
        boxes: int64 `[N, 4]`, of CutMix.
        chosen: bool `[N]`.
    """

    share: Array
    boxes: Array
    chosen: Array


@dataclass(frozen=True)
class _Applied(Transform):
    p: float = field(default=1.0, kw_only=True)

    def __post_init__(self) -> None:
        self._set(p=probability(self.name, self.p))

    def _of_chosen(self, mix: Mix, chosen: Array, frame: Frame) -> list[Step]:
        return [mix if self.p == 1.0 else mix.only(chosen, frame)]


@dataclass(frozen=True)
class _Mixing(_Applied):
    alpha: float = 1.0
    num_classes: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(alpha=number(self.name, "alpha", self.alpha, 1e-6))
        if self.num_classes is not None:
            whole(self.name, "num_classes", self.num_classes, 1)


class MixUp(_Mixing):
    """Add each image and the one before it in the batch, with random weights.

    Floats of one size are mixed in the pass before it; there each image is computed twice, which bytes would
    cost more than a pass of their own. A target's `label` becomes a vector of shares of classes.

    Args:
        alpha: the weight is drawn from Beta(alpha, alpha).
        num_classes: of labels that are numbers; None: they are vectors.
        p: how likely an image is mixed.

    Source:
        `torchvision.transforms.v2.MixUp`, which draws once a batch.
    """

    def sample(self, sizes: Array, stream: Stream) -> Shares:
        share = stream.betas(self.alpha)
        return Shares(share, np.zeros((len(sizes), 4), np.int64), stream.chance(self.p))

    def steps(self, params: Shares, frame: Frame) -> list[Step]:
        table = {"partners": before(len(frame)), "weights": params.share}
        mix = Mix("mixup", table, options={"num_classes": self.num_classes})
        return self._of_chosen(mix, params.chosen, frame)


class CutMix(_Mixing):
    """Replace a random rectangle of each image by that of the one before it in the batch.

    Images of one size are cut in the pass before it, each pixel computed once. A target's `label` becomes a
    vector of shares of classes.

    Args:
        alpha: the share of the area is drawn from Beta(alpha, alpha).
        num_classes: of labels that are numbers; None: they are vectors.
        p: how likely an image is cut.

    Source:
        `torchvision.transforms.v2.CutMix`, which draws once a batch.
    """

    def sample(self, sizes: Array, stream: Stream) -> Shares:
        share = stream.betas(self.alpha)
        middle = np.stack([stream.below(sizes[:, 1]), stream.below(sizes[:, 0])], 1)
        half = (0.5 * np.sqrt(1.0 - share)[:, None] * sizes[:, ::-1]).astype(np.int64)
        low, high = np.maximum(middle - half, 0), np.minimum(middle + half, sizes[:, ::-1])
        left = 1.0 - (high - low).prod(1) / sizes.prod(1)
        return Shares(left, np.concatenate([low, high], 1), stream.chance(self.p))

    def steps(self, params: Shares, frame: Frame) -> list[Step]:
        table = {"partners": before(len(frame)), "boxes": params.boxes, "weights": params.share}
        mix = Mix("cutmix", table, options={"num_classes": self.num_classes})
        return self._of_chosen(mix, params.chosen, frame)


@dataclass(frozen=True, eq=False)
class Centers:
    """Where four images meet, int64 `[N, 2]`, (x, y); and which are mixed, bool `[N]`."""

    centers: Array
    chosen: Array


@dataclass(frozen=True)
class Mosaic(_Applied):
    """Lay each image and the three before it in the batch about a random centre, unscaled.

    A pass of its own: a map after it reads across the seams, and what stands before it has unlike sizes.
    Boxes with their labels, masks, points and polygons follow from all four, each cut off at its quarter.
    What else an image has, such as a number of its own, is left out.

    Args:
        size: (height, width) of the result in pixels, or one side of a square.
        center_range: of the centre, as shares of height and width, from 0 to 1.
        fill: where no image lies, in units of the pixels: a number or one a channel.
        p: how likely an image is laid with others; below 1, images are of that size before.

    Source:
        The mosaic of YOLO.
    """

    size: Size
    center_range: Range = (0.25, 0.75)
    fill: FillValue = 114.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(
            size=size_pair(self.name, "size", self.size),
            center_range=interval(self.name, "center_range", self.center_range, 0.0, 1.0),
            fill=numbers(self.name, "fill", self.fill),
        )

    def sample(self, sizes: Array, stream: Stream) -> Centers:
        height, width = size_pair(self.name, "size", self.size)
        shares = np.stack([stream.between(*self.center_range) for _ in range(2)], 1)
        return Centers(np.rint(shares * [width, height]).astype(np.int64), stream.chance(self.p))

    def steps(self, params: Centers, frame: Frame) -> list[Step]:
        size, every = size_pair(self.name, "size", self.size), np.arange(len(frame))
        partners = np.stack([np.roll(every, turn) for turn in range(4)], 1)
        outputs = same_rows(size, len(frame))
        fill = numbers(self.name, "fill", self.fill)
        table = {"partners": partners, "centers": params.centers}
        mix = Mix("mosaic", table, outputs, {"fill": list(fill)})
        return self._of_chosen(mix, params.chosen, frame)
