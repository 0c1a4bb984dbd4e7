"""Transforms that mix images of a batch. The result of an image depends on the rest of the batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from orbbec.plan.build import Build
from orbbec.plan.external import masks_of_targets
from orbbec.plan.parameters import Column
from orbbec.plan.rules import IMAGE_HEIGHT, IMAGE_WIDTH
from orbbec.transforms.base.arguments import at_least, checks
from orbbec.transforms.base.checks import FillValue, Range, Size, checked_numbers, checked_size
from orbbec.transforms.base.transform import Transform


def _previous(chosen: int | None, *shifts: int) -> Column:
    """The column of the images that meet, each as the number of images before; see `_Applied._chosen`."""
    return Column(
        "previous",
        -1 if chosen is None else chosen,
        (len(shifts),) if len(shifts) > 1 else (),
        "int64",
        shifts,
    )


def _numbers(
    build: Build, chosen: int | None, registers: Sequence[int], others: Sequence[float], dtype: str
) -> Column:
    """The column of some registers, and of other numbers where images are not mixed."""
    first = build.consecutive(registers) if chosen is None else build.selects(chosen, registers, others)
    return Column("registers", first, (len(registers),) if len(registers) > 1 else (), dtype)


@dataclass(frozen=True)
class _Applied(Transform):
    others: ClassVar[int] = 1

    p: float = field(default=1.0, kw_only=True)
    epochs: tuple[int, int] | None = field(default=None, kw_only=True)

    _checks = checks()

    def _chosen(self, build: Build) -> int | None:
        """The register of the images that are mixed; None: all."""
        chance = None if self.p == 1.0 else build.chance(self.p)
        return build.chosen(build.within_epochs(chance, self.epochs))


@dataclass(frozen=True)
class _Mixing(_Applied):
    """Mixes each image with one other.

    Raises:
        TypeError: an argument has a wrong type.
        ValueError: an argument is out of range; or, when targets are mixed, a label is missing or out of
            range, or a target cannot follow.
    """

    alpha: float = 1.0
    num_classes: int | None = None

    _checks = checks(alpha=at_least(1e-6), num_classes=at_least(1))


class MixUp(_Mixing):
    """Blend each image with the previous one in the batch, with random weights.

    Float images of one size are mixed in the preceding pass, which computes each image twice; for uint8 a
    separate pass is cheaper. A target's `label` becomes a vector of class weights; boxes, masks, points and
    polygons of both images are kept.

    Args:
        alpha: the weight is drawn from Beta(alpha, alpha).
        num_classes: number of classes of integer labels; None: labels are vectors.
        p: probability that an image is mixed.
        epochs: (first, end): only from the first epoch to before `end`; None: in all.

    Source:
        `torchvision.transforms.v2.MixUp`, which draws once per batch.

    Example:
        >>> images, labels = torch.rand(4, 3, 8, 8), torch.tensor([0, 1, 2, 1])
        >>> mixed, weights = MixUp(alpha=0.2, num_classes=3)((images, labels))
        >>> mixed.shape, weights.shape, weights.sum(1).round().tolist()
        (torch.Size([4, 3, 8, 8]), torch.Size([4, 3]), [1.0, 1.0, 1.0, 1.0])
    """

    def rules(self, build: Build) -> None:
        weight = build.beta(self.alpha)
        chosen = self._chosen(build)
        weights = _numbers(build, chosen, [weight], [1.0], "float64")
        columns = {"pair_indices": _previous(chosen, 1), "weights": weights}
        build.mix("mixup", columns, {"num_classes": self.num_classes})


class CutMix(_Mixing):
    """Replace a random rectangle of each image by the same rectangle of the previous image in the batch.

    Images of one size are mixed in the preceding pass, which computes each pixel once. A target's `label`
    becomes a vector of class weights. Masks are cut; boxes that the rectangle hides are dropped, and those
    that it covers from a side shrink; points under it become invisible.

    Args:
        alpha: the fraction of the area is drawn from Beta(alpha, alpha).
        num_classes: number of classes of integer labels; None: labels are vectors.
        p: probability that an image is mixed.
        epochs: (first, end): only from the first epoch to before `end`; None: in all.

    Source:
        `torchvision.transforms.v2.CutMix`, which draws once per batch.

    Example:
        >>> images, labels = torch.rand(4, 3, 8, 8), torch.tensor([0, 1, 2, 1])
        >>> mixed, weights = CutMix(num_classes=3)((images, labels))
        >>> mixed.shape, weights.shape, weights.sum(1).round().tolist()
        (torch.Size([4, 3, 8, 8]), torch.Size([4, 3]), [1.0, 1.0, 1.0, 1.0])
    """

    def rules(self, build: Build) -> None:
        cut = build.compute("cut", build.beta(self.alpha), draws=2)
        chosen = self._chosen(build)
        boxes = _numbers(build, chosen, range(cut, cut + 4), [0.0] * 4, "int64")
        weights = _numbers(build, chosen, [cut + 4], [1.0], "float64")
        columns = {"pair_indices": _previous(chosen, 1), "boxes": boxes, "weights": weights}
        build.mix("cutmix", columns, {"num_classes": self.num_classes})


@dataclass(frozen=True)
class CopyPaste(_Applied):
    """Paste some objects of the previous image in the batch, cut out by their masks, on each image.

    Their number is drawn from 1 to all, then which. Targets need `boxes` and `masks`. The rows of pasted
    objects are appended, whatever they are. What they cover leaves masks, points under them become invisible,
    and boxes of objects that lost pixels bound the rest of the mask; `TargetOptions` says which are dropped,
    and areas are those of masks. A `mask` of classes is pasted too; polygons are refused. A plan gets the
    masks from `transform_targets`, so call that before `apply`. Images have one size, such as after a crop.

    Args:
        max_objects: largest number of objects; None: all.
        p: probability that objects are pasted on an image.
        epochs: (first, end): only from the first epoch to before `end`; None: in all.

    Raises:
        TypeError: an argument has a wrong type.
        ValueError: an argument is out of range; or, when images are mixed, there are no masks, a target
            cannot follow, or sizes vary.

    Source:
        Simple Copy-Paste (Ghiasi et al., 2021), without blended edges; torchvision's references/detection,
        which draw with replacement.

    Example:
        >>> images = torch.tensor([[7, 7, 7, 7], [9, 9, 9, 9]], dtype=torch.uint8).reshape(2, 1, 1, 4)
        >>> left, right = torch.tensor([[[1, 1, 1, 0]]]), torch.tensor([[[0, 0, 1, 1]]])
        >>> boxes = torch.tensor([[0, 0, 3, 1]]), torch.tensor([[2, 0, 4, 1]])
        >>> targets = [{"boxes": b, "masks": m} for b, m in zip(boxes, (left, right), strict=True)]
        >>> pasted, changed = CopyPaste()(images, targets)
        >>> pasted[0].tolist(), changed[0]["boxes"].tolist()
        ([[[7, 7, 9, 9]]], [[0, 0, 2, 1], [2, 0, 4, 1]])
    """

    max_objects: int | None = None

    _checks = checks(max_objects=at_least(1))

    def rules(self, build: Build) -> None:
        columns = {"pair_indices": _previous(self._chosen(build), 1), "masks": masks_of_targets(build)}
        options = {"max_objects": self.max_objects, "transform_index": build.stream}
        build.mix("copy_paste", columns, options)


@dataclass(frozen=True)
class Mosaic(_Applied):
    """Arrange each image and the three or eight previous ones of the batch on a canvas, unscaled.

    Four images meet in a random center. Of nine, the image lies in the middle, and the others around it, as
    `orbbec.mosaic` has them: YOLO's layout for images half as large as the canvas.

    It takes a pass of its own: a warp after it reads across the seams, and the images before it vary in size.
    Boxes with labels, masks, points and polygons of all images are combined and clipped to what is seen of
    their images. Other entries of a target, such as an image id, are dropped.

    Args:
        size: (height, width) of the result in pixels, or one side of a square.
        center_range: range of the center, as fractions of height and width, from 0 to 1; of nine images, of
            the center of an image of half the canvas. A smaller one begins at its top-left corner.
        fill: value where no image lies, in pixel units: a number or one per channel.
        tiles: number of images: 4 or 9.
        p: probability of a mosaic; other images lie alone in the middle of the canvas.
        epochs: (first, end): mosaics only from the first epoch to before `end`, such as (0, 285); None: in
            all.

    Source:
        The mosaics of YOLO.

    Example:
        >>> images = torch.arange(1, 5, dtype=torch.uint8).reshape(4, 1, 1, 1).expand(-1, 1, 4, 4)
        >>> Mosaic(4, center_range=(0.5, 0.5))(images)[0].tolist()
        [[[1, 1, 4, 4], [1, 1, 4, 4], [3, 3, 2, 2], [3, 3, 2, 2]]]
    """

    size: Size
    center_range: Range = (0.25, 0.75)
    fill: FillValue = 114.0
    tiles: int = 4

    _checks = checks(center_range=(0.0, 1.0), tiles=(4, 9))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tiles not in (4, 9):
            raise ValueError(f"{self.name}: expected tiles as 4 or 9, but got {self.tiles}")
        self._set(others=self.tiles - 1)

    def rules(self, build: Build) -> None:
        height, width = size = checked_size(self.size)
        fractions = [build.uniform(*self.center_range) for _ in range(2)]
        sides = [build.constant(width), build.constant(height)]
        points = [build.compute("times", *pair) for pair in zip(fractions, sides, strict=True)]
        if self.tiles == 9:
            points = [
                build.compute("plus", *pair) for pair in zip(points, (-width / 4, -height / 4), strict=True)
            ]
        center = [build.compute("round", point) for point in points]
        chosen = self._chosen(build)
        if chosen is not None:
            center = self._alone_or(build, chosen, center, (width, height))
        centers = Column("registers", build.consecutive(center), (2,), "int64")
        columns = {"pair_indices": _previous(chosen, *range(self.tiles)), "centers": centers}
        fill = list(checked_numbers(self.fill))
        build.mix("mosaic", columns, {"fill": fill}, size)

    def _alone_or(
        self, build: Build, chosen: int, center: Sequence[int], canvas: tuple[int, int]
    ) -> list[int]:
        """The center where a mosaic is made; else the corner of an image in the middle of the canvas.

        The last corner of four images, the first of nine.
        """
        is_alone = build.compute("equal", chosen, 0.0)
        sign = 1.0 if self.tiles == 4 else -1.0
        corners = []
        for register, side, length in zip(center, (IMAGE_WIDTH, IMAGE_HEIGHT), canvas, strict=True):
            double = build.compute("plus", side, sign * length)
            corner = build.compute("round", build.compute("over", double, sign * 2.0))
            pair = build.select(chosen, register, 0.0), build.select(is_alone, corner, 0.0)
            corners.append(pair)
        return [build.compute("sum", *pair) for pair in corners]
