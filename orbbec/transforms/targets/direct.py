"""Targets of images that one operator ran: they follow its draws, without a plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from orbbec._library import operators
from orbbec.bridge.arguments import Array, as_tensor
from orbbec.bridge.fakes import register_fake
from orbbec.plan.parameters import Batch
from orbbec.plan.passes import AugmentPass, OperatorPass, Pass
from orbbec.plan.program import Program
from orbbec.transforms.base.tv_tensors import plain_target, target_like
from orbbec.transforms.targets.formats import box_table, join_tables
from orbbec.transforms.targets.masks import Mask, moved_masks
from orbbec.transforms.targets.motion import Motion, mask_border
from orbbec.transforms.targets.numbers import numbers_like, target_numbers
from orbbec.transforms.targets.options import ROTATED, TargetOptions
from orbbec.transforms.targets.per_box import chosen_rows, row_count
from orbbec.transforms.targets.state import MASK_KEYS, POINT_KEYS, area_scale, covered, scaled_area, with_size
from orbbec.transforms.targets.targets import TargetReport, Targets

_ARRAYS = (Tensor, np.ndarray)
_READING = 15  # numbers of a row: matrix; left, top, right, bottom; height, width


class _Entries(NamedTuple):
    """A target, and the names of its entries that follow the image; `per_box` may repeat masks and points."""

    target: dict[str, Any]
    per_box: list[str]
    layers: list[str]  # masks and depth
    points: list[str]


def follow_program(
    program: Program, batch: Batch, targets: Sequence[Any], options: TargetOptions
) -> Targets | None:
    """Move targets as `transform_targets` does with a plan.

    Args:
        program: the pipeline, compiled for the images.
        batch: what its draws depend on.
        targets: one dict per image.
        options: formats and thresholds.

    Returns:
        New dicts and their report. None if they need a plan: some have polygons, flow, normals, depth that is
        scaled, run lengths, rotated boxes, or something to refuse.

    Raises:
        TypeError: boxes, points or areas are no numbers.
        ValueError: boxes are invalid or not finite; names the image.
    """
    if not program.runs_one or len(targets) != len(batch.sizes):
        return None
    every: list[_Entries] = []
    formats: set[str] = set()
    for index, size in enumerate(map(tuple, batch.sizes.tolist())):
        target, chosen = plain_target(index, targets[index], options, size)
        entries = _entries_of(target, chosen, size, program)
        if entries is None:
            return None
        every.append(entries)
        formats.add(chosen.box_format)
    if len(formats) != 1 or not formats.isdisjoint(ROTATED):
        return None
    return _followed(program, batch, every, targets, options, *formats)


def _followed(
    program: Program,
    batch: Batch,
    every: Sequence[_Entries],
    targets: Sequence[Any],
    options: TargetOptions,
    box_format: str,
) -> Targets:
    """The targets after all passes."""
    tables = [box_table(index, entries.target, box_format) for index, entries in enumerate(every)]
    points = [
        _Points(index, key, target_numbers(entries.target[key], key, index), key in entries.per_box)
        for index, entries in enumerate(every)
        for key in entries.points
    ]
    boxes, positions, numbers = join_tables(tables), *_join_points(points, len(every))
    samples = np.empty((len(every), 5), np.int64)  # id, height, width, boxes, points
    samples[:, 0], samples[:, 1:3] = batch.sample_ids, batch.sizes
    samples[:, 3], samples[:, 4] = list(map(len, tables)), numbers
    changes = np.empty((len(boxes), 2))  # factor of the visible area; 0 for a dropped box
    readings = np.empty((len(program.warps), len(every), _READING))
    arrays = samples, boxes, changes, positions, readings
    key = batch.seed, batch.epoch, batch.frames
    _draw_targets(program.code, *map(torch.from_numpy, arrays), box_format, *key, options.limits)
    results = Targets([dict(entries.target) for entries in every])
    _move_points(results, points, positions, options.drop_keypoints)
    _move_layers(results, every, program, readings, options)
    dropped, before, after = [], 0, 0
    for index, (_, height, width, left, _) in enumerate(samples.tolist()):
        result, target, count = results[index], every[index].target, len(tables[index])
        rows, change = boxes[after : after + left], changes[before : before + count]
        _move_rows(result, every[index], rows, change, index)
        if "size" in target:
            results[index] = with_size(result, (height, width))
        if target is not targets[index]:  # tv_tensors and PIL images
            results[index] = target_like(results[index], targets[index], (height, width))
        before, after = before + count, after + left
        dropped.append(count - left)
    results.report = TargetReport(len(boxes), tuple(dropped))
    return results


def _move_rows(result: dict[str, Any], entries: _Entries, boxes: Array, changes: Array, index: int) -> None:
    """Set the boxes that are left, and the rows of entries that follow them."""
    target = entries.target
    if "boxes" in target:
        result["boxes"] = numbers_like(boxes, target["boxes"], f"boxes of image {index}")
    if "area" in entries.per_box:
        result["area"] = _area(result, entries, changes[:, 0], index)
    chosen = None if len(boxes) == len(changes) else changes[:, 1] != 0
    for name in entries.per_box:
        result[name] = chosen_rows(result[name], chosen, result[name] is target[name])


class _Points(NamedTuple):
    """The points of an entry: float64 `[..., 2]` or `[..., 3]`."""

    image: int
    key: str
    table: Array
    is_per_box: bool

    @property
    def number(self) -> int:
        return int(self.table.size) // int(self.table.shape[-1])


def _join_points(points: Sequence[_Points], images: int) -> tuple[Array, list[int]]:
    """The points of all images, float64 `[P, 3]` with x and y, and their numbers in each."""
    counts = [0] * images
    for each in points:
        counts[each.image] += each.number
    joined = np.empty((sum(counts), 3))
    if points:
        joined[:, :2] = np.concatenate([each.table[..., :2].reshape(-1, 2) for each in points])
    return joined, counts


def _reads_as_images(step: Pass) -> bool:
    """Whether masks take the operator of the images, which reads the nearest pixels by a rule of its own."""
    return isinstance(step, OperatorPass) and step.options.get("interpolation") == "nearest"


def _entries_of(
    target: dict[str, Any], options: TargetOptions, size: tuple[int, int], program: Program
) -> _Entries | None:
    """What follows, if no plan is needed."""
    entries = _Entries(target, [], [], [])
    boxes = target.get("boxes")
    if type(boxes) not in _ARRAYS and "boxes" in target:
        return None
    count = row_count(boxes)
    for key, value in target.items():
        if key == "polygons" or (key in options.kinds and not _stays(key, options)):
            return None
        is_per_box = key in options.rows
        if key in MASK_KEYS or key in options.kinds:
            if not (type(value) in _ARRAYS and tuple(value.shape[-2:]) == size):
                return None
            if any(map(_reads_as_images, program.warps)):
                return None
            entries.layers.append(key)
        elif key in POINT_KEYS:
            if options.keypoint_pairs or type(value) not in _ARRAYS:
                return None
            if value.ndim not in (2, 3) or value.shape[-1] not in (2, 3):
                return None
            entries.points.append(key)
            is_per_box = is_per_box or value.ndim == 3
        if is_per_box and boxes is not None and value is not None:
            if row_count(value) != count:
                return None
            entries.per_box.append(key)
    return entries


def _stays(key: str, options: TargetOptions) -> bool:
    """Whether the values of an entry are read at other pixels, and stay what they are."""
    return options.kind_of(key) == "depth" and not options.depth_scale


def _move_points(results: Targets, points: Sequence[_Points], positions: Array, drops: bool) -> None:
    begin = 0
    for each in points:
        target, table, end = results[each.image], each.table, begin + each.number
        rows, begin = positions[begin:end], end
        is_inside = rows[:, 2].reshape(table.shape[:-1]) != 0
        after = table.copy()
        after[..., :2] = rows[:, :2].reshape(*table.shape[:-1], 2)
        if table.shape[-1] > 2:
            after[..., 2] = np.where(is_inside, table[..., 2], 0)
        if drops and table.ndim == 2 and not each.is_per_box:
            after = after[is_inside]
        target[each.key] = numbers_like(after, target[each.key], f"{each.key} of image {each.image}")


def _move_layers(
    results: Targets,
    every: Sequence[_Entries],
    program: Program,
    readings: Array,
    options: TargetOptions,
) -> None:
    by_fill: dict[float, list[tuple[int, str]]] = {}
    for index, entries in enumerate(every):
        for key in entries.layers:
            fill = options.depth_fill if key in options.kinds else options.mask_fill
            by_fill.setdefault(fill, []).append((index, key))
    for fill, keys in by_fill.items():
        values = [results[index][key] for index, key in keys]
        if program.warps:
            values = [as_tensor("transform_targets", key, results[index][key]) for index, key in keys]
        for step, rows in zip(program.warps, readings, strict=True):
            masks = [Mask(index, value) for (index, _), value in zip(keys, values, strict=True)]
            values = moved_masks(_motion_of(step, rows), masks, fill)
        for (index, key), value in zip(keys, values, strict=True):
            results[index][key] = numbers_like(value, results[index][key], f"{key} of image {index}")


def _motion_of(step: Pass, rows: Array) -> Motion:
    """How masks move in a pass, by the rows of `draw_targets`."""
    matrix, whole = rows[:, :9].reshape(-1, 3, 3), rows[:, 9:].astype(np.int64)
    has_region = isinstance(step, AugmentPass) and step.region_block.rows > 0
    return Motion(matrix, whole[:, 4:], mask_border(step), seen=whole[:, :4] if has_region else None)


def _area(result: dict[str, Any], entries: _Entries, scale: Array, index: int) -> Any:
    target = entries.target
    if "masks" in entries.layers:
        scale = area_scale(covered(target["masks"]), covered(result["masks"]), scale)
    return scaled_area(target["area"], scale, index)


_draw_targets: Callable[..., None] = operators.draw_targets


@register_fake("draw_targets", samples=2, boxes=2, changes=2, points=2, readings=3)
def _(*_: object) -> None:
    return None
