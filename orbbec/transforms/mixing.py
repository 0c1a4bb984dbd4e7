"""Transforms that mix images of a batch. The result of an image depends on the rest of the batch."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from orbbec.bridge.arguments import Array
from orbbec.plan.steps import BatchState, Mix, Step
from orbbec.plan.stream import Stream
from orbbec.transforms.base.checks import (
    FillValue,
    Range,
    Size,
    interval,
    number,
    numbers,
    size_pair,
    whole,
)
from orbbec.transforms.base.transform import Transform


def before(count: int) -> Array:
    """The index of the previous image, cyclically: int64 `[N]`."""
    return np.roll(np.arange(count), 1)


@dataclass(frozen=True, eq=False)
class Weights:
    """The weight of each image, the box of the other image, and which images are mixed.

    Args:
        weight: float64 `[N]`.
        boxes: int64 `[N, 4]`, of CutMix.
        chosen: bool `[N]`.
    """

    weight: Array
    boxes: Array
    chosen: Array


@dataclass(frozen=True)
class _Applied(Transform):
    p: float = field(default=1.0, kw_only=True)

    def __post_init__(self) -> None:
        self._check("p")

    def _of_chosen(self, mix: Mix, chosen: Array, state: BatchState) -> list[Step]:
        return [mix if self.p == 1.0 else mix.only(chosen, state)]


@dataclass(frozen=True)
class _Mixing(_Applied):
    """Mixes each image with one other.

    Raises:
        TypeError: an argument has a wrong type.
        ValueError: an argument is out of range; or, when targets are mixed, a label is missing or out of
            range, or there are boxes.
    """

    alpha: float = 1.0
    num_classes: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(alpha=number(self.name, "alpha", self.alpha, 1e-6))
        if self.num_classes is not None:
            self._set(num_classes=whole(self.name, "num_classes", self.num_classes, 1))


class MixUp(_Mixing):
    """Blend each image with the previous one in the batch, with random weights.

    Float images of one size are mixed in the preceding pass, which computes each image twice; for uint8 a
    separate pass is cheaper. A target's `label` becomes a vector of class weights.

    Args:
        alpha: the weight is drawn from Beta(alpha, alpha).
        num_classes: number of classes of integer labels; None: labels are vectors.
        p: probability that an image is mixed.

    Source:
        `torchvision.transforms.v2.MixUp`, which draws once per batch.

    Example:
        >>> images, labels = torch.rand(4, 3, 8, 8), torch.tensor([0, 1, 2, 1])
        >>> mixed, weights = MixUp(alpha=0.2, num_classes=3)((images, labels))
        >>> mixed.shape, weights.shape, weights.sum(1).round().tolist()
        (torch.Size([4, 3, 8, 8]), torch.Size([4, 3]), [1.0, 1.0, 1.0, 1.0])
    """

    def sample(self, sizes: Array, stream: Stream) -> Weights:
        weight = stream.betas(self.alpha)
        return Weights(weight, np.zeros((len(sizes), 4), np.int64), stream.chance(self.p))

    def steps(self, params: Weights, state: BatchState) -> list[Step]:
        table = {"pair_indices": before(len(state)), "weights": params.weight}
        mix = Mix("mixup", table, options={"num_classes": self.num_classes})
        return self._of_chosen(mix, params.chosen, state)


class CutMix(_Mixing):
    """Replace a random rectangle of each image by the same rectangle of the previous image in the batch.

    Images of one size are mixed in the preceding pass, which computes each pixel once. A target's `label`
    becomes a vector of class weights.

    Args:
        alpha: the fraction of the area is drawn from Beta(alpha, alpha).
        num_classes: number of classes of integer labels; None: labels are vectors.
        p: probability that an image is mixed.

    Source:
        `torchvision.transforms.v2.CutMix`, which draws once per batch.

    Example:
        >>> images, labels = torch.rand(4, 3, 8, 8), torch.tensor([0, 1, 2, 1])
        >>> mixed, weights = CutMix(num_classes=3)((images, labels))
        >>> mixed.shape, weights.shape, weights.sum(1).round().tolist()
        (torch.Size([4, 3, 8, 8]), torch.Size([4, 3]), [1.0, 1.0, 1.0, 1.0])
    """

    def sample(self, sizes: Array, stream: Stream) -> Weights:
        weight = stream.betas(self.alpha)
        middle = np.stack([stream.below(sizes[:, 1]), stream.below(sizes[:, 0])], 1)
        half = (0.5 * np.sqrt(1.0 - weight)[:, None] * sizes[:, ::-1]).astype(np.int64)
        low, high = np.maximum(middle - half, 0), np.minimum(middle + half, sizes[:, ::-1])
        left = 1.0 - (high - low).prod(1) / sizes.prod(1)
        return Weights(left, np.concatenate([low, high], 1), stream.chance(self.p))

    def steps(self, params: Weights, state: BatchState) -> list[Step]:
        table = {"pair_indices": before(len(state)), "boxes": params.boxes, "weights": params.weight}
        mix = Mix("cutmix", table, options={"num_classes": self.num_classes})
        return self._of_chosen(mix, params.chosen, state)


@dataclass(frozen=True, eq=False)
class Centers:
    """The point where four images meet, int64 `[N, 2]`, (x, y); and which are mixed, bool `[N]`."""

    centers: Array
    chosen: Array


@dataclass(frozen=True)
class Mosaic(_Applied):
    """Arrange each image and the three previous ones of the batch around a random center, unscaled.

    It takes a pass of its own: a warp after it reads across the seams, and the images before it vary in size.
    Boxes with labels, masks, points and polygons of all four images are combined and clipped to their
    quarters. Other entries of a target, such as an image id, are dropped.

    Args:
        size: (height, width) of the result in pixels, or one side of a square.
        center_range: range of the center, as fractions of height and width, from 0 to 1.
        fill: value where no image lies, in pixel units: a number or one per channel.
        p: probability of a mosaic; below 1, the images must already have the output size.

    Raises:
        TypeError: an argument has a wrong type.
        ValueError: an argument is out of range; or, when the plan is made with `p` below 1, an image has
            another size than the mosaic.

    Source:
        The mosaic of YOLO.

    Example:
        >>> images = torch.arange(1, 5, dtype=torch.uint8).reshape(4, 1, 1, 1).expand(-1, 1, 4, 4)
        >>> Mosaic(4, center_range=(0.5, 0.5))(images)[0].tolist()
        [[[1, 1, 4, 4], [1, 1, 4, 4], [3, 3, 2, 2], [3, 3, 2, 2]]]
    """

    size: Size
    center_range: Range = (0.25, 0.75)
    fill: FillValue = 114.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(center_range=interval(self.name, "center_range", self.center_range, 0.0, 1.0))
        self._check("size", "fill")

    def sample(self, sizes: Array, stream: Stream) -> Centers:
        height, width = size_pair(self.name, "size", self.size)
        fractions = np.stack([stream.between(*self.center_range) for _ in range(2)], 1)
        return Centers(np.rint(fractions * [width, height]).astype(np.int64), stream.chance(self.p))

    def steps(self, params: Centers, state: BatchState) -> list[Step]:
        size, every = size_pair(self.name, "size", self.size), np.arange(len(state))
        pair_indices = np.stack([np.roll(every, shift) for shift in range(4)], 1)
        fill = numbers(self.name, "fill", self.fill)
        table = {"pair_indices": pair_indices, "centers": params.centers}
        mix = Mix("mosaic", table, size, {"fill": list(fill)})
        return self._of_chosen(mix, params.chosen, state)
