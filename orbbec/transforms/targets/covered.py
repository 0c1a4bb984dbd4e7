"""What is covered of an image: its masks, points and boxes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from orbbec.bridge.arguments import Array
from orbbec.nms.boxes import masks_to_boxes
from orbbec.plan.passes import OperatorPass, Pass
from orbbec.plan.points import hulls, numbers_of
from orbbec.transforms.targets.state import MASK_KEYS, POINT_KEYS, State, covered


def cover_all(step: Pass, states: Sequence[State]) -> None:
    """Let the targets of all images follow a pass that covers pixels."""
    if not isinstance(step, OperatorPass) or not step.spec.covers:
        return
    pixels = step.table[step.spec.covers]
    for state in states:
        height, width = state.size
        cover = pixels[state.index, :height, :width]
        if step.drawn[state.index] and cover.any():
            _cover(state, cover)


def _cover(state: State, pixels: Array) -> None:
    """Cover pixels, bool `[H, W]`: boxes without masks lose the part of them that is covered."""
    cover = torch.from_numpy(pixels)
    if state.is_per_box("masks"):
        if state.count:
            cover_objects(state, cover)
    elif state.count:
        _cover_boxes(state, pixels)
    for key in MASK_KEYS:
        if key in state.values and not state.is_per_box(key):
            state.values[key] = state.layer(key).masked_fill(cover.to(state.layer(key).device), 0)
    for key in POINT_KEYS:
        if key in state.values:
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


def cover_objects(state: State, cover: Tensor) -> None:
    """Take covered pixels, bool `[H, W]`, out of the masks of boxes, and fit the boxes that lost some."""
    masks, boxes = state.layer("masks"), state.boxes
    left = masks.masked_fill(cover.to(masks.device), 0)
    pixels, rest = map(covered, (masks, left))
    lost = rest < pixels
    state.values["masks"] = left
    boxes.visible[lost] *= rest[lost] / pixels[lost]
    bounds = masks_to_boxes(left[torch.from_numpy(lost).to(left.device)]).cpu().double().numpy()
    bounds[:, 2:] += rest[lost, None] > 0  # the ends of boxes are exclusive
    boxes.numbers[lost] = bounds
    if state.options.drop_boxes:
        boxes.drop(lost & (rest <= 0))
        sides = np.full((state.count, 2), np.inf)
        sides[lost] = bounds[:, 2:] - bounds[:, :2]
        boxes.drop_small(sides, np.where(lost, rest, np.inf), state.options)


def lies_on(mask: Array, points: Array) -> Array:
    """Whether points `[..., 2]` or `[..., 3]` lie on pixels of a mask."""
    height, width = mask.shape
    pixels = np.floor(np.nan_to_num(points[..., :2], nan=-1.0) + 0.5).clip(-1, 2**31)
    x, y = pixels.astype(np.int64).T
    inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
    hidden = mask[y.clip(0, height - 1), x.clip(0, width - 1)] & inside
    return np.asarray(hidden.T)
