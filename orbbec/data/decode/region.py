"""The regions of images that a plan reads, and the plan for images of which only these were decoded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from orbbec.bridge.arguments import Array
from orbbec.data.decode.orientation import Rectangle
from orbbec.plan import Plan

_SHRINKS = (8, 4, 2)
_MAX_ROUNDS = 8  # in which regions grow for each other; then images are decoded as a whole


@dataclass(frozen=True, eq=False)
class Regions:
    """The regions of the images of a batch that its plan reads.

    Args:
        boxes: int64 `[N, 4]`: left, top, right, bottom in pixels of the shrunk images.
        shrinks: int64 `[N]`: 1, 2, 4 or 8: images are decoded at `1 / shrink` of their size.
    """

    boxes: Array
    shrinks: Array

    @property
    def sizes(self) -> Array:
        """The heights and widths of the regions: int64 `[N, 2]`."""
        return self.boxes[:, [3, 2]] - self.boxes[:, [1, 0]]

    def __getitem__(self, index: int) -> tuple[Rectangle, int]:
        return Rectangle(*self.boxes[index].tolist()), int(self.shrinks[index])

    def rows(self, images: slice) -> Regions:
        """The regions of some of the images."""
        return Regions(self.boxes[images], self.shrinks[images])


def regions_of(plan: Plan, can_shrink: Array | None = None) -> Regions | None:
    """The regions that the first pass of a plan reads.

    Args:
        plan: the plan for whole images.
        can_shrink: bool `[N]`: the images that may be decoded at a reduced size if the plan shrinks them to
            half or less; None: none.

    Returns:
        The regions; None if the first pass reads whole images at full size.

    Example:
        >>> from orbbec.transforms import CenterCrop, Compose
        >>> regions_of(Compose([CenterCrop(4)]).plan([(8, 6)]))[0]
        (Rectangle(left=1, top=2, right=5, bottom=6), 1)
    """
    whole = np.concatenate([np.zeros_like(plan.sizes), plan.sizes[:, ::-1]], 1)
    first = plan.passes[0] if plan.passes else None
    boxes = None if first is None else first.region(plan.sizes, can_shrink is not None)
    if first is None or boxes is None:
        return None
    shrinks = np.ones(len(plan), np.int64)
    if can_shrink is not None and can_shrink.any():
        shrinks = _shrinks(first.matrix, can_shrink)
    low, high = boxes[:, :2], boxes[:, 2:]
    small = np.concatenate([low // shrinks[:, None], -(-high // shrinks[:, None])], 1)
    return None if (small == whole).all() else Regions(small, shrinks)


def union_of(plans: Sequence[Plan]) -> Regions | None:
    """The smallest regions that have what several plans of the same images read; None: whole images.

    Example:
        >>> from orbbec.transforms import Crop
        >>> plans = [Crop(*box)._alone.plan([(90, 90)]) for box in ((5, 6, 10, 10), (20, 2, 8, 8))]
        >>> union_of(plans)[0]
        (Rectangle(left=2, top=5, right=16, bottom=28), 1)
    """
    parts = [regions_of(plan) for plan in plans]
    boxes = [part.boxes for part in parts if part is not None]
    if len(boxes) < len(parts):
        return None
    union = _union(boxes)
    for _ in range(_MAX_ROUNDS):
        more = [plan.passes[0].region(plan.sizes, False, union) for plan in plans]
        larger = _union([union, *(part for part in more if part is not None)])
        if (larger == union).all():
            return Regions(union, np.ones(len(union), np.int64))
        union = larger
    return None


def _union(boxes: Sequence[Array]) -> Array:
    return np.concatenate([np.min(boxes, 0)[:, :2], np.max(boxes, 0)[:, 2:]], 1)


def plan_for(plan: Plan, regions: Regions) -> Plan:
    """The plan for images of which only `regions` were decoded: its own, or larger ones if none was shrunk.

    The plan for whole images still applies to targets.
    """
    boxes, shrinks = regions.boxes, regions.shrinks
    first = plan.passes[0].of_regions(boxes, shrinks, _to_decoded(boxes[:, :2], shrinks))
    return replace(plan, sizes=regions.sizes, passes=(first, *plan.passes[1:]))


def _to_decoded(corners: Array, shrinks: Array) -> Array:
    """Matrices from pixels of whole images to decoded pixels: float64 `[N, 3, 3]`, centers at integers."""
    result = np.zeros((len(shrinks), 3, 3))
    result[:, 0, 0] = result[:, 1, 1] = 1 / shrinks
    result[:, :2, 2] = (0.5 / shrinks - 0.5)[:, None] - corners
    result[:, 2, 2] = 1.0
    return result


def _shrinks(matrix: Array, can_shrink: Array) -> Array:
    """The largest of 1, 2, 4, 8 by which a warp shrinks along both axes: int64 `[N]`."""
    # The length in the image of a step along an axis of the output.
    x_scale = np.hypot(matrix[:, 0, 0], matrix[:, 1, 0])
    y_scale = np.hypot(matrix[:, 0, 1], matrix[:, 1, 1])
    affine = (matrix[:, 2] == (0.0, 0.0, 1.0)).all(1)
    scale = np.where(affine & can_shrink, np.minimum(x_scale, y_scale), 1.0)
    return np.select([scale >= shrink for shrink in _SHRINKS], _SHRINKS, 1).astype(np.int64)
