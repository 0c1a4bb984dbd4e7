"""The boxes of a batch while they go through the passes of a plan, all at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, compress, pairwise

import numpy as np

from orbbec.bridge.arguments import Array
from orbbec.plan.points import (
    areas,
    carried_edges,
    clipped,
    corners_of,
    grown,
    hulls,
    polygon_area,
    through_displacement,
    without_covered,
)
from orbbec.transforms.targets.options import TargetOptions
from orbbec.transforms.targets.rings import clipped_ring


@dataclass
class Boxes:
    """Boxes of one image or of several, a row each.

    Args:
        corners: float64 `[K, 4, 2]`.
        keep: bool `[K]`: False for dropped boxes.
        visible: float64 `[K]`: the part of each box that is visible.
        scale: float64 `[K]`: by which the visible areas changed.
        parts: the visible parts of rotated boxes as polygons; None: the boxes are upright.
    """

    corners: Array
    keep: Array
    visible: Array
    scale: Array
    parts: list[Array] | None

    @classmethod
    def of(cls, corners: Array, is_upright: bool) -> Boxes:
        """Boxes that are visible as a whole."""
        count = len(corners)
        parts, whole = None if is_upright else list(corners), np.ones(count)
        return cls(corners, np.ones(count, bool), whole, whole, parts)

    @classmethod
    def joined(cls, several: Sequence[Boxes]) -> Boxes:
        """The boxes of several images, all upright or none."""
        if len(several) == 1:
            return several[0]
        parts = None if several[0].parts is None else [part for each in several for part in each.parts or ()]
        return cls(
            np.concatenate([each.corners for each in several]),
            np.concatenate([each.keep for each in several]),
            np.concatenate([each.visible for each in several]),
            np.concatenate([each.scale for each in several]),
            parts,
        )

    def split(self, counts: Sequence[int]) -> list[Boxes]:
        """The boxes of each image."""
        if len(counts) == 1:
            return [self]
        return [self._rows(slice(*ends)) for ends in pairwise(accumulate(counts, initial=0))]

    def _rows(self, rows: slice) -> Boxes:
        parts = None if self.parts is None else self.parts[rows]
        return Boxes(self.corners[rows], self.keep[rows], self.visible[rows], self.scale[rows], parts)

    def without_dropped(self) -> Boxes:
        """The boxes that are left, whose areas begin to change from here."""
        keep, count = self.keep, int(np.count_nonzero(self.keep))
        parts = None if self.parts is None else list(compress(self.parts, keep))
        corners, visible = self.corners, self.visible
        if count < len(keep):
            corners, visible = corners[keep], visible[keep]
        return Boxes(corners, np.ones(count, bool), visible, np.ones(count), parts)

    def shift(self, by: Array) -> None:
        """Make positions relative to points `[K, 2]`."""
        self.corners = self.corners - by[:, None]
        if self.parts is not None:
            self.parts = [part - corner for part, corner in zip(self.parts, by, strict=True)]

    def transform(self, forward: Array, swaps_corners: bool) -> None:
        """Move by matrices of pixels `[K, 3, 3]`.

        Args:
            forward: source to output pixels.
            swaps_corners: whether a mirrored box keeps the order of its corners.
        """
        self.scale = self.scale * grown(forward, self.corners)
        self.corners = carried_edges(forward, self.corners)
        if swaps_corners:
            mirrored = np.linalg.det(forward) < 0
            self.corners[mirrored] = self.corners[mirrored][:, [1, 0, 3, 2]]
        if self.parts is not None:
            self.parts = [carried_edges(*pair) for pair in zip(forward, self.parts, strict=True)]

    def displaced(self, displacement: Array) -> Boxes:
        """The boxes of one image after the displacement `[2, H, W]` of its pixels."""

        def move(points: Array) -> Array:
            return through_displacement(points - 0.5, displacement) + 0.5

        parts = None if self.parts is None else list(map(move, self.parts))
        return replace(self, corners=move(self.corners), parts=parts)

    def clip(self, sizes: Array, options: TargetOptions, *, is_last: bool = True) -> None:
        """Clip to images of sizes `[K, 2]`, and drop boxes of which too little is left.

        Args:
            sizes: height and width of the image of each box.
            options: thresholds.
            is_last: whether their size is now that of the pass; else it is not compared with thresholds.
        """
        if self.parts is None:
            whole = hulls(self.corners)
            seen = np.asarray(np.isfinite(whole).all(1))
            whole = whole if seen.all() else np.where(seen[:, None], whole, 0.0)
            boxes = clipped(whole, sizes)
            full, left = areas(whole), areas(boxes)
            self.corners, sides = corners_of(boxes), boxes[:, 2:] - boxes[:, :2]
        else:
            seen = np.asarray(np.isfinite(self.corners).all((1, 2)))
            self.corners = corners = np.where(seen[:, None, None], self.corners, 0.0)
            full = self._areas_of_parts()
            pairs = zip(self.parts, map(tuple, sizes.tolist()), strict=True)
            self.parts = [clipped_ring(part, size) for part, size in pairs]
            left = np.where(seen, self._areas_of_parts(), 0.0)
            sides = np.stack([np.hypot(*(corners[:, k] - corners[:, 0]).T) for k in (1, 3)], 1)
        fraction = np.minimum(left / np.maximum(full, 1e-12), 1.0)
        self.visible, self.scale = self.visible * fraction, self.scale * fraction
        if options.drop_boxes:
            self.keep = self.keep & (left > 0)
            self.drop_small(sides, left, options, is_last)

    def _areas_of_parts(self) -> Array:
        return np.array([polygon_area(part) for part in self.parts or ()])

    def hide(self, region: Array, options: TargetOptions) -> None:
        """Shrink the boxes of one image to what is visible around left, top, right, bottom."""
        before = hulls(self.corners)
        covered = np.concatenate(
            [np.maximum(before[:, :2], region[:2]), np.minimum(before[:, 2:], region[2:])], 1
        )
        boxes = without_covered(before, region)
        if self.parts is None:
            full, hidden = areas(before), areas(covered)
            self.corners = corners_of(boxes)
        else:
            extent = int(region[3] - region[1]), int(region[2] - region[0])
            full = self._areas_of_parts()
            hidden = np.array([polygon_area(clipped_ring(part - region[:2], extent)) for part in self.parts])
        visible = np.where(full > 0, 1 - hidden / np.maximum(full, 1e-12), 1.0)
        self.visible, self.scale = self.visible * visible, self.scale * visible
        if options.drop_boxes:
            self.keep = self.keep & (visible > 1e-9)
            self.drop_small(boxes[:, 2:] - boxes[:, :2], full * visible, options)

    def drop_small(self, sides: Array, left: Array, options: TargetOptions, checks_size: bool = True) -> None:
        """Drop boxes below thresholds, or with too little that is visible.

        Args:
            sides: float64 `[K, 2]`.
            left: float64 `[K]`, what is left of their areas.
            options: thresholds.
            checks_size: whether those of sides and areas count.
        """
        self.keep = self.keep & (self.visible >= options.min_visibility - 1e-9)
        if checks_size:
            large = (sides >= options.min_size).all(1) & (left >= options.min_area * (1 - 1e-9))
            self.keep = self.keep & large
