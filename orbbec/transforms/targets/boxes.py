"""The upright boxes of a batch while they go through the passes of a plan, all at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import Any, TypeVar

import numpy as np
import torch

from orbbec._library import operators
from orbbec.bridge.arguments import Array
from orbbec.bridge.fakes import register_fake
from orbbec.plan.points import areas, without_covered
from orbbec.transforms.targets.fields import Field
from orbbec.transforms.targets.options import TargetOptions

_Boxes = TypeVar("_Boxes", bound="Boxes")


class Boxes:
    """Boxes of one image or of several, a row each.

    Args:
        table: float64 `[K, 7]`: left, top, right, bottom; then the part of each box that is visible, by which
            factor the visible area changed, and 0 for dropped boxes. `RotatedBoxes` has corners.
    """

    def __init__(self, table: Array) -> None:
        self.table = table
        self._dropped: int | None = None if len(table) else 0

    @classmethod
    def of(cls: type[_Boxes], numbers: Array) -> _Boxes:
        """Boxes that are visible as a whole, by the first numbers of their rows."""
        table = np.empty((len(numbers), numbers.shape[1] + 3))
        table[:, :-3], table[:, -3:] = numbers, 1.0
        return cls(table)

    def __len__(self) -> int:
        return len(self.table)

    @property
    def numbers(self) -> Array:
        """Left, top, right, bottom: float64 `[K, 4]`; of `RotatedBoxes` the corners, `[K, 8]`."""
        return self.table[:, :-3]

    @property
    def visible(self) -> Array:
        """The visible part of each box: float64 `[K]`."""
        return self.table[:, -3]

    @property
    def scale(self) -> Array:
        """The factors by which visible areas changed: float64 `[K]`."""
        return self.table[:, -2]

    @property
    def keep(self) -> Array:
        """False for dropped boxes: bool `[K]`."""
        result: Array = self.table[:, -1] != 0
        return result

    @property
    def mask(self) -> Array | None:
        """`keep` for `chosen_rows`; None: no box is dropped."""
        return self.keep if self.dropped else None

    @property
    def dropped(self) -> int:
        """The number of dropped boxes."""
        if self._dropped is None:
            self._dropped = len(self.table) - int(np.count_nonzero(self.table[:, -1]))
        return self._dropped

    @classmethod
    def joined(cls: type[_Boxes], several: Sequence[_Boxes]) -> _Boxes:
        """The boxes of several images."""
        return several[0] if len(several) == 1 else cls(np.concatenate([each.table for each in several]))

    def rows(self: _Boxes, rows: Any) -> _Boxes:
        """Some of the boxes."""
        return type(self)(self.table[rows])

    def split(self: _Boxes, counts: Sequence[int]) -> list[_Boxes]:
        """The boxes of each image."""
        if len(counts) == 1:
            return [self]
        return [self.rows(slice(*ends)) for ends in pairwise(accumulate(counts, initial=0))]

    def without_dropped(self: _Boxes) -> _Boxes:
        """The boxes that are left, whose areas begin to change from here."""
        boxes = self.rows(self.keep)
        boxes.scale[:] = 1.0
        return boxes

    def drop(self, dropped: Array) -> None:
        """Drop boxes, by index or bool `[K]`."""
        self.table[dropped, -1] = 0.0
        self._dropped = None if len(self.table) else 0

    def drop_small(self, sides: Array, left: Array, options: TargetOptions, checks_size: bool = True) -> None:
        """Drop boxes below thresholds, or with too little that is visible.

        Args:
            sides: float64 `[K, 2]`.
            left: float64 `[K]`, what is left of their areas.
            options: thresholds.
            checks_size: whether those of sides and areas count.
        """
        self.drop(self.visible < options.min_visibility - 1e-9)
        if checks_size:
            self.drop((sides < options.min_size).any(1) | (left < options.min_area * (1 - 1e-9)))

    def shrink(self, parts: Array) -> None:
        """Multiply what is visible, `[K]`."""
        self.table[:, -3:-1] *= parts[:, None]

    def through_pass(
        self: _Boxes,
        images: Array,
        matrices: Array | None,
        sizes: Array,
        regions: Array | None,
        options: TargetOptions,
    ) -> _Boxes:
        """The boxes after a pass, clipped; those of which too little is left are dropped.

        Args:
            images: int64 `[K]`: the image of each box.
            matrices: float64 `[N, 3, 3]`: output pixels to pixels of the crop; None: boxes stay in place.
            sizes: int64 `[N, 2]`: sizes of the outputs.
            regions: int64 `[N, 4]`: crops before the matrices; None: none.
            options: thresholds.
        """
        tables = (self.table, images, matrices, sizes, regions)
        tensors = [
            None if table is None else torch.from_numpy(np.ascontiguousarray(table)) for table in tables
        ]
        return type(self)(_move_boxes(*tensors, options.limits).numpy())

    def displaced(self: _Boxes, field: Field) -> _Boxes:
        """The boxes of one image after its pixels moved."""
        edges, visible = field.boxes(self.numbers)
        result = type(self)(np.concatenate([edges, self.table[:, -3:]], 1))
        result.shrink(visible)
        return result

    def hidden(self: _Boxes, region: Array, options: TargetOptions) -> _Boxes:
        """What is visible of the boxes of one image around left, top, right, bottom."""
        before, region = self.numbers, region.astype(float)
        covered = [np.maximum(before[:, :2], region[:2]), np.minimum(before[:, 2:], region[2:])]
        edges = without_covered(before, region)
        result = type(self)(np.concatenate([edges, self.table[:, -3:]], 1))
        result.hide(areas(before), areas(np.concatenate(covered, 1)), edges, options)
        return result

    def hide(self, full: Array, hidden: Array, edges: Array, options: TargetOptions) -> None:
        """Take areas `hidden` `[K]` from the visible ones, of `full`; `edges` `[K, 4]` bound the rest."""
        visible = np.where(full > 0, 1 - hidden / np.maximum(full, 1e-12), 1.0)
        self.shrink(visible)
        if options.drop_boxes:
            self.drop(visible <= 1e-9)
            self.drop_small(edges[:, 2:] - edges[:, :2], full * visible, options)


_move_boxes: Callable[..., torch.Tensor] = operators.move_boxes


@register_fake("move_boxes", boxes=2)
def _(boxes: torch.Tensor, *_: object) -> torch.Tensor:
    return torch.empty_like(boxes)
