"""Boxes with corners while they go through the passes of a plan, and their visible parts as polygons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from orbbec.bridge.arguments import Array
from orbbec.plan.points import carried_edges, forward_of, grown, hulls, polygon_area, without_covered
from orbbec.transforms.targets.boxes import Boxes
from orbbec.transforms.targets.fields import Field
from orbbec.transforms.targets.options import TargetOptions
from orbbec.transforms.targets.rings import clipped_ring


class RotatedBoxes(Boxes):
    """Rotated boxes of one image or of several, a row each.

    Args:
        table: float64 `[K, 11]`: the coordinates of four corners, and the last three numbers of `Boxes`.
        parts: the visible parts as polygons `[P, 2]`; None: the boxes are visible as a whole.
    """

    def __init__(self, table: Array, parts: Sequence[Array] | None = None) -> None:
        super().__init__(table)
        self.parts: Sequence[Array] = list(self.corners) if parts is None else parts

    @property
    def corners(self) -> Array:
        """float64 `[K, 4, 2]`."""
        return self.numbers.reshape(-1, 4, 2)

    @classmethod
    def joined(cls, several: Sequence[RotatedBoxes]) -> RotatedBoxes:
        table = np.concatenate([each.table for each in several])
        return cls(table, [part for each in several for part in each.parts])

    def rows(self, rows: Any) -> RotatedBoxes:
        parts = [self.parts[row] for row in np.arange(len(self))[rows].tolist()]
        return RotatedBoxes(self.table[rows], parts)

    def through_pass(
        self,
        images: Array,
        matrices: Array | None,
        sizes: Array,
        regions: Array | None,
        options: TargetOptions,
    ) -> RotatedBoxes:
        boxes = self
        if regions is not None:
            crops, corner = regions[images], regions[images, None, :2]
            parts = [part - by for part, by in zip(boxes.parts, corner, strict=True)]
            boxes = boxes._with(boxes.corners - corner, parts)
            boxes = boxes._clipped((crops[:, 2:] - crops[:, :2])[:, ::-1], options, is_last=False)
        if matrices is not None:
            boxes = boxes._transformed(forward_of(matrices)[images], options.box_format == "xyxyxyxy")
        return boxes._clipped(sizes[images], options)

    def _with(self, corners: Array, parts: Sequence[Array]) -> RotatedBoxes:
        return RotatedBoxes(np.concatenate([corners.reshape(-1, 8), self.table[:, -3:]], 1), parts)

    def _transformed(self, forward: Array, swaps_corners: bool) -> RotatedBoxes:
        """Moved by matrices of pixels `[K, 3, 3]`.

        Args:
            forward: source to output pixels.
            swaps_corners: whether a mirrored box keeps the order of its corners.
        """
        corners, factors = carried_edges(forward, self.corners), grown(forward, self.corners)
        if swaps_corners:
            mirrored = np.linalg.det(forward) < 0
            corners[mirrored] = corners[mirrored][:, [1, 0, 3, 2]]
        parts = [carried_edges(*pair) for pair in zip(forward, self.parts, strict=True)]
        boxes = self._with(corners, parts)
        boxes.scale[:] *= factors
        return boxes

    def displaced(self, field: Field) -> RotatedBoxes:
        corners, parts, visible = field.rotated(self.corners, self.parts)
        boxes = self._with(corners, parts)
        boxes.shrink(visible)
        return boxes

    def _clipped(self, sizes: Array, options: TargetOptions, *, is_last: bool = True) -> RotatedBoxes:
        """Clipped to images of sizes `[K, 2]`, without boxes of which too little is left.

        Args:
            sizes: height and width of the image of each box.
            options: thresholds.
            is_last: whether their size is now that of the pass; else it is not compared with thresholds.
        """
        seen = np.asarray(np.isfinite(self.corners).all((1, 2)))
        corners = np.where(seen[:, None, None], self.corners, 0.0)
        pairs = zip(self.parts, map(tuple, sizes.tolist()), strict=True)
        boxes = self._with(corners, [clipped_ring(part, size) for part, size in pairs])
        left = np.where(seen, _areas(boxes.parts), 0.0)
        boxes.shrink(np.minimum(left / np.maximum(_areas(self.parts), 1e-12), 1.0))
        if options.drop_boxes:
            sides = np.stack([np.hypot(*(corners[:, k] - corners[:, 0]).T) for k in (1, 3)], 1)
            boxes.drop(left <= 0)
            boxes.drop_small(sides, left, options, is_last)
        return boxes

    def hidden(self, region: Array, options: TargetOptions) -> RotatedBoxes:
        result, extent = self._with(self.corners, self.parts), (region[3] - region[1], region[2] - region[0])
        covered = [clipped_ring(part - region[:2], extent) for part in self.parts]
        edges = without_covered(hulls(self.corners), region)
        result.hide(_areas(self.parts), _areas(covered), edges, options)
        return result


def _areas(polygons: Sequence[Array]) -> Array:
    return np.array([polygon_area(each) for each in polygons])
