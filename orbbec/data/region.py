"""Which part of each image a plan looks at, and the plan for images of which only that part was decoded."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from orbbec.binding.arguments import Array
from orbbec.data.orientation import Rectangle
from orbbec.plan import AugmentPass, OperatorPass, Plan
from orbbec.plan.points import shifts

_SHRINKS = (8, 4, 2)


@dataclass(frozen=True, eq=False)
class Regions:
    """The parts of the images of a batch that its plan reads.

    Args:
        parts: int64 `[N, 4]`: left, top, right, bottom in pixels of the shrunk images.
        shrinks: int64 `[N]`: 1, 2, 4 or 8: the images are to be decoded `1 / shrink` as large.
    """

    parts: Array
    shrinks: Array

    @property
    def sizes(self) -> list[tuple[int, int]]:
        """Height and width of the parts."""
        rows = self.parts.tolist()
        return [(bottom - top, right - left) for left, top, right, bottom in rows]

    def __getitem__(self, index: int) -> tuple[Rectangle, int]:
        return Rectangle(*self.parts[index].tolist()), int(self.shrinks[index])


def regions_of(plan: Plan, can_shrink: Array | None = None) -> Regions | None:
    """What the first pass of a plan reads.

    Args:
        plan: of whole images.
        can_shrink: bool `[N]`: the images that may be decoded smaller, where the plan shrinks what it reads
            to half or less; None: none of them.

    Returns:
        The parts; None where the first pass reads whole images at their size.

    Example:
        >>> from orbbec.transforms import CenterCrop, Compose
        >>> regions_of(Compose([CenterCrop(4)]).plan([(8, 6)]))[0]
        (Rectangle(left=1, top=2, right=5, bottom=6), 1)
    """
    first = plan.passes[0] if plan.passes else None
    whole = np.concatenate([np.zeros_like(plan.sizes), plan.sizes[:, ::-1]], 1)
    if isinstance(first, OperatorPass) and first.name == "resized_crop":
        parts = _read_by_filters(first, whole)
    elif isinstance(first, AugmentPass) and first.regions is not None:
        parts = first.regions
    elif isinstance(first, AugmentPass) and can_shrink is not None and _only_scales(first):
        parts = whole
    else:
        return None
    shrinks = np.ones(len(plan), np.int64) if can_shrink is None else _shrinks(first.matrix, can_shrink)
    low, high = parts[:, :2], parts[:, 2:]
    small = np.concatenate([low // shrinks[:, None], -(-high // shrinks[:, None])], 1)
    return None if (small == whole).all() else Regions(small, shrinks)


def plan_for(plan: Plan, regions: Regions) -> Plan:
    """The plan for images of which only `regions` were decoded.

    Args:
        plan: for the whole images; targets are still to be carried by this one.
        regions: of it.
    """
    first = plan.passes[0]
    assert isinstance(first, (AugmentPass, OperatorPass))
    parts, shrinks = regions.parts, regions.shrinks
    to_decoded = _to_decoded(parts[:, :2], shrinks)
    if isinstance(first, AugmentPass):
        offset = None if first.offset is None else first.offset / shrinks[:, None]
        changed: AugmentPass | OperatorPass = replace(
            first, matrix=_from_corner(first, regions, to_decoded), regions=None, offset=offset
        )
    else:
        boxes = first.table["boxes"] / shrinks[:, None] - np.tile(parts[:, :2], 2)
        changed = replace(first, table={**first.table, "boxes": boxes}, matrix=to_decoded @ first.matrix)
    return replace(plan, sizes=np.array(regions.sizes), passes=(changed, *plan.passes[1:]))


def _from_corner(step: AugmentPass, regions: Regions, to_decoded: Array) -> Array:
    """The matrix of a pass for its region alone; to the last bit that which the pass computes with."""
    if step.regions is None:
        return to_decoded @ step.matrix
    exact = shifts(-step.regions[:, 0], -step.regions[:, 1], len(step.matrix)) @ step.matrix
    return np.where((regions.shrinks == 1)[:, None, None], exact, to_decoded @ step.matrix)


def _to_decoded(corners: Array, shrinks: Array) -> Array:
    """Pixels of whole images to pixels of what is decoded: float64 `[N, 3, 3]`; centres are whole numbers."""
    result = np.zeros((len(shrinks), 3, 3))
    result[:, 0, 0] = result[:, 1, 1] = 1 / shrinks
    result[:, :2, 2] = (0.5 / shrinks - 0.5)[:, None] - corners
    result[:, 2, 2] = 1.0
    return result


_SUPPORTS = {"cubic": 2.0, "lanczos": 3.0}  # of a filter, in pixels of the smaller image; 1 of the others


def _read_by_filters(step: OperatorPass, whole: Array) -> Array:
    """Boxes, and what the filters of antialias read beside them."""
    boxes = step.table["boxes"]
    scale = (boxes[:, 2:] - boxes[:, :2]) / step.sizes[:, ::-1]
    supports = [_SUPPORTS.get(name, 1.0) for name in np.atleast_1d(step.options["interpolation"]).tolist()]
    support = np.array(supports)[step.table.get("which", np.zeros(len(boxes), np.int64))]
    reach = np.ceil(support[:, None] * np.maximum(scale, 1.0)) + 1
    low, high = np.floor(boxes[:, :2]) - reach, np.ceil(boxes[:, 2:]) + reach
    parts = np.concatenate([np.maximum(low, whole[:, :2]), np.minimum(high, whole[:, 2:])], 1)
    return parts.astype(np.int64)


def _only_scales(step: AugmentPass) -> bool:
    """Whether no output pixel lies outside of the image: the map of a resize or a flip."""
    off_diagonal = step.matrix[:, [0, 1, 2, 2], [1, 0, 0, 1]]
    return not off_diagonal.any() and step.interpolation == "linear"


def _shrinks(matrix: Array, can_shrink: Array) -> Array:
    """The largest of 1, 2, 4, 8 by which a map shrinks along both axes: int64 `[N]`."""
    # How far a step along an axis of the output goes in the image.
    along = np.hypot(matrix[:, 0, 0], matrix[:, 1, 0])
    down = np.hypot(matrix[:, 0, 1], matrix[:, 1, 1])
    affine = (matrix[:, 2] == (0.0, 0.0, 1.0)).all(1)
    scale = np.where(affine & can_shrink, np.minimum(along, down), 1.0)
    return np.select([scale >= shrink for shrink in _SHRINKS], _SHRINKS, 1).astype(np.int64)
