"""What is covered of an image: its masks, points and boxes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from orbbec._library import operators
from orbbec.bridge.arguments import Array
from orbbec.bridge.fakes import register_fake
from orbbec.plan.passes import OperatorPass, Pass
from orbbec.plan.points import hulls, numbers_of
from orbbec.transforms.targets.per_box import row_count
from orbbec.transforms.targets.state import MASK_KEYS, POINT_KEYS, State

_BYTES = (torch.uint8, torch.bool)


def cover_all(step: Pass, states: Sequence[State]) -> None:
    """Let the targets of all images follow a pass that covers pixels."""
    if not isinstance(step, OperatorPass) or not step.spec.covers:
        return
    pixels = step.table[step.spec.covers]
    for state in states:
        height, width = state.size
        pixels_here = pixels[state.index, :height, :width]
        if step.drawn[state.index] and pixels_here.any():
            cover(state, pixels_here)


def cover(state: State, pixels: Array) -> None:
    """Cover pixels, bool `[H, W]`.

    They leave masks, points on them become invisible, and the boxes of masks bound the rest, or are dropped.
    Boxes without masks lose the part of them that is covered.
    """
    hidden = torch.from_numpy(pixels)
    if state.is_per_box("masks"):
        if state.count and not state.is_upright:
            raise ValueError(
                "transform_targets: expected upright boxes, which follow from what is left of masks, "
                f"but image {state.index} has {state.options.box_format}"
            )
        if state.count:
            _cover_objects(state, hidden)
    elif state.count:
        _cover_boxes(state, pixels)
    for key in MASK_KEYS:
        if key in state.values and not state.is_per_box(key):
            state.values[key] = _visible_masks(state.layer(key), hidden)
    for key in POINT_KEYS:
        if row_count(state.values.get(key, ())):
            state.hide_points(key, lies_on(pixels, numbers_of(state.values[key])))


def _cover_boxes(state: State, pixels: Array) -> None:
    boxes, (height, width) = state.boxes, state.size
    numbers = boxes.numbers if state.is_upright else hulls(boxes.numbers.reshape(-1, 4, 2))
    ends = np.concatenate([np.floor(numbers[:, :2]), np.ceil(numbers[:, 2:])], 1)
    ends = ends.clip(0, [width, height, width, height]).astype(np.int64)
    sums = np.zeros((height + 1, width + 1), np.int64)
    sums[1:, 1:] = pixels.cumsum(0).cumsum(1)
    left, top, right, bottom = ends.T
    hidden = sums[bottom, right] - sums[top, right] - sums[bottom, left] + sums[top, left]
    full = (right - left) * (bottom - top)
    boxes.hide(full.astype(float), hidden.astype(float), numbers, state.options)


def _cover_objects(state: State, cover: Tensor) -> None:
    """Take covered pixels, bool `[H, W]`, out of the masks of boxes, and fit the boxes that lost some."""
    masks, boxes = state.layer("masks"), state.boxes
    table = torch.from_numpy(np.ascontiguousarray(boxes.table))
    left, fitted = _cover_masks(nonzero_bytes(masks), cover.contiguous(), table, state.options.limits)
    if masks.dtype not in _BYTES or not masks.is_cpu:
        left = _visible_masks(masks, cover)
    state.values["masks"], state.boxes = left, type(boxes)(fitted.numpy())


def _visible_masks(masks: Tensor, cover: Tensor) -> Tensor:
    """Masks that are 0 on covered pixels, bool `[H, W]`; `masked_fill` lacks uint16, uint32 and uint64."""
    return torch.where(cover.to(masks.device), masks.new_zeros(()), masks)


def nonzero_bytes(masks: Tensor) -> Tensor:
    """Masks as bytes on the CPU that are 0 where the masks are."""
    pixels = masks.detach() if masks.dtype in _BYTES else masks.ne(0)
    return pixels.cpu().contiguous()


def lies_on(mask: Array, points: Array) -> Array:
    """Whether points `[..., 2]` or `[..., 3]` lie on pixels of a mask."""
    height, width = mask.shape
    pixels = np.floor(np.nan_to_num(points[..., :2], nan=-1.0) + 0.5).clip(-1, 2**31)
    x, y = pixels.astype(np.int64).T
    inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
    hidden = mask[y.clip(0, height - 1), x.clip(0, width - 1)] & inside
    return np.asarray(hidden.T)


_cover_masks: Callable[..., tuple[Tensor, Tensor]] = operators.cover_masks


@register_fake("cover_masks", masks=3, cover=2, boxes=2)
def _(masks: Tensor, cover: Tensor, boxes: Tensor, limits: list[float]) -> tuple[Tensor, Tensor]:
    return torch.empty_like(masks), torch.empty_like(boxes)
