"""The boxes of a batch in the formats of their targets."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from orbbec.bridge.arguments import Array
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
        counts = list(map(len, tables))
        boxes = kind_of(box_format).of(joined_edges(tables, counts, indices, box_format, sizes))
        results.update(zip(indices, boxes.split(counts), strict=True))
    return list(map(results.__getitem__, range(len(targets))))


def joined_edges(
    tables: Sequence[Array], counts: Sequence[int], indices: Sequence[int], box_format: str, sizes: Array
) -> Array:
    """The `numbers` of the boxes of some images, in pixels, from what `box_table` gives for each.

    Args:
        tables: one per image.
        counts: their lengths.
        indices: of the images.
        box_format: of all.
        sizes: int64 `[N, 2]`: height and width of all images.

    Raises:
        ValueError: boxes are not finite, or have negative sides; names the image.
    """
    rows = tables[0] if len(tables) == 1 else np.concatenate(tables)
    _check_rows(rows, indices, counts, box_format)
    return _numbers(rows, box_format, _sizes_of(box_format, sizes, indices, counts))


def kind_of(box_format: str) -> type[Boxes]:
    """The class of the boxes of a format."""
    return RotatedBoxes if box_format in ROTATED else Boxes


def write_boxes(boxes: Sequence[Boxes], formats: Sequence[str], sizes: Array) -> list[Array]:
    """The boxes of each image that are not dropped, in their formats; the inverse of `read_boxes`."""
    results: dict[int, Array] = {}
    for box_format, indices in _by_format(formats).items():
        some = [boxes[index] for index in indices]
        counts = list(map(len, some))
        joined = type(some[0]).joined(some)
        keep = parts_of(joined.keep, counts)
        results.update(zip(indices, written_rows(joined, keep, indices, box_format, sizes), strict=True))
    return list(map(results.__getitem__, range(len(boxes))))


def written_rows(
    boxes: Boxes, keep: Sequence[Array], indices: Sequence[int], box_format: str, sizes: Array
) -> list[Array]:
    """The rows of each image that are not dropped, from the joined boxes of some images.

    Args:
        boxes: of all these images.
        keep: bool `[K]` of each image.
        indices: of the images.
        box_format: of the rows.
        sizes: int64 `[N, 2]`: height and width of all images.
    """
    counts = [int(np.count_nonzero(each)) for each in keep] if len(boxes) else [0] * len(keep)
    rows = boxes.numbers[boxes.keep if len(keep) > 1 else keep[0]]
    return parts_of(_formatted(rows, box_format, _sizes_of(box_format, sizes, indices, counts)), counts)


def parts_of(rows: Array, counts: Sequence[int]) -> list[Array]:
    """The rows of each image, by their numbers."""
    if len(counts) == 1:
        return [rows]
    return [rows[slice(*ends)] for ends in pairwise(accumulate(counts, initial=0))]


def corners_in_pixels(boxes: Array, box_format: str, sizes: Any) -> Array:
    """Convert upright boxes `[K, 4]` to xyxy in pixels of an image of (height, width), or of K images.

    Example:
        >>> corners_in_pixels(np.array([[0.5, 0.5, 0.5, 1.0]]), "cxcywhn", (10, 20)).tolist()
        [[5.0, 0.0, 15.0, 10.0]]
    """
    corners = _converted(boxes, box_format, "xyxy")
    return corners * _sides(sizes) if box_format.endswith("n") else corners


def _sizes_of(box_format: str, sizes: Array, indices: Sequence[int], counts: Sequence[int]) -> Array | None:
    """The size of the image of each box, if boxes are relative to it."""
    return sizes[np.repeat(indices, counts)] if box_format.endswith("n") else None


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


def _check_rows(rows: Array, indices: Sequence[int], counts: Sequence[int], box_format: str) -> None:
    """Refuse boxes that are not finite, or whose ends are in the wrong order."""
    finite = np.isfinite(rows)
    if np.count_nonzero(finite) < rows.size:
        box, image = _position(np.asarray(~finite.all(1)), indices, counts)
        raise ValueError(f"transform_targets: box {box} of image {image} is not finite")
    if box_format == "xyxyxyxy":
        return
    negative = rows[:, 2:4] < (rows[:, :2] if box_format in ("xyxy", "xyxyn") else 0)
    if np.count_nonzero(negative):
        inverted = np.asarray(negative.any(1))
        box, image = _position(inverted, indices, counts)
        raise ValueError(
            f"transform_targets: expected boxes {box_format} with sides of at least 0, but box {box} of "
            f"image {image} is {rows[inverted][0].tolist()}"
        )


def _position(faults: Array, indices: Sequence[int], counts: Sequence[int]) -> tuple[int, int]:
    """The first faulty box, as its index in its image, and that of the image."""
    row, ends = int(faults.argmax()), np.cumsum(counts)
    image = int(np.searchsorted(ends, row, "right"))
    return row - int(ends[image] - counts[image]), indices[image]


def _numbers(rows: Array, box_format: str, sizes: Array | None) -> Array:
    """The `numbers` of boxes."""
    if box_format in ("xyxy", "xyxyxyxy"):
        return rows
    if box_format in ROTATED:
        return rotated_corners(_converted(rows, box_format, "cxcywha")).reshape(-1, 8)
    return corners_in_pixels(rows, box_format, sizes)


def _formatted(boxes: Array, box_format: str, sizes: Array | None) -> Array:
    if box_format == "xyxyxyxy":
        return boxes
    if box_format in ROTATED:
        return _converted(rotated_boxes(boxes.reshape(-1, 4, 2)), "cxcywha", box_format)
    return _converted(boxes / _sides(sizes) if box_format.endswith("n") else boxes, "xyxy", box_format)


def _converted(boxes: Array, in_format: str, out_format: str) -> Array:
    in_format, out_format = in_format.removesuffix("n"), out_format.removesuffix("n")
    return boxes if in_format == out_format else np.asarray(box_convert(boxes, in_format, out_format))


def _sides(sizes: Any) -> Array:
    """The width, height, width, height that relative boxes are multiplied by."""
    return np.asarray(sizes, np.float64)[..., [1, 0, 1, 0]]
