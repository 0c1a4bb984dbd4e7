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
from orbbec.transforms.targets.boxes import Boxes
from orbbec.transforms.targets.formats import box_table, joined_edges, kind_of, parts_of, written_rows
from orbbec.transforms.targets.masks import Mask, moved_masks
from orbbec.transforms.targets.motion import Motion, mask_border
from orbbec.transforms.targets.numbers import numbers_like, target_numbers
from orbbec.transforms.targets.options import TargetOptions
from orbbec.transforms.targets.per_box import chosen_rows, row_count
from orbbec.transforms.targets.state import MASK_KEYS, POINT_KEYS, area_scale, covered, scaled_area, with_size
from orbbec.transforms.targets.targets import TargetReport, Targets

_ARRAYS = (Tensor, np.ndarray)
_READING = 15  # numbers of a row: matrix; left, top, right, bottom; height, width


class _Entries(NamedTuple):
    """The names of the entries of a target that follow its image; `per_box` may repeat masks and points."""

    has_boxes: bool
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
    sizes: list[Any] = list(map(tuple, batch.sizes.tolist()))
    takes_masks = not any(map(_reads_as_images, program.warps))
    plain: list[dict[str, Any]] = []
    entries: list[_Entries] = []
    formats: dict[str, TargetOptions] = {}
    for index, size in enumerate(sizes):
        target, chosen = plain_target(index, targets[index], options, size)
        each = _entries_of(target, chosen, size, takes_masks)
        if each is None:
            return None
        plain.append(target)
        entries.append(each)
        formats[chosen.box_format] = chosen
    if len(formats) != 1 or kind_of(*formats) is not Boxes:
        return None
    results, after = _followed(program, batch, plain, entries, *formats.values())
    for index, size in enumerate(map(tuple, after.tolist())):
        if "size" in plain[index]:
            results[index] = with_size(results[index], size)
        if plain[index] is not targets[index]:  # tv_tensors and PIL images
            results[index] = target_like(results[index], targets[index], size)
    return results


def _followed(
    program: Program,
    batch: Batch,
    targets: Sequence[dict[str, Any]],
    entries: Sequence[_Entries],
    options: TargetOptions,
) -> tuple[Targets, Array]:
    """The targets, and the sizes of the results."""
    images, sizes = range(len(targets)), batch.sizes.copy()
    tables = [box_table(index, targets[index], options.box_format) for index in images]
    counts = list(map(len, tables))
    edges = joined_edges(tables, counts, images, options.box_format, sizes)
    points = [
        _Points(index, key, target_numbers(targets[index][key], key, index), key in each.per_box)
        for index, each in enumerate(entries)
        for key in each.points
    ]
    rows, positions, readings = _draw(program, batch, sizes, (edges, counts), points, options.limits)
    boxes = Boxes(rows)
    results = Targets([dict(target) for target in targets])
    _move_points(results, points, positions, options.drop_keypoints)
    _move_layers(results, entries, program, readings, options)
    _change_areas(results, targets, entries, boxes, counts)
    keep = parts_of(boxes.keep, counts)
    written = written_rows(boxes, keep, images, options.box_format, sizes)
    for index, (result, each) in enumerate(zip(results, entries, strict=True)):
        target = targets[index]
        if each.has_boxes:
            result["boxes"] = numbers_like(written[index], target["boxes"], f"boxes of image {index}")
        for key in each.per_box:
            result[key] = chosen_rows(result[key], keep[index], result[key] is target[key])
    dropped = [count - len(some) for count, some in zip(counts, written, strict=True)]
    results.report = TargetReport(sum(counts), tuple(dropped))
    return results, sizes


class _Points(NamedTuple):
    """The points of an entry: float64 `[..., 2]` or `[..., 3]`."""

    image: int
    key: str
    table: Array
    is_per_box: bool

    @property
    def number(self) -> int:
        return int(self.table.size) // int(self.table.shape[-1])


def _reads_as_images(step: Pass) -> bool:
    """Whether masks take the operator of the images, which reads the nearest pixels by a rule of its own."""
    return isinstance(step, OperatorPass) and step.options.get("interpolation") == "nearest"


def _entries_of(
    target: dict[str, Any], options: TargetOptions, size: tuple[int, int], takes_masks: bool
) -> _Entries | None:
    """What follows, if no plan is needed."""
    entries = _Entries("boxes" in target, [], [], [])
    if entries.has_boxes and type(target["boxes"]) not in _ARRAYS:
        return None
    count = row_count(target["boxes"]) if entries.has_boxes else None
    for key, value in target.items():
        if key == "polygons" or (key in options.kinds and not _stays(key, options)):
            return None
        is_per_box = key in options.rows
        if key in MASK_KEYS or key in options.kinds:
            if not (takes_masks and type(value) in _ARRAYS and tuple(value.shape[-2:]) == size):
                return None
            entries.layers.append(key)
        elif key in POINT_KEYS:
            if options.keypoint_pairs or type(value) not in _ARRAYS:
                return None
            if value.ndim not in (2, 3) or value.shape[-1] not in (2, 3):
                return None
            entries.points.append(key)
            is_per_box = is_per_box or value.ndim == 3
        if entries.has_boxes and is_per_box and value is not None:
            if row_count(value) != count:
                return None
            entries.per_box.append(key)
    return entries


def _stays(key: str, options: TargetOptions) -> bool:
    """Whether the values of an entry are read at other pixels, and stay what they are."""
    return options.kind_of(key) == "depth" and not options.depth_scale


def _draw(
    program: Program,
    batch: Batch,
    sizes: Array,
    boxes: tuple[Array, Sequence[int]],
    points: Sequence[_Points],
    limits: Sequence[float],
) -> Sequence[Array]:
    """Boxes and points after all passes, and how masks read each; `sizes` become those of the results."""
    counts = [0] * len(sizes)
    for each in points:
        counts[each.image] += each.number
    positions = [each.table[..., :2].reshape(-1, 2) for each in points]
    joined = np.concatenate(positions) if positions else np.empty((0, 2))
    arrays = (sizes, batch.sample_ids, np.ascontiguousarray(boxes[0]), joined)
    size_table, ids, edges, at = map(torch.from_numpy, arrays)
    some = edges, boxes[1], at, counts
    key = batch.seed, batch.epoch, batch.frames
    results = _draw_targets(program.code, len(program.warps), size_table, ids, *some, *key, limits)
    return [result.numpy() for result in results]


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
    entries: Sequence[_Entries],
    program: Program,
    readings: Array,
    options: TargetOptions,
) -> None:
    by_fill: dict[float, list[tuple[int, str]]] = {}
    for index, each in enumerate(entries):
        for key in each.layers:
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


def _change_areas(
    results: Targets,
    targets: Sequence[dict[str, Any]],
    entries: Sequence[_Entries],
    boxes: Boxes,
    counts: Sequence[int],
) -> None:
    images = [index for index, each in enumerate(entries) if "area" in each.per_box]
    scales = parts_of(boxes.scale, counts) if images else []
    for index in images:
        target, result = targets[index], results[index]
        scale = scales[index]
        if "masks" in entries[index].layers:
            scale = area_scale(covered(target["masks"]), covered(result["masks"]), scale)
        result["area"] = scaled_area(target["area"], scale, index)


_draw_targets: Callable[..., tuple[Tensor, Tensor, Tensor]] = operators.draw_targets


@register_fake("draw_targets", sizes=2, boxes=2, points=2)
def _(
    code: Tensor,
    warps: int,
    sizes: Tensor,
    sample_ids: Tensor,
    boxes: Tensor,
    box_counts: list[int],
    points: Tensor,
    *_: object,
) -> tuple[Tensor, Tensor, Tensor]:
    readings = warps, len(sizes), _READING
    return boxes.new_empty((len(boxes), 7)), boxes.new_empty((len(points), 3)), boxes.new_empty(readings)
