"""Combines the targets of mixed images."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec.bridge.arguments import Array, tensor_of
from orbbec.bridge.spec import Tiles
from orbbec.plan.passes import MixPass, NoiseKey
from orbbec.plan.points import shifts
from orbbec.transforms.targets.motion import Motion
from orbbec.transforms.targets.pasted import check_objects, choose_objects, paste
from orbbec.transforms.targets.per_box import joined_rows
from orbbec.transforms.targets.state import State, move_all


def mixed(step: MixPass, states: Sequence[State], mask_fill: float, key: NoiseKey) -> list[State]:
    """The targets of mixed images.

    Args:
        step: the pass that mixes the images.
        states: the targets before the pass.
        mask_fill: value of masks where there is no image.
        key: that of the plan, by which objects are chosen.

    Raises:
        ValueError: a target cannot follow, boxes have several formats, or a label is missing or out of range.
    """
    sizes = np.array([state.size for state in states], np.int64).reshape(-1, 2)
    if step.spec.tiles is not None:
        return _laid(step, step.spec.tiles(step.table, sizes, step.sizes), states, mask_fill)
    if "masks" in step.arguments:
        return _pasted(step, states, key)
    has_rows = any(state.follows(key) for state in states for key in state.original)
    copies = [_copy(n, state) for n, state in enumerate(_owners(step, states))]
    results = _paired(step, states, copies, sizes) if has_rows else copies
    for n, other in enumerate(step.table["pair_indices"].tolist()):
        if "label" in states[n].values:
            weight = float(step.table["weights"][n])
            first, second = (_class_weights(step, states[m].values, m) for m in (n, other))
            results[n].values["label"] = weight * first + (1 - weight) * second
    return results


def _owners(step: MixPass, states: Sequence[State]) -> Sequence[State]:
    """The targets of images that have a result, without those of pair images from the source."""
    return states[: len(step.table["pair_indices"])]


def _paired(step: MixPass, states: Sequence[State], copies: Sequence[State], sizes: Array) -> list[State]:
    """The targets of pairs of images: of both, or of the rectangle that the other image covers."""
    _check_formats(step, states)
    _check_rows(step, [state for state in states if state.count])
    pairs = step.table["pair_indices"].tolist()
    sizes, paired = sizes[: len(pairs)], sizes[pairs]
    common = np.minimum(sizes, paired)[:, ::-1]
    rectangles = step.table.get("boxes")
    if rectangles is None:
        regions = np.concatenate([np.zeros_like(common), common], 1)
    else:
        regions = rectangles.clip(0, np.tile(common, 2))
    others = [_copy(n, states[m]) for n, m in enumerate(pairs)]
    cut = _shifted(regions[:, :2], np.maximum(regions[:, 2:] - regions[:, :2], 0)[:, ::-1])
    for motion in (cut, _shifted(-regions[:, :2], sizes)):
        move_all(motion, others, 0.0)
    results = []
    for n, (one, other) in enumerate(zip(copies, others, strict=True)):
        if pairs[n] == n:
            one.dropped_before = states[n].dropped
            results.append(one)
            continue
        _check_pair(step, (states[n], states[pairs[n]]), rectangles is None)
        if rectangles is not None:
            one.hide(regions[n])
        boxes = np.array([[0, 0, *sizes[n, ::-1]], regions[n]])
        results.append(_together(states[n], (one, other), boxes, _rest(one)))
    return results


def _pasted(step: MixPass, states: Sequence[State], key: NoiseKey) -> list[State]:
    """The targets of images on which objects of others are pasted."""
    check_objects(step, states)
    _check_formats(step, states)
    _check_rows(step, [state for state in states if state.count])
    pairs = step.table["pair_indices"].tolist()
    copies = [_copy(n, state) for n, state in enumerate(_owners(step, states))]
    others = [_copy(n, states[m]) for n, m in enumerate(pairs)]
    for each in (*copies, *others):
        each.clip()
    choose_objects(step, states, others, key)
    for n, (one, other) in enumerate(zip(copies, others, strict=True)):
        dropped = states[n].dropped
        if pairs[n] != n:
            paste(one, other, step.table["masks"][n])
            dropped += one.dropped
            whole = np.tile([0, 0, *one.size[::-1]], (2, 1))
            copies[n] = _together(states[n], (one, other), whole, _rest(one))
        copies[n].dropped_before = dropped
    return copies


def _rest(state: State) -> dict[str, Any]:
    """What does not move with the image."""
    return {key: value for key, value in state.written().items() if not state.follows(key)}


def _check_pair(step: MixPass, pair: Sequence[State], is_blend: bool) -> None:
    """Refuse targets that a mix cannot give a meaning."""
    key = "mask" if is_blend else "polygons"
    for state in pair:
        if key in state.original:
            hint = "a mask of classes cannot be blended" if is_blend else "polygons cannot be cut; use masks"
            raise ValueError(f"{step.name}: {hint}; leave {key} out of the target of image {state.index}")


def _copy(index: int, state: State) -> State:
    """A state that goes on from another, at another place of the batch."""
    copy = State(index, state.written(), state.options, state.size)
    copy.go_on_from(state)
    return copy


def _class_weights(step: MixPass, target: dict[str, Any], index: int) -> Tensor:
    """The label of an image as a vector of class weights."""
    num_classes = step.options["num_classes"]
    if "label" not in target:
        raise ValueError(f"{step.name}: expected label in the target of image {index}, but got none")
    label = tensor_of(target["label"])
    if label.dim() == 1 and label.is_floating_point():
        return label
    if num_classes is None or label.dim() != 0:
        raise ValueError(
            f"{step.name}: expected label as a number, and num_classes, or as a vector, for image {index}"
        )
    if not 0 <= int(label) < num_classes:
        raise ValueError(
            f"{step.name}: expected label from 0 to {num_classes - 1}, but image {index} has {int(label)}"
        )
    return torch.nn.functional.one_hot(label.long(), num_classes).float()


def _laid(step: MixPass, tiles: Tiles, states: Sequence[State], mask_fill: float) -> list[State]:
    """The targets of outputs made of tiles, clipped to each tile and padded to the canvas."""
    _check_formats(step, states)
    _check_rows(step, [state for state in states if state.count])
    outputs = len(step.sizes)
    count = len(tiles.boxes) // max(outputs, 1)
    there = np.flatnonzero(tiles.pair_indices >= 0)  # an output of one image has no others
    boxes, output = tiles.boxes[there], there // max(count, 1)
    laid = [_copy(k, states[other]) for k, other in enumerate(tiles.pair_indices[there].tolist())]
    corners = boxes[:, :2]
    cut = _shifted(corners - tiles.offsets[there], (boxes[:, 2:] - corners)[:, ::-1])
    for each in (cut, _shifted(-corners, step.sizes[output])):
        move_all(each, laid, mask_fill)
    starts = np.searchsorted(output, np.arange(outputs + 1)).tolist()
    rows = [slice(*ends) for ends in pairwise(starts)]
    return [_together(states[n], laid[of], boxes[of]) for n, of in enumerate(rows)]


def _check_formats(step: MixPass, states: Sequence[State]) -> None:
    formats = sorted({state.options.box_format for state in states if "boxes" in state.original})
    if len(formats) > 1:
        raise ValueError(f"{step.name}: expected boxes of one format, but got {' and '.join(formats)}")


def _check_rows(step: MixPass, states: Sequence[State]) -> None:
    """Refuse boxes of some images to have rows that those of others lack."""
    keys = dict.fromkeys(key for state in states for key in state.original if state.is_per_box(key))
    for key in keys:
        for state in states:
            if not state.is_per_box(key):
                raise ValueError(
                    f"{step.name}: expected {key}, one per box, as other images have, "
                    f"but image {state.index} has none"
                )


def _shifted(by: Array, sizes: Array) -> Motion:
    """A shift whose output pixel (0, 0) reads position `by`, `[N, 2]`."""
    return Motion(shifts(by[:, 0], by[:, 1], len(by)), sizes, "constant")


def _together(
    base: State, tiles: Sequence[State], quarters: Array, rest: dict[str, Any] | None = None
) -> State:
    """Combine the targets of tiles, and the rest, into those of one image; the last tile is on top."""
    laid = list(zip(tiles, map(_following, tiles), quarters.tolist(), strict=True))
    parts = [part for _, part, _ in laid]
    keys = dict.fromkeys(key for part in parts for key in part if key != "mask")
    joined = {key: joined_rows([part[key] for part in parts if key in part]) for key in keys}
    target = {**(rest or {}), **joined}
    for _, part, (left, top, right, bottom) in laid:
        if "mask" in part:
            mask = target.setdefault("mask", part["mask"])
            mask[..., top:bottom, left:right] = part["mask"][..., top:bottom, left:right]
    result = State(base.index, target, base.options, tiles[0].size)
    result.is_clipped = True
    if "boxes" in keys:
        result.go_on_from(*(tile for tile, _, _ in laid))
    result.dropped_before = base.dropped + sum(tile.dropped for tile in tiles)
    return result


def _following(tile: State) -> dict[str, Any]:
    return {key: value for key, value in tile.written().items() if tile.follows(key)}
