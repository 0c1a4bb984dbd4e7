"""Segmentations as COCO writes them, polygons and run lengths, as masks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from orbbec.binding.arguments import Array

Mask = npt.NDArray[np.uint8]

_FINE = 5  # steps a pixel: the grid on which COCO draws the edges of polygons
_LONGEST = 10**7  # steps of an outline: far beyond any object, and some 300 MB while it is drawn
_FARTHEST = 10**9  # pixels
_MOST_BITS = 60  # of a run length


def mask_of(segmentation: Any, size: tuple[int, int]) -> Mask:
    """The mask of one object.

    Args:
        segmentation: polygons `[[x0, y0, x1, y1, ...], ...]` whose union is the object; those of fewer than
            3 points cover nothing. Or run lengths `{"size": [height, width], "counts": ...}`, the counts as
            numbers or compressed to text.
        size: of the image, (height, width).

    Returns:
        uint8 `[height, width]` of 0 and 1.

    Raises:
        ValueError: the segmentation is malformed or of another size.

    Source:
        The masks of pycocotools, bit for bit.

    Example:
        >>> mask_of([[1, 0, 4, 0, 4, 2, 1, 2]], (3, 5)).tolist()
        [[0, 1, 1, 1, 0], [0, 1, 1, 1, 0], [0, 0, 0, 0, 0]]
        >>> mask_of({"size": [2, 3], "counts": [1, 2, 3]}, (2, 3)).tolist()
        [[0, 1, 0], [1, 0, 0]]
    """
    if isinstance(segmentation, dict):
        return _runs_mask(segmentation, size)
    if not isinstance(segmentation, (list, tuple)) or not segmentation:
        raise ValueError(f"expected polygons or run lengths as a segmentation, but got {segmentation!r:.60}")
    masks = [_polygon_mask(polygon, size) for polygon in segmentation]
    union: Mask = np.bitwise_or.reduce(masks)
    return union


def _runs_mask(runs: dict[str, Any], size: tuple[int, int]) -> Mask:
    if list(runs.get("size", ())) != list(size):
        raise ValueError(f"expected run lengths of size {list(size)}, but got {runs.get('size')}")
    counts = runs.get("counts", [])
    lengths = np.asarray(_decompressed(counts) if isinstance(counts, (str, bytes)) else counts)
    pixels = size[0] * size[1]
    # Each by itself, too: the sum of large ones wraps around.
    if (
        lengths.dtype.kind not in "iu"
        or not ((lengths >= 0) & (lengths <= pixels)).all()
        or lengths.sum() != pixels
    ):
        raise ValueError(f"expected run lengths that add up to {pixels} pixels, but got {counts!r:.60}")
    values = np.arange(len(lengths), dtype=np.uint8) & 1
    return _by_columns(np.repeat(values, lengths), size)


def _decompressed(text: str | bytes) -> list[int]:
    """Run lengths from text: a character holds 5 bits, low ones first, and whether more follow.

    From the fourth on, a length is written as its difference to the one before the last.
    """
    lengths: list[int] = []
    value = shift = 0
    for code in text.encode() if isinstance(text, str) else text:
        bits = code - 48
        value |= (bits & 31) << shift
        shift += 5
        if shift > _MOST_BITS:
            raise ValueError(f"expected compressed run lengths, but {text!r:.60} has one of {shift} bits")
        if bits & 32:
            continue
        value -= (bits & 16) << (shift - 4)  # the sign is the highest bit of the last character
        lengths.append(value + (lengths[-2] if len(lengths) > 2 else 0))
        value = shift = 0
    if shift:
        raise ValueError(f"expected compressed run lengths, but {text!r:.60} breaks off")
    return lengths


def _polygon_mask(polygon: Sequence[float], size: tuple[int, int]) -> Mask:
    """Even-odd: walking down a column, each crossing of an edge enters or leaves the object."""
    try:
        points = np.asarray(polygon, np.float64)
    except (OverflowError, TypeError):  # a whole number of any length, or no number
        points = np.zeros(())
    if points.ndim != 1 or len(points) % 2 or not (np.abs(points) < _FARTHEST).all():
        raise ValueError(f"expected polygons as finite x and y in turn, but got {polygon!r:.60}")
    if len(points) < 6:
        return np.zeros(size, np.uint8)
    height, width = size
    x, y = _outline((_FINE * points.reshape(-1, 2) + 0.5).astype(np.int64))
    turns = np.flatnonzero(x[1:] != x[:-1])
    column = (np.minimum(x[turns], x[turns + 1]) + 0.5) / _FINE - 0.5
    row = np.ceil(np.clip((np.minimum(y[turns], y[turns + 1]) + 0.5) / _FINE - 0.5, 0, height))
    seen = (column == np.floor(column)) & (column >= 0) & (column <= width - 1)
    crossings = (column[seen] * height + row[seen]).astype(np.int64)
    inside = np.bincount(crossings, minlength=height * width + 1)[:-1].cumsum() & 1
    return _by_columns(inside.astype(np.uint8), size)


def _outline(corners: Array) -> tuple[Array, Array]:
    """The points (x, y) of the fine grid on the edges of a polygon, one a step of an edge's longer side."""
    begin, end = corners, np.roll(corners, -1, 0)
    steps = np.abs(end - begin).max(1)
    if steps.sum() > _LONGEST:
        raise ValueError(
            f"expected an outline of {_LONGEST // _FINE} pixels at most, but got {steps.sum() // _FINE}"
        )
    flat = np.abs(end - begin).argmax(1) == 0  # stepping along x; of equal sides, too
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


def _by_columns(pixels: Array, size: tuple[int, int]) -> Mask:
    height, width = size
    return np.ascontiguousarray(pixels.reshape(width, height).T)
