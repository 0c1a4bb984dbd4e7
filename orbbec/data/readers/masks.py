"""Masks from COCO segmentations: polygons and run lengths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from orbbec.bridge.arguments import Array
from orbbec.transforms.targets.run_lengths import Mask, by_columns, mask_of_runs

_FINE = 5  # steps per pixel: COCO's grid for edges of polygons
_LONGEST = 10**7  # steps of an outline: far more than any object has; needs about 300 MB
_FARTHEST = 10**9  # pixels


def mask_of(segmentation: Any, size: tuple[int, int]) -> Mask:
    """The mask of one object.

    Args:
        segmentation: polygons `[[x0, y0, x1, y1, ...], ...]` whose union is the object; polygons of fewer
            than 3 points are empty, and so is an object without polygons, or None. Or run lengths
            `{"size": [height, width], "counts": ...}`, with counts as numbers or compressed text.
        size: (height, width) of the image.

    Returns:
        uint8 `[height, width]` of 0 and 1.

    Raises:
        ValueError: the segmentation is malformed or has another size.

    Source:
        pycocotools; the masks are identical.

    Example:
        >>> mask_of([[1, 0, 4, 0, 4, 2, 1, 2]], (3, 5)).tolist()
        [[0, 1, 1, 1, 0], [0, 1, 1, 1, 0], [0, 0, 0, 0, 0]]
        >>> mask_of({"size": [2, 3], "counts": [1, 2, 3]}, (2, 3)).tolist()
        [[0, 1, 0], [1, 0, 0]]
    """
    if isinstance(segmentation, dict):
        return mask_of_runs(segmentation, size)
    if not isinstance(segmentation, (list, tuple, type(None))):
        raise ValueError(f"expected a segmentation of polygons or run lengths, but got {segmentation!r:.60}")
    union: Mask = np.zeros(size, np.uint8)
    for polygon in segmentation or ():
        union |= _polygon_mask(polygon, size)
    return union


def rings_of(segmentation: Any) -> list[npt.NDArray[np.float32]]:
    """The polygons of an object, not of run lengths: float32 `[P, 2]` each; an empty one if it has none.

    Example:
        >>> [ring.tolist() for ring in rings_of([[1, 0, 4, 0, 4, 2]])]
        [[[1.0, 0.0], [4.0, 0.0], [4.0, 2.0]]]
    """
    if isinstance(segmentation, dict):
        raise ValueError("expected polygons, but got run lengths, which masks=True reads")
    if not isinstance(segmentation, (list, tuple, type(None))):
        raise ValueError(f"expected a segmentation of polygons, but got {segmentation!r:.60}")
    return [_corners_of(polygon).astype(np.float32) for polygon in segmentation or [[]]]


def mask_box(mask: Mask) -> tuple[int, int, int, int]:
    """The box (x, y, width, height) of the pixels of a mask, as in pycocotools; ValueError if it is empty.

    Example:
        >>> mask_box(np.uint8([[0, 0, 0], [0, 1, 1]]))
        (1, 1, 2, 1)
    """
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    if not len(rows):
        raise ValueError("expected a bbox, or a segmentation that has pixels")
    left, top = int(columns[0]), int(rows[0])
    return left, top, int(columns[-1]) + 1 - left, int(rows[-1]) + 1 - top


def _polygon_mask(polygon: Sequence[float], size: tuple[int, int]) -> Mask:
    """Fill by the even-odd rule: along a column, each crossing of an edge enters or leaves the object."""
    points = _corners_of(polygon)
    if len(points) < 3:
        return np.zeros(size, np.uint8)
    height, width = size
    x, y = _outline((_FINE * points + 0.5).astype(np.int64))
    crossings = np.flatnonzero(x[1:] != x[:-1])
    column = (np.minimum(x[crossings], x[crossings + 1]) + 0.5) / _FINE - 0.5
    row = np.ceil(((np.minimum(y[crossings], y[crossings + 1]) + 0.5) / _FINE - 0.5).clip(0, height))
    seen = (column == np.floor(column)) & (column >= 0) & (column <= width - 1)
    crossings = (column[seen] * height + row[seen]).astype(np.int64)
    inside = np.bincount(crossings, minlength=height * width + 1)[:-1].cumsum() & 1
    return by_columns(inside.astype(np.uint8), size)


def _corners_of(polygon: Sequence[float]) -> Array:
    """The corners of a polygon: `[P, 2]`."""
    points = np.asarray(polygon)
    is_number = points.dtype.kind in "iuf"  # not text, and no integer beyond 64 bits
    if not is_number or points.ndim != 1 or len(points) % 2 or not (np.abs(points) < _FARTHEST).all():
        raise ValueError(f"expected polygons as finite x, y pairs, but got {polygon!r:.60}")
    return points.reshape(-1, 2)


def _outline(corners: Array) -> tuple[Array, Array]:
    """Points (x, y) of the fine grid along the edges of a polygon, one per step of an edge's longer side."""
    begin, end = corners, np.roll(corners, -1, 0)
    steps = np.abs(end - begin).max(1)
    if steps.sum() > _LONGEST:
        raise ValueError(
            f"expected an outline of {_LONGEST // _FINE} pixels at most, but got {steps.sum() // _FINE}"
        )
    flat = np.abs(end - begin).argmax(1) == 0  # step along x, also for equal sides
    backward = np.where(flat, begin[:, 0] > end[:, 0], begin[:, 1] > end[:, 1])
    low = np.where(backward[:, None], end, begin)
    slope = (np.where(backward[:, None], begin, end) - low) / np.maximum(steps, 1)[:, None]

    edge = np.repeat(np.arange(len(corners)), steps + 1)
    step = np.arange(len(edge)) - np.repeat(np.cumsum(steps + 1) - steps - 1, steps + 1)
    along = np.where(backward[edge], steps[edge] - step, step)
    points = (low[edge] + slope[edge] * along[:, None] + 0.5).astype(np.int64)
    whole = low[edge] + along[:, None]  # in the direction of the steps
    x = np.where(flat[edge], whole[:, 0], points[:, 0])
    return x, np.where(flat[edge], points[:, 1], whole[:, 1])
