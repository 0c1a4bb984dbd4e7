"""Combines the targets of mixed images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec.bridge.arguments import Array, tensor_of
from orbbec.bridge.spec import Tiles
from orbbec.plan.passes import MixPass
from orbbec.plan.points import shifts
from orbbec.transforms.targets.motion import Motion
from orbbec.transforms.targets.per_box import joined_rows
from orbbec.transforms.targets.state import MASK_KEYS, POINT_KEYS, State, move_all


def mixed(step: MixPass, states: Sequence[State], mask_fill: float) -> list[State]:
    """The targets of mixed images.

    Args:
        step: the pass that mixes the images.
        states: the targets before the pass.
        mask_fill: value of masks where there is no image.

    Raises:
        ValueError: boxes cannot follow or have several formats; a label is missing or out of range.
    """
    if step.spec.tiles is not None:
        sizes = np.array([state.size for state in states], np.int64).reshape(-1, 2)
        return _laid(step, step.spec.tiles(step.table, sizes, step.sizes), states, mask_fill)
    targets = [state.written() for state in states]
    results = []
    for n, (own, other) in enumerate(zip(targets, step.table["pair_indices"].tolist(), strict=True)):
        if "boxes" in own:
            raise ValueError(f"{step.name}: boxes do not follow; leave them out of the target of image {n}")
        result, weight = dict(own), float(step.table["weights"][n])
        if "label" in own:
            first, second = (_class_weights(step, targets[m], m) for m in (n, other))
            result["label"] = weight * first + (1 - weight) * second
        results.append(State(n, result, states[n].options, states[n].size))
    return results


def _class_weights(step: MixPass, target: dict[str, Any], index: int) -> Tensor:
    """The label of an image as a vector of class weights."""
    num_classes = step.options["num_classes"]
    if "label" not in target:
        raise ValueError(f"{step.name}: expected label in the target of image {index}, but got none")
    given = tensor_of(target["label"])
    if given.dim() == 1 and given.is_floating_point():
        return given
    if num_classes is None or given.dim() != 0:
        raise ValueError(
            f"{step.name}: expected label as a number, and num_classes, or as a vector, for image {index}"
        )
    if not 0 <= int(given) < num_classes:
        raise ValueError(
            f"{step.name}: expected label from 0 to {num_classes - 1}, but image {index} has {int(given)}"
        )
    return torch.nn.functional.one_hot(given.long(), num_classes).float()


def _laid(step: MixPass, tiles: Tiles, states: Sequence[State], mask_fill: float) -> list[State]:
    """The targets of outputs made of tiles, clipped to each tile and padded to the canvas."""
    formats = sorted({state.options.box_format for state in states if "boxes" in state.given})
    if len(formats) > 1:
        raise ValueError(f"{step.name}: expected boxes of one format, but got {' and '.join(formats)}")
    _check_rows(step, [state for state in states if state.count])
    laid: list[State] = []
    for other in tiles.pair_indices.tolist():
        source = states[other]
        laid.append(State(len(laid), source.written(), source.options, source.size))
        laid[-1].go_on_from(source)
    corners, count = tiles.boxes[:, :2], len(tiles.boxes) // max(len(states), 1)
    insides = (tiles.boxes[:, 2:] - corners)[:, ::-1]
    cut = _shifted(corners - tiles.offsets, insides)
    padded = _shifted(-corners, np.repeat(step.sizes, count, axis=0))
    for each in (cut, padded):
        move_all(each, laid, mask_fill)
    own = [slice(count * n, count * (n + 1)) for n in range(len(states))]
    return [_together(states[n], laid[rows], tiles.boxes[rows]) for n, rows in enumerate(own)]


def _check_rows(step: MixPass, states: Sequence[State]) -> None:
    """Refuse boxes of some images to have rows that those of others lack."""
    keys = dict.fromkeys(key for state in states for key in state.given if state.is_per_box(key))
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


def _together(own: State, tiles: Sequence[State], quarters: Array) -> State:
    """Combine the targets of four tiles into those of one image; tiles without targets are ignored."""
    laid = list(zip(tiles, map(_following, tiles), quarters.tolist(), strict=True))
    parts = [part for _, part, _ in laid]
    keys = dict.fromkeys(key for part in parts for key in part if key != "mask")
    target = {key: joined_rows([part[key] for part in parts if key in part]) for key in keys}
    for _, part, (left, top, right, bottom) in laid:
        if "mask" in part:
            mask = target.setdefault("mask", part["mask"])
            mask[..., top:bottom, left:right] = part["mask"][..., top:bottom, left:right]
    result = State(own.index, target, own.options, tiles[0].size)
    result.is_clipped = True
    if "boxes" in keys:
        result.go_on_from(*(tile for tile, _, _ in laid))
    result.dropped_before = own.dropped + sum(tile.dropped for tile in tiles)
    return result


def _following(tile: State) -> dict[str, Any]:
    """The targets that move with an image: entries with a row per box, masks, points and polygons."""
    known = ("boxes", "polygons", *MASK_KEYS, *POINT_KEYS)
    return {key: value for key, value in tile.written().items() if key in known or tile.is_per_box(key)}
