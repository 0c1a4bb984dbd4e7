"""Resize, crop, flip and pad."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from orbbec.bridge.arguments import Array, size_text
from orbbec.bridge.plain import listed
from orbbec.plan.build import Build
from orbbec.plan.passes import ALIKE
from orbbec.plan.points import shifts
from orbbec.plan.registers import log_range
from orbbec.plan.steps import BatchState, Step, Warp, same_rows
from orbbec.plan.stream import Stream
from orbbec.transforms.base.arguments import at_least, checks, or_none, resizing
from orbbec.transforms.base.checks import (
    MAX_SIDE,
    FillValue,
    Range,
    Size,
    border_of,
    checked_numbers,
    checked_sides,
    checked_size,
    padding_of,
    resizings_of,
    size_pair,
    whole,
)
from orbbec.transforms.base.transform import Transform, _EvenChance
from orbbec.transforms.cuts import NEAREST, Resizing, _Resizing, padded, resize
from orbbec.transforms.targets.class_limit import CLASS_TRIES, ClassLimit


@dataclass(frozen=True)
class Resize(_Resizing):
    """Resize each image.

    Args:
        size: (height, width), or one number for the shorter side; use (side, side) for squares. None: the
            longer side becomes `max_size`.
        interpolation: "linear", "cubic", "lanczos4" or "area"; "linear_exact" (OpenCV's, without antialias);
            "box" or "hamming" (with antialias only); "nearest", which reads pixel
            `floor(x * width / output width)`, like cv2's INTER_NEAREST and torchvision's NEAREST; or
            "nearest_exact", which reads `floor((x + 0.5) * width / output width)`, like torchvision's
            NEAREST_EXACT. Also "bilinear", "bicubic", "lanczos", torchvision's `InterpolationMode`, Pillow's
            `Resampling` and cv2's INTER_* values. Masks read the same pixels as an image with nearest.
        max_size: upper bound of the longer side, only if `size` is one number; or the longer side.
        antialias: use Pillow's filter, torchvision's default, in a pass of its own. False: linear and nearest
            fuse with neighboring warps; cubic, area and lanczos4 are OpenCV's and take a pass of their own.

    Source:
        `torchvision.transforms.v2.Resize`.

    Example:
        >>> Resize(2)(torch.zeros(3, 4, 6)).shape
        torch.Size([3, 2, 3])
    """

    size: Size | None
    interpolation: str = "linear"
    max_size: int | None = None
    antialias: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size is None:
            self._set(max_size=whole(self.name, "max_size", self.max_size, 1, MAX_SIDE))
            return
        sides = size_pair(self.name, "size", self.size)
        size = sides if len(listed(self.size) or ()) == 2 else sides[:1]
        self._set(size=size)
        if self.max_size is not None:
            self._set(max_size=whole(self.name, "max_size", self.max_size, size[0] + 1, MAX_SIDE))
            if len(size) == 2:
                raise ValueError(f"{self.name}: expected max_size only with one number for size")

    def rules(self, build: Build) -> None:
        if self.size is None:
            assert self.max_size is not None
            resize(build, "resize_longer", self.max_size, how=self, size=ALIKE)
            return
        assert not isinstance(self.size, int)
        least = (1, 1) if self.max_size is not None else (self.size[0], self.size[-1])
        if len(self.size) == 2:
            resize(build, "resize", *self.size, how=self, size=least, least=least)
            return
        side = build.constant(self.size[0])
        resize(build, "resize_shorter", side, self.max_size or 0, how=self, size=ALIKE, least=least)


@dataclass(frozen=True)
class RandomResizedCrop(Transform):
    """Crop a random region of each image and resize it to one size.

    Draws area and aspect ratio up to ten times until the region fits; otherwise crops the center.

    Args:
        size: (height, width) of the output in pixels, or one side of a square.
        scale: range of the region's area, as a fraction of the image's.
        ratio: range of the region's width to its height; drawn uniformly in the logarithm.
        interpolation: see `Resize`; or several, one of which is drawn per image. "random": linear or cubic.
        antialias: see `Resize`.

    Source:
        `torchvision.transforms.v2.RandomResizedCrop`; timm's `RandomResizedCropAndInterpolation`.

    Example:
        >>> RandomResizedCrop((8, 8))(torch.zeros(3, 40, 60)).shape
        torch.Size([3, 8, 8])
    """

    size: Size
    scale: Range = (0.08, 1.0)
    ratio: Range = (3.0 / 4.0, 4.0 / 3.0)
    interpolation: str | Sequence[str] = "linear"
    antialias: bool = True

    _checks = checks(scale=at_least(0.0), ratio=at_least(1e-6))

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(interpolation=resizings_of(self.name, self.interpolation, self.antialias))

    def rules(self, build: Build) -> None:
        size = checked_size(self.size)
        several = not isinstance(self.interpolation, str)
        which = build.compute("whole", 0, len(self.interpolation), 1, first=40) if several else None
        numbers = *size, *self.scale, *self.ratio, *log_range(*self.ratio)
        resize(
            build, "resize_area", *numbers, how=self, size=size, least=size, cuts=True, draws=40, which=which
        )


@dataclass(frozen=True)
class CenterCrop(Transform):
    """Crop the center of each image.

    Images smaller than `size` are padded with zeros; an odd row or column of padding goes below or to the
    right. When an odd number of pixels is removed, the offset from the left or top is rounded to even.

    Args:
        size: (height, width) in pixels, or one side of a square.

    Source:
        `torchvision.transforms.v2.CenterCrop`.

    Example:
        >>> image = torch.arange(20, dtype=torch.uint8).reshape(1, 4, 5)
        >>> CenterCrop((2, 3))(image).tolist()
        [[[6, 7, 8], [11, 12, 13]]]
    """

    size: Size

    _checks = checks()

    def rules(self, build: Build) -> None:
        size = checked_size(self.size)
        # Depends on the pipeline and not on a batch, so that a sample has the same bytes in every batch.
        may_pad = build.least[0] < size[0] or build.least[1] < size[1]
        border = "constant" if may_pad else None
        build.warp("crop_center", *size, border=border, lossless=True, region=True, size=size, least=size)


@dataclass(frozen=True)
class RandomCrop(Transform):
    """Crop a region of one size at a random position of each image.

    Args:
        size: (height, width) in pixels, or one side of a square.
        padding: padding added first, in pixels: one number, (left and right, top and bottom), or (left, top,
            right, bottom).
        pad_if_needed: pad smaller images to `size`.
        fill: value of the padding, in pixel units: a number or one per channel.
        padding_mode: see `Pad`.
        max_class_ratio: largest part of the pixels of a `mask` of classes that one class may have. Positions
            are drawn until a crop has several classes and none has more; after ten, another one is taken as
            it is. The crop then stands outside containers and before images are mixed. None: any crop.
        ignore_index: the class that does not count.

    Raises:
        TypeError: an argument has a wrong type.
        ValueError: an argument is out of range; or, when the plan is made, an image is too small, or a target
            lacks the mask that `max_class_ratio` needs.

    Source:
        `torchvision.transforms.v2.RandomCrop`; mmsegmentation's `RandomCrop` with `cat_max_ratio`.

    Example:
        >>> image = torch.zeros(3, 20, 30, dtype=torch.uint8)
        >>> RandomCrop(16, padding=4)(image).shape
        torch.Size([3, 16, 16])
        >>> target = {"mask": (torch.arange(30) > 20).expand(20, 30).long()}
        >>> _, cropped = RandomCrop(16, max_class_ratio=0.75)(image, target, epoch=0)
        >>> cropped["mask"].unique().tolist()
        [0, 1]
    """

    size: Size
    padding: int | Sequence[int] | None = None
    pad_if_needed: bool = False
    fill: FillValue = 0.0
    padding_mode: str = "constant"
    max_class_ratio: float | None = None
    ignore_index: int = 255

    _checks = checks(
        ignore_index=(-(2**31), 2**31 - 1), padding=or_none(padding_of), max_class_ratio=(0.0, 1.0)
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_class_ratio is not None:
            self._set(needs_targets=True, crops_by_targets=True)

    def rules(self, build: Build) -> None:
        if self.max_class_ratio is not None:
            super().rules(build)
            return
        size = checked_size(self.size)
        how = padded(self) if self._pads else {"region": True}
        numbers = *size, *self._padding, int(self.pad_if_needed)
        build.warp("crop_random", *numbers, lossless=True, size=size, least=size, draws=2, **how)

    @property
    def _padding(self) -> tuple[int, int, int, int]:
        return (0, 0, 0, 0) if self.padding is None else checked_sides(self.padding)

    @property
    def _pads(self) -> bool:
        return self.pad_if_needed or self.padding is not None

    def draw_for(self, state: BatchState, stream: Stream, targets: Sequence[Any], matrix: Array) -> Step:
        size, border = checked_size(self.size), border_of(self.name, self.padding_mode)
        above, extents = self._extents(state.sizes)
        spare = (extents - size + 1).T
        corners = [np.stack([*map(stream.below, spare)], 1) - above for _ in range(1 + CLASS_TRIES)]
        limit = ClassLimit(self.name, self.max_class_ratio or 0.0, self.ignore_index)
        masks = limit.masks_of(targets)
        corner = limit.chosen(corners, masks, matrix, size, border)
        shift = shifts(corner[:, 1], corner[:, 0], len(state))
        region = None if self._pads else np.concatenate([corner, corner + size], 1)[:, [1, 0, 3, 2]]
        how = padded(self) if self._pads else {"region": region}
        return Warp(shift, same_rows(size, len(state)), lossless=True, least=size, **how)

    def _extents(self, sizes: Array) -> tuple[Array, Array]:
        """The padding above and on the left, and the sizes of padded images: int64 `[N, 2]`."""
        left, top, right, bottom = self._padding
        above, extents = np.array([top, left]), sizes + np.array([top + bottom, left + right])
        lacking = np.maximum(checked_size(self.size) - extents, 0)
        if self.pad_if_needed:
            return above + lacking, extents + 2 * lacking
        for n in np.flatnonzero(lacking.any(1))[:1].tolist():
            least, size = size_text(np.array([checked_size(self.size)])), size_text(extents[n : n + 1])
            raise ValueError(f"{self.name}: expected images of at least {least}, but image {n} is {size}")
        return np.broadcast_to(above, sizes.shape), extents


@dataclass(frozen=True)
class Pad(Transform):
    """Pad each image on all sides.

    Args:
        padding: one number, (left and right, top and bottom), or (left, top, right, bottom), in pixels.
        fill: in pixel units: a number or one per channel.
        padding_mode: "constant", "edge", "reflect" (which does not repeat the edge), "symmetric" or "wrap";
            also "replicate", "reflect101" and the values of `cv2.BORDER_*`.

    Source:
        `torchvision.transforms.v2.Pad`.

    Example:
        >>> image = torch.tensor([[[1, 2]]], dtype=torch.uint8)
        >>> Pad((1, 0), fill=9)(image).tolist()
        [[[9, 1, 2, 9]]]
    """

    padding: int | Sequence[int]
    fill: FillValue = 0.0
    padding_mode: str = "constant"

    _checks = checks(padding=padding_of)

    def rules(self, build: Build) -> None:
        build.warp("pad", *checked_sides(self.padding), lossless=True, size=ALIKE, **padded(self))


class _Flip(_EvenChance):
    _axis: ClassVar[int]  # 0: x

    def rules(self, build: Build) -> None:
        with build.only(build.chance(self.p)):
            build.warp("flip", self._axis, lossless=True, onto=True, flips=self._axis == 0)


class RandomHorizontalFlip(_Flip):
    """Flip images left to right with probability `p`.

    Args:
        p: probability, from 0 to 1.

    Source:
        `torchvision.transforms.v2.RandomHorizontalFlip`.

    Example:
        >>> image = torch.tensor([[[1, 2, 3]]], dtype=torch.uint8)
        >>> RandomHorizontalFlip(p=1.0)(image).tolist()
        [[[3, 2, 1]]]
    """

    _axis = 0


class RandomVerticalFlip(_Flip):
    """Flip images upside down with probability `p`.

    Args:
        p: probability, from 0 to 1.

    Source:
        `torchvision.transforms.v2.RandomVerticalFlip`.

    Example:
        >>> image = torch.tensor([[[1], [2], [3]]], dtype=torch.uint8)
        >>> RandomVerticalFlip(p=1.0)(image).flatten().tolist()
        [3, 2, 1]
    """

    _axis = 1


@dataclass(frozen=True)
class Letterbox(Transform):
    """Resize each image to fit into `size`, keep its aspect ratio and pad both sides evenly.

    Linear and nearest run as one warp: the border of an enlarged image blends into the fill over half a
    source pixel. The other interpolations resize in a pass of their own.

    Args:
        size: (height, width) of the output in pixels, or one side of a square.
        fill: in pixel units: a number or one per channel.
        interpolation: see `Resize`, without antialias.
        enlarge: whether to enlarge small images.

    Example:
        >>> image = torch.tensor([[[10, 20]]], dtype=torch.uint8)
        >>> Letterbox((3, 2), fill=114)(image).tolist()
        [[[114, 114], [10, 20], [114, 114]]]
    """

    size: Size
    fill: FillValue = 114.0
    interpolation: str = "linear"
    enlarge: bool = True

    _checks = checks(interpolation=resizing)

    def rules(self, build: Build) -> None:
        size, fill = checked_size(self.size), checked_numbers(self.fill)
        enlarge = int(self.enlarge)
        frame: dict[str, Any] = {"border": "constant", "fill": fill, "size": size, "least": size}
        if not build.exact and self.interpolation in ("linear", "nearest", "nearest_exact"):
            nearest = NEAREST.get(self.interpolation, 0)
            interpolation = "nearest" if nearest else "linear"
            build.warp(
                "letterbox", *size, enlarge, nearest, interpolation=interpolation, offset=nearest > 0, **frame
            )
            return
        how = Resizing(self.interpolation, antialias=False)
        resize(build, "resize_fit", *size, enlarge, how=how, size=ALIKE)
        build.warp("pad_to", *size, 0.5, 0.5, 0, lossless=True, **frame)
