"""How pixels move by another rule than a matrix, and points, boxes and polygons with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from orbbec.bridge.arguments import Array
from orbbec.plan.points import clip_polygon, corners_of, hulls, polygon_area, through_displacement


@dataclass(frozen=True, eq=False)
class Field:
    """How pixels move that each read at a displacement of their own: `[2, H, W]`."""

    displacement: Array

    def points(self, points: Array) -> Array:
        """Move positions of pixels `[..., 2]`."""
        return through_displacement(points, self.displacement)

    def edges(self, points: Array) -> Array:
        """Move corners `[..., 2]` of boxes and polygons."""
        return self.points(points - 0.5) + 0.5

    def ring(self, points: Array) -> Array:
        """Move a polygon `[P, 2]`."""
        return self.edges(points)

    def rotated(self, corners: Array, parts: Sequence[Array]) -> tuple[Array, list[Array], Array]:
        """Move rotated boxes, `[K, 4, 2]`, and the polygons that are visible of them; see `boxes`."""
        return self.edges(corners), list(map(self.edges, parts)), np.ones(len(parts))

    def boxes(self, boxes: Array) -> tuple[Array, Array]:
        """Move xyxy boxes `[K, 4]`; also returns the part of each that stays visible, `[K]`."""
        return hulls(self.edges(corners_of(boxes))), np.ones(len(boxes))


@dataclass(frozen=True, eq=False)
class Pieces(Field):
    """How rectangles of an image move, each as a whole.

    Args:
        displacement: as that of `Field`.
        table: int64 `[K, 6]`: left, top, right, bottom, and the left and top that each moves to.
    """

    table: Array

    @classmethod
    def of(cls, size: tuple[int, int], table: Array) -> Pieces:
        """The pieces of an image of (height, width)."""
        displacement = np.zeros((2, *size), np.float32)
        for left, top, right, bottom, x, y in table.tolist():
            rows, columns = slice(y, y + bottom - top), slice(x, x + right - left)
            displacement[:, rows, columns] = np.array([left - x, top - y])[:, None, None]
        return cls(displacement, table)

    @property
    def shifts(self) -> Array:
        """How far each moves: `[K, 2]`."""
        return np.asarray(self.table[:, 4:] - self.table[:, :2])

    def points(self, points: Array) -> Array:
        pixel = np.floor(points + 0.5)[..., None, :]
        inside = ((pixel >= self.table[:, :2]) & (pixel < self.table[:, 2:4])).all(-1)
        position = points + self.shifts[inside.argmax(-1)]
        return np.where(inside.any(-1, keepdims=True), position, points)

    def ring(self, points: Array) -> Array:
        """The largest part of the polygon within one piece."""
        return self._largest(points)[1]

    def rotated(self, corners: Array, parts: Sequence[Array]) -> tuple[Array, list[Array], Array]:
        """Each box moves with the piece that has the largest part of it, which stays visible."""
        found = [self._largest(part) for part in parts]
        indices = np.array([index for index, _ in found], np.int64)
        rings = [ring for _, ring in found]
        pairs = zip(rings, parts, strict=True)
        visible = [polygon_area(ring) / max(polygon_area(part), 1e-12) for ring, part in pairs]
        return corners + self.shifts[indices][:, None], rings, np.minimum(visible, 1.0)

    def _largest(self, points: Array) -> tuple[int, Array]:
        """The piece that has the largest part of a polygon, and this part where it moves to."""
        if not np.isfinite(points).all():
            return 0, points[:0]
        rings = [
            clip_polygon(points - (left, top), (bottom - top, right - left))
            for left, top, right, bottom in self.table[:, :4].tolist()
        ]
        largest = int(np.argmax([polygon_area(ring) for ring in rings]))
        return largest, rings[largest] + self.table[largest, 4:]

    def boxes(self, boxes: Array) -> tuple[Array, Array]:
        """Each box becomes its largest part that lies within one piece."""
        low = np.maximum(boxes[:, None, :2], self.table[:, :2])
        high = np.minimum(boxes[:, None, 2:], self.table[:, 2:4])
        sizes = np.maximum(high - low, 0).prod(-1)
        rows, largest = np.arange(len(boxes)), sizes.argmax(1)
        edges = np.concatenate([low[rows, largest], high[rows, largest]], 1)
        edges += np.tile(self.shifts[largest], 2)
        total = sizes.sum(1)
        part = np.divide(sizes[rows, largest], total, out=np.ones(len(boxes)), where=total > 0)
        return np.where(total[:, None] > 0, edges, boxes), part
