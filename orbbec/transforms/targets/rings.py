"""Polygons of objects: one ring `[P, 2]` each, or several, such as parts and holes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from orbbec.batch.collate import sequence_like
from orbbec.bridge.arguments import Array
from orbbec.plan.points import clip_polygon
from orbbec.transforms.targets.numbers import target_numbers


def each_ring(convert: Callable[[Any, Any], Any], polygon: Any, example: Any) -> Any:
    """A polygon converted, or each of its rings if `example` has rings."""
    if not has_rings(example):
        return convert(polygon, example)
    return sequence_like([convert(*pair) for pair in zip(polygon, example, strict=True)], example)


def has_rings(polygon: Any) -> bool:
    """Whether a polygon is a sequence of rings, not of points: of arrays `[P, 2]` or lists of COCO.

    Example:
        >>> has_rings([[0, 0, 4, 0, 4, 4], [1, 1, 2, 1, 2, 2]]), has_rings([[0, 0], [4, 0], [4, 4]])
        (True, False)
    """
    return isinstance(polygon, (list, tuple)) and any(map(_is_ring, polygon))


def _is_ring(value: Any) -> bool:
    return getattr(value, "ndim", 0) == 2 or (isinstance(value, (list, tuple)) and len(value) != 2)


def check_rings(polygon: Any, what: str) -> None:
    """Refuse a ring that is no list of points, or has one that is not finite.

    Rings that cross themselves, or have no area, are valid.
    """
    each_ring(lambda ring, _: _check_ring(ring, what), polygon, polygon)


def _check_ring(ring: Any, what: str) -> None:
    try:
        points = target_numbers(ring, what, 0)
    except (TypeError, ValueError):
        raise ValueError(f"transform_targets: expected {what} as numbers, but got {ring!r:.60}") from None
    is_flat = points.ndim == 1 and len(points) % 2 == 0
    if points.size and not is_flat and (points.ndim != 2 or points.shape[1] != 2):
        raise ValueError(f"transform_targets: expected {what} of shape [P, 2], but got {list(points.shape)}")
    if not np.isfinite(points).all():
        raise ValueError(f"transform_targets: expected finite {what}, but got {points.tolist()!r:.60}")


def clipped_ring(ring: Array, size: tuple[int, int]) -> Array:
    """A ring clipped to a canvas; empty if a point of it has no image, as behind a perspective's viewer."""
    return clip_polygon(ring, size) if np.isfinite(ring).all() else ring[:0]
