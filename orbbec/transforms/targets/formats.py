"""The boxes of a batch in the formats of their targets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import torch

from orbbec._library import operators
from orbbec.bridge.arguments import Array
from orbbec.bridge.fakes import register_fake
from orbbec.nms.boxes import box_convert
from orbbec.plan.points import rotated_boxes, rotated_corners
from orbbec.transforms.targets.boxes import Boxes
from orbbec.transforms.targets.numbers import is_floating, target_numbers
from orbbec.transforms.targets.options import ROTATED, TargetOptions
from orbbec.transforms.targets.rotated_boxes import RotatedBoxes


def read_boxes(targets: Sequence[tuple[dict[str, Any], TargetOptions]], sizes: Array) -> list[Boxes]:
    """The boxes of each image, in pixels.

    Args:
        targets: one dict per image, in which `boxes` may be missing, and its options.
        sizes: int64 `[N, 2]`: height and width of the images.

    Raises:
        TypeError: relative boxes are whole numbers.
        ValueError: boxes have another shape, are not finite, or have negative sides; names the image.
    """
    formats = [options.box_format for _, options in targets]
    results: dict[int, Boxes] = {}
    for box_format, indices in _by_format(formats).items():
        tables = [box_table(index, targets[index][0], box_format) for index in indices]
        boxes = kind_of(box_format).of(numbers_of_boxes(tables, indices, box_format, sizes[indices]))
        results.update(zip(indices, boxes.split(list(map(len, tables))), strict=True))
    return list(map(results.__getitem__, range(len(targets))))


def numbers_of_boxes(tables: Sequence[Array], indices: Sequence[int], box_format: str, sizes: Array) -> Array:
    """The `numbers` of the boxes of some images, in pixels, from what `box_table` gives for each.

    Args:
        tables: one per image.
        indices: of the images.
        box_format: of all.
        sizes: int64 `[N, 2]`: height and width of these images.

    Raises:
        ValueError: boxes are not finite, or have negative sides; names the image.

    Example:
        >>> relative = np.array([[0.5, 0.5, 0.5, 1.0]])
        >>> numbers_of_boxes([relative], [0], "cxcywhn", np.array([[10, 20]])).tolist()
        [[5.0, 0.0, 15.0, 10.0]]
    """
    rows = join_tables(tables)
    _read_boxes(torch.from_numpy(rows), list(map(len, tables)), indices, box_format, torch.from_numpy(sizes))
    if box_format not in ROTATED or box_format == "xyxyxyxy":
        return rows
    return rotated_corners(np.asarray(box_convert(rows, box_format, "cxcywha"))).reshape(-1, 8)


def join_tables(tables: Sequence[Array]) -> Array:
    """The rows of several images, in new memory."""
    return tables[0].copy() if len(tables) == 1 else np.ascontiguousarray(np.concatenate(tables))


def kind_of(box_format: str) -> type[Boxes]:
    """The class of the boxes of a format."""
    return RotatedBoxes if box_format in ROTATED else Boxes


def write_boxes(boxes: Sequence[Boxes], formats: Sequence[str], sizes: Array) -> list[Array]:
    """The boxes of each image that are not dropped, in their formats; the inverse of `read_boxes`."""
    results: dict[int, Array] = {}
    for box_format, indices in _by_format(formats).items():
        some = [boxes[index] for index in indices]
        counts = [len(each) - each.dropped for each in some]
        joined = type(some[0]).joined(some)
        rows = np.ascontiguousarray(joined.numbers[joined.keep])
        if box_format not in ROTATED:
            _write_boxes(torch.from_numpy(rows), counts, box_format, torch.from_numpy(sizes[indices]))
        elif box_format != "xyxyxyxy":
            rows = np.asarray(box_convert(rotated_boxes(rows.reshape(-1, 4, 2)), "cxcywha", box_format))
        results.update(zip(indices, parts_of(rows, counts), strict=True))
    return list(map(results.__getitem__, range(len(boxes))))


def parts_of(rows: Array, counts: Sequence[int]) -> list[Array]:
    """The rows of each image, by their numbers."""
    if len(counts) == 1:
        return [rows]
    return [rows[slice(*ends)] for ends in pairwise(accumulate(counts, initial=0))]


def _by_format(formats: Sequence[str]) -> dict[str, list[int]]:
    groups: dict[str, list[int]] = {}
    for index, box_format in enumerate(formats):
        groups.setdefault(box_format, []).append(index)
    return groups


def box_table(index: int, target: dict[str, Any], box_format: str) -> Array:
    """The boxes of an image as float64 `[K, 4]`, `[K, 5]` or `[K, 8]`."""
    width = ROTATED.get(box_format, 4)
    if "boxes" not in target:
        return np.empty((0, width))
    boxes = target["boxes"]
    table = target_numbers(boxes, "boxes", index)
    table = table.reshape(0, width) if table.size == 0 else table
    if table.ndim != 2 or table.shape[1] != width:
        raise ValueError(
            f"transform_targets: expected boxes of shape [K, {width}], but image {index} has "
            f"{list(table.shape)}"
        )
    if box_format.endswith("n") and table.size > 0 and not is_floating(boxes):
        raise TypeError(
            f"transform_targets: expected boxes {box_format} as floats, but image {index} has whole numbers"
        )
    return table


_read_boxes: Callable[..., None] = operators.read_boxes
_write_boxes: Callable[..., None] = operators.write_boxes


@register_fake("read_boxes", boxes=2, sizes=2)
def _(*_: object) -> None:
    return None


@register_fake("write_boxes", boxes=2, sizes=2)
def _(*_: object) -> None:
    return None
