"""Targets that are boxes, without masks or points: they follow the matrices of a batch all at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec._library import operators
from orbbec.bridge.fakes import register_fake
from orbbec.plan.parameters import Batch
from orbbec.plan.program import Program
from orbbec.transforms.base.tv_tensors import plain
from orbbec.transforms.targets.boxes import Boxes
from orbbec.transforms.targets.formats import box_table, joined_edges, kind_of, parts_of, written_rows
from orbbec.transforms.targets.numbers import numbers_like
from orbbec.transforms.targets.options import TargetOptions
from orbbec.transforms.targets.per_box import PER_BOX_KEYS, chosen_rows, row_count
from orbbec.transforms.targets.state import MASK_KEYS, POINT_KEYS
from orbbec.transforms.targets.targets import TargetReport, Targets

_OTHERS = {*MASK_KEYS, *POINT_KEYS, "polygons", "area", "size"}  # these follow a plan
_SINGLE = (Tensor, np.ndarray, int, float, str, bool, type(None))


def are_boxes_alone(targets: Sequence[Any], options: TargetOptions) -> bool:
    """Whether targets are upright boxes, what belongs to them, and else only what belongs to images."""
    if kind_of(options.box_format) is not Boxes:
        return False
    return all(_has_boxes_alone(target, options) for target in targets)


def follow_program(
    program: Program, batch: Batch, targets: Sequence[dict[str, Any]], options: TargetOptions
) -> Targets:
    """Move boxes alone, and what belongs to them, as `transform_targets` does with a plan.

    Args:
        program: the pipeline, compiled for the images; `run` serves it.
        batch: what its draws depend on.
        targets: one dict per image.
        options: formats and thresholds.

    Returns:
        New dicts and their report.

    Raises:
        TypeError: boxes are no numbers.
        ValueError: boxes are invalid or not finite; names the image.
    """
    box_format = options.box_format
    images = range(len(targets))
    tables = [box_table(index, targets[index], box_format) for index in images]
    counts = list(map(len, tables))
    edges = np.ascontiguousarray(joined_edges(tables, counts, images, box_format, batch.sizes))
    sizes = batch.sizes.copy()
    arrays = map(torch.from_numpy, (sizes, batch.sample_ids, edges))
    key = batch.seed, batch.epoch, batch.frames
    boxes = Boxes(_draw_boxes(program.code, program.geometry, *arrays, counts, *key, options.limits).numpy())
    keep = parts_of(boxes.keep, counts)
    rows = written_rows(boxes, keep, images, box_format, sizes)
    results = Targets(
        [_with_boxes(index, targets[index], rows[index], keep[index], options) for index in images]
    )
    dropped = [count - len(some) for count, some in zip(counts, rows, strict=True)]
    results.report = TargetReport(sum(counts), tuple(dropped))
    return results


def _has_boxes_alone(target: Any, options: TargetOptions) -> bool:
    if type(target) is not dict or type(target.get("boxes")) not in (Tensor, np.ndarray):
        return False
    count = row_count(target["boxes"])
    for key, value in target.items():
        if key in _OTHERS or key in options.kinds:
            return False
        if type(value) not in _SINGLE and not (type(value) in (list, tuple) and plain(value) is value):
            return False
        if _is_per_box(key, options) and value is not None and row_count(value) != count:
            return False
    return True


def _is_per_box(key: str, options: TargetOptions) -> bool:
    return key in PER_BOX_KEYS or key in options.per_box


def _with_boxes(
    index: int, target: dict[str, Any], rows: Any, keep: Any, options: TargetOptions
) -> dict[str, Any]:
    """A target with other boxes, of the type of its own, and the rows that belong to those that are left."""
    result = dict(target)
    result["boxes"] = numbers_like(rows, target["boxes"], f"boxes of image {index}")
    for key, value in target.items():
        if value is not None and _is_per_box(key, options):
            result[key] = chosen_rows(value, keep)
    return result


_draw_boxes: Callable[..., Tensor] = operators.draw_boxes


@register_fake("draw_boxes", sizes=2, boxes=2)
def _(
    code: Tensor, program: list[int], sizes: Tensor, sample_ids: Tensor, boxes: Tensor, *_: object
) -> Tensor:
    return boxes.new_empty((len(boxes), 7))
