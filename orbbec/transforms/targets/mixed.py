"""Combines the targets of mixed images."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec.bridge.arguments import Array, copied_to, tensor_of
from orbbec.bridge.spec import Tiles
from orbbec.plan.passes import MixPass, NoiseKey
from orbbec.plan.points import shifts
from orbbec.transforms.targets.boxes import Boxes
from orbbec.transforms.targets.motion import Motion
from orbbec.transforms.targets.pasted import check_objects, choose_objects, paste
from orbbec.transforms.targets.per_box import chosen_rows, example_of, joined_rows
from orbbec.transforms.targets.state import State, move_all, move_entries


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
    pastes = "masks" in step.arguments and bool(states)
    if pastes:
        check_objects(step, states)
    _check_formats(step, states)
    _check_rows(step, [state for state in states if state.count])
    if step.spec.tiles is not None:
        return _laid(step, step.spec.tiles(step.table, sizes, step.sizes), states, mask_fill)
    if pastes:
        return _pasted(step, states, key)
    has_rows = any(state.spatial for state in states)
    copies = [state.copy(n) for n, state in enumerate(_owners(step, states))]
    results = _paired(step, states, copies, sizes) if has_rows else copies
    _mix_labels(step, states, results)
    return results


def blend_labels(step: MixPass, labels: Tensor) -> Tensor:
    """The labels of a batch, as weights of classes, blended as a pass mixes the images.

    Args:
        step: the pass.
        labels: whole numbers `[N]`, or floats `[N, C]`.

    Raises:
        ValueError: labels are neither, or out of range; names the image. On CUDA, where the host would have
            to wait to see it, torch reports a label out of range.
    """
    count = len(step.table["pair_indices"])
    vectors = _class_weights(step, labels, range(len(labels)))
    return _blended(step, vectors, np.arange(count), step.table["pair_indices"], np.arange(count))


def _mix_labels(step: MixPass, states: Sequence[State], results: Sequence[State]) -> None:
    """Blend the entries "label" of targets."""
    named = [n for n, state in enumerate(_owners(step, states)) if "label" in state.values]
    if not named:
        return
    pairs = step.table["pair_indices"][named]
    needed = np.union1d(named, pairs)
    for m in needed.tolist():
        if "label" not in states[m].values:
            raise ValueError(f"{step.name}: expected label in the target of image {m}, but got none")
    labels = [_label_of(step, states[m]) for m in needed.tolist()]
    if all(label.dim() == 0 for label in labels):
        vectors = _class_weights(step, torch.stack(labels), needed.tolist())
    else:
        each = zip(labels, needed.tolist(), strict=True)
        vectors = torch.cat([_class_weights(step, label[None], [m]) for label, m in each])
    one, other = (np.searchsorted(needed, some) for some in (named, pairs))
    for n, label in zip(named, _blended(step, vectors, one, other, np.array(named)), strict=True):
        results[n].values["label"] = label


def _label_of(step: MixPass, state: State) -> Tensor:
    label = state.values["label"]
    try:
        return tensor_of(label)
    except (RuntimeError, TypeError, ValueError):
        raise TypeError(
            f"{step.name}: expected label as a number or a vector, but image {state.index} has {label!r:.60}"
        ) from None


def _blended(step: MixPass, vectors: Tensor, one: Array, other: Array, images: Array) -> Tensor:
    """The weighted sums of two rows of `vectors` for each of some images."""
    device = vectors.device
    weights = torch.from_numpy(np.float64(step.table["weights"][images]))[:, None]
    rows = [vectors[copied_to(device, torch.from_numpy(some))] for some in (one, other)]
    factors = [copied_to(device, each.to(vectors.dtype)) for each in (weights, 1 - weights)]
    return factors[0] * rows[0] + factors[1] * rows[1]


def _owners(step: MixPass, states: Sequence[State]) -> Sequence[State]:
    """The targets of images that have a result, without those of pair images from the source."""
    return states[: len(step.table["pair_indices"])]


def _paired(step: MixPass, states: Sequence[State], copies: Sequence[State], sizes: Array) -> list[State]:
    """The targets of pairs of images: of both, or of the rectangle that the other image covers."""
    pairs = step.table["pair_indices"].tolist()
    sizes, paired = sizes[: len(pairs)], sizes[pairs]
    common = np.minimum(sizes, paired)[:, ::-1]
    rectangles = step.table.get("boxes")
    if rectangles is None:
        regions = np.concatenate([np.zeros_like(common), common], 1)
    else:
        regions = rectangles.clip(0, np.tile(common, 2))
    others = [states[m].copy(n) for n, m in enumerate(pairs)]
    move_all(_placed(regions, regions[:, :2], sizes), others, 0.0)
    results = []
    for n, (one, other) in enumerate(zip(copies, others, strict=True)):
        if pairs[n] == n:
            one.dropped_before = states[n].dropped
            results.append(one)
            continue
        _check_pair(step, (states[n], states[pairs[n]]), rectangles is None)
        one.clip()
        if rectangles is not None:
            one.hide(regions[n])
        boxes = [[0, 0, *sizes[n, ::-1].tolist()], regions[n].tolist()]
        results.append(_together(states[n], (one, other), _joined_boxes((one, other)), boxes, _rest(one)))
    return results


def _pasted(step: MixPass, states: Sequence[State], key: NoiseKey) -> list[State]:
    """The targets of images on which objects of others are pasted."""
    pairs = step.table["pair_indices"].tolist()
    copies = [state.copy(n) for n, state in enumerate(_owners(step, states))]
    others = [states[m].copy(n) for n, m in enumerate(pairs)]
    for each in (*copies, *others):
        each.clip()
    choose_objects(step, states, others, key)
    whole = [[0, 0, *states[0].size[::-1]]] * 2
    for n, (one, other) in enumerate(zip(copies, others, strict=True)):
        dropped = states[n].dropped
        if pairs[n] != n:
            paste(one, other, step.table["masks"][n])
            dropped += one.dropped
            copies[n] = _together(states[n], (one, other), _joined_boxes((one, other)), whole, _rest(one))
        copies[n].dropped_before = dropped
    return copies


def _rest(state: State) -> dict[str, Any]:
    """What does not move with the image."""
    return {key: value for key, value in state.values.items() if key not in state.spatial}


def _check_pair(step: MixPass, pair: Sequence[State], is_blend: bool) -> None:
    """Refuse targets that a mix cannot give a meaning."""
    for state in pair:
        for key in filter(state.is_layer if is_blend else "polygons".__eq__, state.original):
            hint = "polygons cannot be cut; use masks"
            if is_blend:
                hint = f"{state.options.kind_of(key) or 'a mask of classes'} cannot be blended"
            raise ValueError(f"{step.name}: {hint}; leave {key} out of the target of image {state.index}")


def _class_weights(step: MixPass, labels: Tensor, images: Sequence[int]) -> Tensor:
    """Labels as vectors of class weights."""
    num_classes = step.options["num_classes"]
    if labels.dim() == 2 and labels.is_floating_point():
        return labels
    if num_classes is None or labels.dim() != 1:
        raise ValueError(
            f"{step.name}: expected label as a number, and num_classes, or as a vector, for image {images[0]}"
        )
    if labels.is_cpu:
        outside = ~((labels >= 0) & (labels < num_classes) & (labels == labels.long()))
        if outside.any():
            row = int(outside.int().argmax())
            raise ValueError(
                f"{step.name}: expected label from 0 to {num_classes - 1}, but image {images[row]} has "
                f"{labels[row].item()}"
            )
    return torch.nn.functional.one_hot(labels.long(), num_classes).float()


def _laid(step: MixPass, tiles: Tiles, states: Sequence[State], mask_fill: float) -> list[State]:
    """The targets of outputs made of tiles, clipped to each tile and padded to the canvas."""
    outputs = len(step.sizes)
    count = len(tiles.boxes) // max(outputs, 1)
    there = np.flatnonzero(tiles.pair_indices >= 0)  # an output of one image has no others
    regions, images, output = tiles.boxes[there], tiles.pair_indices[there], there // count
    motion = _placed(regions - np.tile(tiles.offsets[there], 2), regions[:, :2], step.sizes[output])
    sources = [state.copy(n) if state.is_changed else state for n, state in enumerate(states)]
    boxes, ends = _laid_boxes(motion, sources, images)
    laid = [sources[image] for image in images.tolist()]
    with_geometry = [k for k, state in enumerate(laid) if state.geometry]
    for k in with_geometry:
        laid[k] = laid[k].at(k)
        laid[k].boxes = boxes.rows(slice(ends[k], ends[k + 1]))
    move_entries(motion, [laid[k] for k in with_geometry], [None] * len(with_geometry), mask_fill)
    starts = np.searchsorted(output, np.arange(outputs + 1)).tolist()
    results = []
    for n, (begin, end) in enumerate(pairwise(starts)):
        some = boxes.rows(slice(ends[begin], ends[end]))
        results.append(_together(states[n], laid[begin:end], some, regions[begin:end].tolist()))
        results[n].size = motion.size(begin)
    return results


def _laid_boxes(motion: Motion, states: Sequence[State], images: Array) -> tuple[Boxes, list[int]]:
    """The boxes of tiles, one tile after the other, and where those of each begin; `images` of the tiles."""
    counts = np.array([state.count for state in states], np.int64)
    begins, numbers = np.cumsum(counts) - counts, counts[images]
    ends = np.cumsum(numbers)
    tile_of_box = np.arange(len(images)).repeat(numbers)
    rows = np.arange(len(tile_of_box)) + (begins[images] - ends + numbers)[tile_of_box]
    boxes = _joined_boxes(states).rows(rows)
    if len(boxes):
        options = next(state.options for state in states if state.count)
        boxes = boxes.through_pass(tile_of_box, motion.matrix, motion.sizes, motion.regions, options)
    return boxes, [0, *ends.tolist()]


def _joined_boxes(states: Sequence[State]) -> Boxes:
    boxes = [state.boxes for state in states if "boxes" in state.original]
    return type(boxes[0]).joined(boxes) if boxes else Boxes.of(np.zeros((0, 4)))


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


def _placed(regions: Array, corners: Array, sizes: Array) -> Motion:
    """How regions of images, left, top, right, bottom, move to corners (x, y) of outputs of `sizes`."""
    matrix = shifts(-corners[:, 0], -corners[:, 1], len(corners))
    return Motion(matrix, sizes, "constant", regions, seen=regions)


def _together(
    base: State,
    tiles: Sequence[State],
    boxes: Boxes,
    regions: Sequence[Any],
    rest: dict[str, Any] | None = None,
) -> State:
    """Combine the targets of tiles, and the rest, into those of one image; the last tile is on top.

    Args:
        base: the targets of the image before.
        tiles: those of the tiles.
        boxes: the boxes of all tiles, also the dropped ones.
        regions: left, top, right, bottom of each tile.
        rest: further entries.
    """
    target = dict(rest or {})
    written = [tile.written() if tile.geometry else tile.values for tile in tiles]
    for key in dict.fromkeys(key for tile in tiles for key in tile.spatial):
        if base.is_layer(key):
            continue
        is_geometry = any(key in tile.geometry for tile in tiles)
        values = [
            (entries if is_geometry else tile.values)[key]
            for tile, entries in zip(tiles, written, strict=True)
            if key in tile.spatial
        ]
        with _join_errors(key, base.index):
            rows = example_of(values) if key == "boxes" else joined_rows(values)
        target[key] = rows if is_geometry or key == "boxes" else chosen_rows(rows, boxes.mask, False)
    for tile, entries, region in zip(tiles, written, regions, strict=True):
        for key in filter(base.is_layer, tile.geometry):
            layer = target[key] if key in target else copy.deepcopy(entries[key])
            with _join_errors(key, base.index):
                target[key] = _overlay(layer, entries[key], region)
    result = State(base.index, target, base.options, tiles[0].size, boxes.without_dropped())
    result.is_clipped = True
    result.dropped_before = base.dropped + boxes.dropped
    return result


@contextmanager
def _join_errors(key: str, index: int) -> Iterator[None]:
    """Errors of torch and NumPy name the entry and the image."""
    try:
        yield
    except (RuntimeError, TypeError, ValueError) as error:
        raise ValueError(
            f"transform_targets: expected {key} that can be joined in a mix, but those of image {index} and "
            f"others differ: {error}"
        ) from error


def _overlay(layer: Any, values: Any, region: Sequence[int]) -> Any:
    """A layer with a region (left, top, right, bottom) of another, in a dtype that holds both."""
    left, top, right, bottom = region
    if isinstance(layer, Tensor):
        values = torch.as_tensor(values, device=layer.device)
        layer = layer.to(torch.promote_types(layer.dtype, values.dtype))
    else:
        values = np.asarray(values)
        layer = layer.astype(np.promote_types(layer.dtype, values.dtype), copy=False)
    layer[..., top:bottom, left:right] = values[..., top:bottom, left:right]
    return layer
