"""Dropouts at the objects of the mask or the boxes of the target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec._library import operators
from orbbec.bridge.arguments import Array, as_tensor, copied_to
from orbbec.bridge.fakes import register_fake
from orbbec.bridge.plain import is_number, listed
from orbbec.bridge.spec import OpSpec, register
from orbbec.plan.points import forward_of
from orbbec.plan.steps import BatchState, Operator, Step
from orbbec.plan.stream import Stream
from orbbec.transforms.base.arguments import at_least, checks, or_none, several
from orbbec.transforms.base.checks import (
    Range,
    checked_numbers,
    entries,
    numbers,
    whole,
)
from orbbec.transforms.base.transform import _Chance
from orbbec.transforms.box_crops import boxes_and_rows
from orbbec.transforms.erasing import filled_holes
from orbbec.transforms.targets.masks import mask_here
from orbbec.transforms.targets.per_box import row_count

_LABELS = ("labels", "class_labels", "category_ids", "class_ids", "label_ids")


def _covered(images: Tensor, pixels: Tensor, fill: Sequence[float]) -> Tensor:
    """Fill pixels, bool `[N, H, W]` of the largest image."""
    height, width = images.shape[-2:]
    values = torch.tensor(fill, dtype=torch.float64, device="cpu")
    values = (values.round() if images.dtype == torch.uint8 else values).to(images.dtype)
    colors = copied_to(images.device, values)[:, None, None]
    return torch.where(pixels[:, None, :height, :width], colors, images)


register(OpSpec(call=_covered, name="object_dropout", takes_ragged=False, capturable=False, covers="pixels"))


def _objects(op: str, index: int, target: Any, matrix: Array, size: Array, values: Any = None) -> Array:
    """The objects of a mask where earlier steps left it, numbered from 1: int32 `[H, W]`.

    They are the regions of one value, or of any of `values`, which touch at sides or corners.
    """
    found = target.get("mask")
    if found is None:
        return np.zeros(size, np.int32)
    mask = as_tensor(op, "mask", found).cpu()
    if mask.numel() != mask.shape[-1] * mask.shape[-2]:
        raise ValueError(f"{op}: expected mask [H, W], but image {index} has {list(mask.shape)}")
    here = mask_here(mask.reshape(mask.shape[-2:]), matrix, size).to(torch.int32)
    if values is not None:
        here = torch.isin(here, torch.tensor(values, dtype=torch.int32, device="cpu")).to(torch.int32)
    return np.asarray(_label_objects(here.contiguous()).numpy())


class _ObjectDropout(_Chance):
    """Fills pixels at objects of the target."""

    fill: float | Sequence[float]
    needs_targets = True

    _checks = checks(fill=numbers)


@dataclass(frozen=True)
class MaskDropout(_ObjectDropout):
    """Fill random objects of the mask, and drop them from the targets.

    Objects are the connected regions of one value, not 0, of `mask` in the target where earlier steps left
    it; pixels that touch at a corner are connected. Without a `mask`, each of `masks` is an object. The
    pixels of a dropped object become 0 in masks, and points on them invisible. Boxes lose these pixels, so
    that `min_visibility` may drop them; those with `masks` are fitted to the rest of their mask. A box of
    which nothing is left is dropped.

    Args:
        max_objects_range: how many objects are dropped: a number, or a range, at least 1.
        fill: value of their pixels: a number or one per channel, in the units that the pixels have at this
            step of the pipeline.
        p: probability, from 0 to 1.

    Raises:
        TypeError: an argument has a wrong type.
        ValueError: an argument is out of range; or, when the plan is made, a mask has another shape, or
            images were mixed before.

    Source:
        `MaskDropout` of Albumentations, by `cv2.connectedComponents`.

    Example:
        >>> mask = torch.tensor([[1, 1, 0, 0, 2]], dtype=torch.uint8)
        >>> image, target = MaskDropout(2, p=1.0)(torch.full((1, 1, 5), 9, dtype=torch.uint8), {"mask": mask})
        >>> image.tolist(), target["mask"].tolist()
        ([[[0, 0, 9, 9, 0]]], [[0, 0, 0, 0, 0]])
    """

    max_objects_range: int | Sequence[int] = (1, 1)
    fill: float | Sequence[float] = 0.0
    p: float = 0.5

    _checks = checks(max_objects_range=at_least(1))

    def draw_for(self, state: BatchState, stream: Stream, targets: Sequence[Any], matrix: Array) -> Step:
        chosen, fractions, sizes = stream.chance(self.p), stream.uniforms(1)[:, 0], state.sizes
        found = [
            self._found(n, target, matrix[n], sizes[n]) if chosen[n] else np.zeros((0, *sizes[n]), bool)
            for n, target in enumerate(targets)
        ]
        keys = stream.uniforms(max(map(_count, found), default=0))
        pixels = np.zeros((len(state), *sizes.max(0, initial=0)), bool)
        low, high = checked_numbers(self.max_objects_range)
        for n, objects in enumerate(found):
            count = low + int(fractions[n] * (high - low + 1))
            dropped = np.argsort(keys[n, : _count(objects)], kind="stable")[:count]
            pixels[n, : sizes[n, 0], : sizes[n, 1]] = _pixels(objects, dropped)
        options = {"fill": list(checked_numbers(self.fill))}
        why = "fills objects of the mask"
        return Operator("object_dropout", {"pixels": pixels}, options, drawn=chosen, why=why)

    def _found(self, index: int, target: Any, matrix: Array, size: Array) -> Array:
        """The objects, numbered from 1, int32 `[H, W]`; or the pixels of each, bool `[K, H, W]`."""
        several = target.get("masks")
        if "mask" not in target and several is not None and row_count(several) != 0:
            masks = as_tensor(self.name, "masks", several).cpu().ne(0).byte()
            return np.asarray(mask_here(masks, matrix, size).numpy() > 0)
        return _objects(self.name, index, target, matrix, size)


def _count(objects: Array) -> int:
    """The number of objects; see `MaskDropout._found`."""
    return len(objects) if objects.ndim == 3 else int(objects.max(initial=0))


def _pixels(objects: Array, rows: Array) -> Array:
    """The pixels of some objects: bool `[H, W]`."""
    if objects.ndim == 3:
        return np.asarray(objects[rows].any(0))
    is_chosen = np.zeros(_count(objects) + 1, bool)
    is_chosen[rows + 1] = True
    return np.asarray(is_chosen[objects])


def _labels(op: str, name: str, value: Any) -> tuple[Any, ...]:
    labels = entries(op, name, value)
    if not all(isinstance(label, str) or is_number(label) for label in labels):
        raise TypeError(f"{op}: expected {name} as numbers or texts, but got {labels}")
    return labels


@dataclass(frozen=True)
class ConstrainedCoarseDropout(_ObjectDropout):
    """Fill random rectangles at objects of the target: of its mask, or of its boxes.

    In a mask, objects are connected regions of some values. Rectangles have their centers on them, and sides
    relative to the square root of their area. In boxes, rectangles lie within the box, and have sides
    relative to its sides. Targets stay as they are.

    Args:
        num_holes_range: how many rectangles each object gets: a number, or a range, from 1 to 256; one number
            is drawn for all objects of an image.
        hole_height_range: range of heights, as fractions from 0 to 1.
        hole_width_range: range of widths, as fractions from 0 to 1.
        fill: a number or one per channel, in the units that the pixels have at this step of the pipeline.
        mask_indices: the values of `mask` whose regions get rectangles; None: boxes get them.
        bbox_labels: the `labels` (`class_labels`, `category_ids`) of the boxes that get rectangles; None:
            all.
        p: probability, from 0 to 1.

    Raises:
        TypeError: an argument has a wrong type.
        ValueError: an argument is out of range; or, when the plan is made, a mask has another shape, boxes
            have no labels, or images were mixed before.

    Source:
        `ConstrainedCoarseDropout` of Albumentations, by `cv2.connectedComponents`.

    Example:
        >>> dropout = ConstrainedCoarseDropout(1, (0.5, 0.5), (0.5, 0.5), p=1.0)
        >>> target = {"boxes": torch.tensor([[2.0, 2, 6, 8]])}
        >>> image, _ = dropout(torch.ones(1, 9, 9), target)
        >>> int(image.sum())  # of 81 pixels
        75
    """

    num_holes_range: int | Sequence[int] = (1, 1)
    hole_height_range: Range = (0.1, 0.1)
    hole_width_range: Range = (0.1, 0.1)
    fill: float | Sequence[float] = 0.0
    mask_indices: Sequence[int] | None = None
    bbox_labels: Sequence[int | float | str] | None = None
    p: float = 0.5

    _checks = checks(
        num_holes_range=(1, 256),
        hole_height_range=(0.0, 1.0),
        hole_width_range=(0.0, 1.0),
        mask_indices=or_none(several(partial(whole, low=1, high=(1 << 31) - 1))),
        bbox_labels=or_none(_labels),
    )

    def draw_for(self, state: BatchState, stream: Stream, targets: Sequence[Any], matrix: Array) -> Step:
        chosen, fractions = stream.chance(self.p), stream.uniforms(1)[:, 0]
        low, high = checked_numbers(self.num_holes_range)
        counts = low + (fractions * (high - low + 1)).astype(np.int64)
        found = [
            self._at_objects(n, target, matrix[n], state.sizes[n]) if chosen[n] else []
            for n, target in enumerate(targets)
        ]
        most = max((len(each) * count for each, count in zip(found, counts.tolist(), strict=True)), default=0)
        draws = stream.uniforms(4 * most).reshape(len(state), most, 4)
        holes = np.zeros((len(state), most, 4), np.int64)
        for n, objects in enumerate(found):
            repeated = (each for each in objects for _ in range(counts[n]))
            for k, hole_of in enumerate(repeated):
                holes[n, k] = np.trunc(hole_of(self._part(draws[n, k, :2]), draws[n, k, 2:]))
        holes = holes.clip(0, np.tile(state.sizes[:, ::-1], 2)[:, None])
        return filled_holes(holes, self.fill, chosen)

    def _part(self, draws: Array) -> Array:
        """Width and height, as fractions."""
        ranges = np.array([self.hole_width_range, self.hole_height_range])
        return np.asarray(ranges[:, 0] + draws * (ranges[:, 1] - ranges[:, 0]))

    def _at_objects(
        self, index: int, target: Any, matrix: Array, size: Array
    ) -> list[Callable[[Array, Array], Array]]:
        """Per object, what gives left, top, right, bottom by fractions of its sides and draws `[2]`."""
        if self.mask_indices is not None:
            labels = _objects(self.name, index, target, matrix, size, self.mask_indices)
            order = np.argsort(labels, axis=None, kind="stable")
            ends = np.cumsum(np.bincount(labels.ravel()))
            regions = [order[low:high] for low, high in pairwise(ends)]
            return [_hole_in_region(region, int(size[1])) for region in regions]
        boxes, rows = boxes_and_rows(self.name, target, index, forward_of(matrix[None])[0], size)
        return [_hole_in_box(box) for box in boxes[self._is_labeled(index, target, rows)]]

    def _is_labeled(self, index: int, target: Any, rows: Array) -> Array:
        """Which of some boxes have one of the labels."""
        if self.bbox_labels is None or not len(rows):
            return np.ones(len(rows), bool)
        labels = next((target[key] for key in _LABELS if key in target), None)
        if labels is None:
            raise ValueError(f"{self.name}: expected labels of the boxes, but image {index} has none")
        known = listed(labels) or []
        return np.array([known[row] in self.bbox_labels for row in rows.tolist()], bool)


def _hole_in_box(box: Array) -> Callable[[Array, Array], Array]:
    def hole(part: Array, draws: Array) -> Array:
        whole_sides = box[2:] - box[:2]
        sides = np.floor(part * whole_sides)
        corner = box[:2] + draws * (whole_sides - sides)
        return np.concatenate([corner, corner + sides])

    return hole


def _hole_in_region(pixels: Array, width: int) -> Callable[[Array, Array], Array]:
    def hole(part: Array, draws: Array) -> Array:
        row, column = divmod(int(pixels[int(draws[0] * len(pixels))]), width)
        half = part * np.sqrt(len(pixels)) // 2
        center = np.array([column, row])
        return np.concatenate([center - half, center + half])

    return hole


_label_objects: Callable[..., Tensor] = operators.label_objects


@register_fake("label_objects", mask=2)
def _(mask: Tensor) -> Tensor:
    return torch.empty_like(mask)
