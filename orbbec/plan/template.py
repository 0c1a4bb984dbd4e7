"""Fast plans of pipelines whose random transforms only move pixels: all numbers are drawn in one call.

The passes of a pipeline do not depend on the draws, so its first plan, made step by step, is the template of
the others; only the numbers change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from orbbec.bridge.arguments import Array
from orbbec.plan.drawn import DrawnPass
from orbbec.plan.draws import draw_coordinates
from orbbec.plan.microbatches import microbatch_of
from orbbec.plan.passes import AugmentPass, Pass
from orbbec.plan.plan import Plan
from orbbec.plan.state import identities

_WIDTH = 10  # of a program row: kind, transform index, whether it begins a pass, parameters of the kind


class Coordinate(IntEnum):
    """The kinds of coordinate transforms, in the order of coordinates.h."""

    RESIZE = 0
    RESIZE_SHORTER = 1
    RESIZE_AREA = 2
    CROP = 3
    CENTER_CROP = 4
    FLIP_COLUMNS = 5
    FLIP_ROWS = 6


_KEEP_SIZE = (Coordinate.FLIP_COLUMNS, Coordinate.FLIP_ROWS)
_OF_ONE_SIZE = (Coordinate.RESIZE, Coordinate.RESIZE_AREA, Coordinate.CROP, Coordinate.CENTER_CROP)

Row: TypeAlias = tuple[float, ...]  # a kind and its parameters; empty: neither draws nor moves


def row_of(transform: Any) -> Row | None:
    """The `coordinates` of a transform; None if a subclass overrides how it draws."""
    for kind in type(transform).__mro__:
        if "coordinates" in vars(kind):
            row: Row | None = transform.coordinates()
            return row
        if not {"sample", "steps", "draw", "transform_count"}.isdisjoint(vars(kind)):
            return None
    return None


@dataclass(frozen=True, eq=False)
class Template:
    """What all plans of a pipeline have in common.

    Args:
        plan: any of the plans.
        program: float64 `[K, 10]`, see `draw_coordinates`.
        groups: index of each pass among the drawn ones; None for passes that move no pixels.
        drawn: number of drawn passes.
        at_once: the only pass, if it only moves pixels and its results have one size; else None.
    """

    plan: Plan
    program: Tensor
    groups: tuple[int | None, ...]
    drawn: int
    at_once: DrawnPass | None

    @classmethod
    def of(cls, plan: Plan, moves: Sequence[int], rows: Sequence[Row | None]) -> Template | None:
        """The template of a pipeline; None if it has none.

        Args:
            plan: a plan made step by step.
            moves: number of coordinate transforms of each pass.
            rows: the program row of each transform; None: it is drawn in another way.
        """
        indices = [index for index, row in enumerate(rows) if row]
        if (
            None in rows
            or not indices
            or sum(moves) != len(indices)
            or not all(map(lambda step, count: step.can_move(count), plan.passes, moves))
        ):
            return None
        program = torch.zeros(len(indices), _WIDTH, dtype=torch.float64, device="cpu")
        begins = {sum(moves[:n]) for n, count in enumerate(moves) if count} - {0}
        for n, index in enumerate(indices):
            kind, *numbers = rows[index] or ()
            values = kind, index, n in begins, *numbers
            program[n, : len(values)] = torch.tensor(values, dtype=torch.float64, device="cpu")
        groups = [sum(map(bool, moves[:n])) if count else None for n, count in enumerate(moves)]
        drawn = sum(map(bool, moves))
        at_once = _drawn_pass(plan, program, [row for row in rows if row])
        return cls(microbatch_of(plan, slice(0, 1)), program, tuple(groups), drawn, at_once)

    def fill(self, sizes: Array, sample_ids: Array, seed: int, epoch: int) -> Plan:
        """The plan for other images.

        Raises:
            ValueError: an image is too small for a crop.
        """
        passes: list[Pass] = []
        outputs, count = sizes, len(sizes)
        drawn = draw_coordinates(sizes, sample_ids, self.program, self.drawn, seed, epoch)
        for step, group in zip(self.plan.passes, self.groups, strict=True):
            if group is None:
                passes.append(step.moved(identities(count), outputs))
                continue
            numbers = drawn[group]
            outputs = numbers[13 * count : 15 * count].reshape(count, 2).astype(np.int64)
            boxes, flips = numbers[9 * count : 13 * count].reshape(count, 4), numbers[15 * count :]
            passes.append(step.moved(numbers[: 9 * count].reshape(count, 3, 3), outputs, boxes, flips))
        return self.plan.redrawn(sizes, sample_ids, tuple(passes), seed, epoch)


def _drawn_pass(plan: Plan, program: Tensor, rows: Sequence[Row]) -> DrawnPass | None:
    """The only pass of a pipeline if its results have one size whatever is drawn; else None."""
    step, sizing = plan.passes[0], [row for row in rows if row[0] not in _KEEP_SIZE]
    if len(plan.passes) > 1 or not isinstance(step, AugmentPass) or step.dtype == "uint16":
        return None
    if not sizing or sizing[-1][0] not in _OF_ONE_SIZE:
        return None
    height, width = map(int, sizing[-1][1:3])
    return DrawnPass.of(step, program, getattr(torch, plan.dtype), (height, width))
