"""Crops that are drawn by the boxes or the mask of the target."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np

from orbbec.bridge.arguments import Array, as_tensor, size_text
from orbbec.bridge.plain import listed
from orbbec.plan.points import (
    areas,
    carried_edges,
    clipped,
    corners_of,
    forward_of,
    hulls,
    numbers_of,
    shifts,
)
from orbbec.plan.steps import BatchState, Step, Warp
from orbbec.plan.stream import Stream
from orbbec.transforms.base.arguments import checks, several
from orbbec.transforms.base.checks import Size, checked_size, interval, number, whole
from orbbec.transforms.base.transform import Transform, _Chance
from orbbec.transforms.targets.masks import mask_here
from orbbec.transforms.targets.per_box import row_count


def boxes_and_rows(op: str, target: Any, index: int, forward: Array, size: Array) -> tuple[Array, Array]:
    """The boxes of image `index` where earlier steps left them, clipped, without those outside: `[K, 4]`.

    Also their rows in the target.
    """
    boxes = numbers_of(target.get("boxes", ()))
    if boxes.size == 0:
        return np.zeros((0, 4)), np.zeros(0, np.int64)
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise ValueError(f"{op}: expected boxes xyxy [K, 4], but image {index} has {list(boxes.shape)}")
    boxes = clipped(hulls(carried_edges(forward, corners_of(boxes))), size)
    rows = np.flatnonzero(areas(boxes) > 0)
    return boxes[rows], rows


def _cropped(regions: Array, least: tuple[int, int] = (1, 1)) -> Warp:
    """The step that crops each image to left, top, right, bottom, int64 `[N, 4]`."""
    sizes = np.stack([regions[:, 3] - regions[:, 1], regions[:, 2] - regions[:, 0]], 1)
    corner = shifts(regions[:, 0], regions[:, 1], len(regions))
    return Warp(corner, sizes, lossless=True, region=regions, least=least)


@dataclass(frozen=True)
class RandomIoUCrop(Transform):
    """Crop a random region with a randomly chosen minimum overlap with a box, as for single-shot detectors.

    Boxes whose center is outside the region should be dropped: see `min_visibility` of `TargetOptions`. The
    boxes are those that earlier steps left; an image without boxes is not cropped.

    Args:
        min_scale: smallest ratio of the region's sides to the image's, from 0 to 1.
        max_scale: largest such ratio, from 0 to 1.
        min_aspect_ratio: smallest ratio of width to height.
        max_aspect_ratio: largest ratio of width to height.
        sampler_options: minimum overlaps (intersection over union) to choose from; 1 and above leave the
            image unchanged.
        trials: attempts per choice; then a new choice is made, up to `rounds` times.
        rounds: number of choices before the image is left unchanged. (torchvision has no limit.)
        epochs: (first, end): only from the first epoch to before `end`; None: in all.

    Raises:
        TypeError: an argument has a wrong type.
        ValueError: an argument is out of range; or, when the plan is made, images were mixed before.

    Source:
        `torchvision.transforms.v2.RandomIoUCrop`.

    Example:
        >>> image = torch.zeros(3, 40, 60, dtype=torch.uint8)
        >>> target = {"boxes": torch.tensor([[10.0, 10, 50, 30]])}
        >>> crop, result = RandomIoUCrop()(image, target)
        >>> crop.shape[1] <= 40, crop.shape[2] <= 60
        (True, True)
    """

    min_scale: float = 0.3
    max_scale: float = 1.0
    min_aspect_ratio: float = 0.5
    max_aspect_ratio: float = 2.0
    sampler_options: Sequence[float] = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
    trials: int = 40
    rounds: int = 16
    epochs: tuple[int, int] | None = field(default=None, kw_only=True)

    needs_targets = crops_by_targets = True

    _checks = checks(
        trials=(1, 1 << 20), rounds=(1, 1 << 20), sampler_options=several(partial(number, low=0.0))
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        scales, ratios = (self.min_scale, self.max_scale), (self.min_aspect_ratio, self.max_aspect_ratio)
        low, high = interval(self.name, "min_scale, max_scale", scales, 1e-6, 1.0)
        self._set(min_scale=low, max_scale=high)
        low, high = interval(self.name, "min_aspect_ratio, max_aspect_ratio", ratios, 1e-6)
        self._set(min_aspect_ratio=low, max_aspect_ratio=high)

    def draw_for(self, state: BatchState, stream: Stream, targets: Sequence[Any], matrix: Array) -> Step:
        crops = state.regions.copy()
        per_round = 1 + 4 * self.trials
        draws, forward = stream.uniforms(per_round), forward_of(matrix)
        first, end = self.epochs or (0, math.inf)
        for n, target in enumerate(targets if first <= stream.epoch < end else ()):
            boxes = boxes_and_rows(self.name, target, n, forward[n], state.sizes[n])[0]
            if len(boxes):
                alone = Stream(stream.sample_ids[n : n + 1], *stream.key)
                crops[n] = self._crop(state.sizes[n], boxes, draws[n], alone)
        return _cropped(crops)

    def _crop(self, size: Array, boxes: Array, first: Array, stream: Stream) -> Array:
        """The region of one image: left, top, right, bottom."""
        draws = first
        for attempt in range(self.rounds):
            if attempt:
                draws = stream.uniforms((attempt + 1) * len(first))[0, attempt * len(first) :]
                stream = stream.again()
            overlap = self.sampler_options[int(draws[0] * len(self.sampler_options))]
            if overlap >= 1:
                break
            crops = self._tried(size, draws[1:].reshape(self.trials, 4))
            good = _overlap(boxes, crops, overlap)
            if good.any():
                return np.asarray(crops[good.argmax()])
        return np.array([0, 0, size[1], size[0]])

    def _tried(self, size: Array, draws: Array) -> Array:
        """The candidate regions: int64 `[K, 4]`."""
        height, width = size.tolist()
        scale = self.min_scale + (self.max_scale - self.min_scale) * draws[:, :2]
        w, h = (width * scale[:, 0]).astype(int), (height * scale[:, 1]).astype(int)
        aspect = w / np.maximum(h, 1)
        good = (aspect >= self.min_aspect_ratio) & (aspect <= self.max_aspect_ratio) & (h > 0)
        left = ((width - w) * draws[:, 2]).astype(int)
        top = ((height - h) * draws[:, 3]).astype(int)
        return np.asarray(np.stack([left, top, left + w, top + h], 1)[good])


def _overlap(boxes: Array, crops: Array, least: float) -> Array:
    """Which regions `[M, 4]` overlap enough with a box centered inside: bool `[M]`."""
    ends = boxes[:, None], crops[None].astype(np.float64)
    middle = (boxes[:, None, :2] + boxes[:, None, 2:]) / 2
    near = ((middle > ends[1][..., :2]) & (middle < ends[1][..., 2:])).all(-1)
    sides = np.minimum(*(end[..., 2:] for end in ends)) - np.maximum(*(end[..., :2] for end in ends))
    both = sides.prod(-1)
    union = areas(boxes)[:, None] + areas(ends[1][0])[None] - both
    return np.asarray((near & (both / np.where(near, union, 1.0) >= least)).any(0))


class _TargetCrop(_Chance):
    """Crops to a region that its subclasses choose by objects of the target."""

    needs_targets = crops_by_targets = True
    draws: ClassVar[int]  # random numbers of a region

    def draw_for(self, state: BatchState, stream: Stream, targets: Sequence[Any], matrix: Array) -> Step:
        chosen, draws = stream.chance(self.p), stream.uniforms(self.draws)
        regions = state.regions.copy()
        for n, target in enumerate(targets):
            if chosen[n]:
                objects = self._objects(n, target, matrix[n], state.sizes[n])
                regions[n] = self._region(n, state.sizes[n], objects, draws[n])
        return _cropped(regions, self._least)

    @property
    def _least(self) -> tuple[int, int]:
        """Lower bounds of height and width."""
        return 1, 1

    def _objects(self, index: int, target: Any, matrix: Array, size: Array) -> Array:
        """What the target has at this step; `matrix` maps current pixels to those of the target."""
        raise NotImplementedError

    def _region(self, index: int, size: Array, objects: Array, draws: Array) -> Any:
        """Left, top, right, bottom."""
        raise NotImplementedError

    def _spare(self, index: int, size: Array, sides: Array) -> Array:
        """How many columns and rows a crop of `sides` leaves of image `index`."""
        spare = (size - sides)[::-1]
        if (spare < 0).any():
            least, found = size_text(sides[None]), size_text(size[None])
            raise ValueError(
                f"{self.name}: expected images of at least {least}, but image {index} is {found}"
            )
        return np.asarray(spare)


class _SizedCrop(_TargetCrop):
    """Crops to one size, a field of its subclasses."""

    size: Size

    _checks = checks()

    @property
    def _least(self) -> tuple[int, int]:
        return checked_size(self.size) if self.p == 1 else (1, 1)


class _BoxCrop(_TargetCrop):
    """Crops by boxes."""

    def _objects(self, index: int, target: Any, matrix: Array, size: Array) -> Array:
        return boxes_and_rows(self.name, target, index, forward_of(matrix[None])[0], size)[0]


@dataclass(frozen=True)
class BBoxSafeRandomCrop(_BoxCrop):
    """Crop a random region that has all boxes.

    Each edge of the region lies between that of the image and that of the rectangle around all boxes. An
    image without boxes is cropped to a random height and its aspect ratio.

    Args:
        erosion_rate: fraction of the sides of the rectangle around several boxes by which it is made smaller,
            about its center, from 0 to 1; then boxes may be cut. Of an image without boxes, or at 1, the
            largest part of the height that is cut away.
        p: probability, from 0 to 1.

    Raises:
        TypeError: an argument has a wrong type.
        ValueError: an argument is out of range; or, when the plan is made, images were mixed before.

    Source:
        `BBoxSafeRandomCrop` of Albumentations, which rounds the right and the lower edge down and so may cut
        a box by less than a pixel.

    Example:
        >>> image = torch.zeros(3, 40, 60, dtype=torch.uint8)
        >>> target = {"boxes": torch.tensor([[10.0, 10, 20, 30], [40, 12, 50, 20]])}
        >>> crop, result = BBoxSafeRandomCrop()(image, target)
        >>> (result["boxes"][:, 2:] - result["boxes"][:, :2]).tolist()
        [[10.0, 20.0], [10.0, 8.0]]
    """

    erosion_rate: float = 0.0
    p: float = 1.0

    draws = 4

    _checks = checks(erosion_rate=(0.0, 1.0))

    def _region(self, index: int, size: Array, objects: Array, draws: Array) -> Any:
        edges = self._union(objects) if len(objects) and self.erosion_rate < 1 else None
        if edges is None:
            return self._anywhere(size, draws)
        first, last = edges[:2], edges[2:]
        start = np.floor(first * draws[:2])
        return *start, *np.ceil(last + (size[::-1] - last) * draws[2:])

    def _union(self, boxes: Array) -> Array:
        """The rectangle around all boxes, smaller by the rate if there are several."""
        edges = np.concatenate([boxes[:, :2].min(0), boxes[:, 2:].max(0)])
        lost = (edges[2:] - edges[:2]) * (self.erosion_rate / 2) * (len(boxes) > 1)
        return np.concatenate([edges[:2] + lost, edges[2:] - lost])

    def _anywhere(self, size: Array, draws: Array) -> Any:
        """A region with the aspect ratio of the image."""
        height, width = size.tolist()
        least = max(1, int(height * (1 - self.erosion_rate)))
        rows = least + int(draws[0] * (height - least + 1))
        columns = max(1, rows * width // height)
        top, left = int(draws[1] * (height - rows + 1)), int(draws[2] * (width - columns + 1))
        return left, top, left + columns, top + rows


@dataclass(frozen=True)
class AtLeastOneBBoxRandomCrop(_SizedCrop, _BoxCrop):
    """Crop a region of one size that has a random box, or as much of it as fits.

    Args:
        size: (height, width) in pixels, or one side of a square.
        erosion_factor: fraction of the sides of the box that may be cut away, from 0 to 1: anything up to a
            region that only touches it.
        p: probability, from 0 to 1.

    Raises:
        TypeError: an argument has a wrong type.
        ValueError: an argument is out of range; or, when the plan is made, an image is too small, or images
            were mixed before.

    Source:
        `AtLeastOneBBoxRandomCrop` of Albumentations, which rounds positions down.

    Example:
        >>> image = torch.zeros(3, 40, 60, dtype=torch.uint8)
        >>> target = {"boxes": torch.tensor([[41.0, 2, 49, 9]])}
        >>> crop, result = AtLeastOneBBoxRandomCrop(16)(image, target)
        >>> crop.shape, (result["boxes"][:, 2:] - result["boxes"][:, :2]).tolist()
        (torch.Size([3, 16, 16]), [[8.0, 7.0]])
    """

    size: Size
    erosion_factor: float = 0.0
    p: float = 1.0

    draws = 3

    _checks = checks(erosion_factor=(0.0, 1.0))

    def _region(self, index: int, size: Array, objects: Array, draws: Array) -> Any:
        sides = np.array(checked_size(self.size))
        spare = self._spare(index, size, sides)
        first, last = np.zeros(2), spare
        if len(objects):
            box = objects[int(draws[0] * len(objects))]
            rest = (box[2:] - box[:2]) * (1 - self.erosion_factor)
            ends = np.ceil(box[:2] + rest - sides[::-1]), np.floor(box[2:] - rest)
            first, last = np.sort(ends, 0).clip(0, spare)
        corner = first + np.floor(draws[1:] * (last - first + 1))
        return *corner, *(corner + sides[::-1])


def _ignored(op: str, name: str, value: Any) -> Any:
    return (
        () if listed(value) == [] else several(partial(whole, low=-(1 << 31), high=1 << 31))(op, name, value)
    )


@dataclass(frozen=True)
class CropNonEmptyMaskIfExists(_SizedCrop):
    """Crop a region of one size that has a random pixel of the mask that is not 0.

    The mask is `mask` of the target, or else all of `masks`, where earlier steps left it. An image without a
    mask, or whose mask is empty, is cropped anywhere.

    Args:
        size: (height, width) in pixels, or one side of a square.
        ignore_values: values of the mask that count as 0.
        p: probability, from 0 to 1.

    Raises:
        TypeError: an argument has a wrong type.
        ValueError: an argument is out of range; or, when the plan is made, an image is too small, or images
            were mixed before.

    Source:
        `CropNonEmptyMaskIfExists` of Albumentations, which refuses images without a mask.

    Example:
        >>> mask = torch.zeros(40, 60, dtype=torch.uint8)
        >>> mask[3, 50] = 1
        >>> crop, result = CropNonEmptyMaskIfExists(16)(torch.zeros(3, 40, 60), {"mask": mask})
        >>> crop.shape, int(result["mask"].sum())
        (torch.Size([3, 16, 16]), 1)
    """

    size: Size
    ignore_values: Sequence[int] = ()
    p: float = 1.0

    draws = 3

    _checks = checks(ignore_values=_ignored)

    def _objects(self, index: int, target: Any, matrix: Array, size: Array) -> Array:
        """The indices of the pixels that are not 0, row by row."""
        value = target.get("mask", target.get("masks"))
        if value is None or row_count(value) == 0:
            return np.zeros(0, np.int64)
        mask = as_tensor(self.name, "mask", value).cpu()
        shown = mask != 0
        for ignored in self.ignore_values:
            shown &= mask != ignored
        pixels = shown.reshape(-1, *shown.shape[-2:]).any(0)
        return np.flatnonzero(mask_here(pixels.byte(), matrix, size).numpy())

    def _region(self, index: int, size: Array, objects: Array, draws: Array) -> Any:
        sides = np.array(checked_size(self.size))
        spare = self._spare(index, size, sides)
        if len(objects):
            row, column = divmod(int(objects[int(draws[0] * len(objects))]), int(size[1]))
            corner = np.array([column, row]) - np.floor(draws[1:] * sides[::-1])
            corner = corner.clip(0, spare)
        else:
            corner = np.floor(draws[1:] * (spare + 1))
        return *corner, *(corner + sides[::-1])
