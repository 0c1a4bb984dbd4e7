"""Steps that are separate passes: operators."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from orbbec.bridge.arguments import Array
from orbbec.plan.build import Build
from orbbec.plan.parameters import Column, OperatorStep
from orbbec.plan.state import BatchState
from orbbec.plan.steps.base import Step, geometry_of, least_after, static_size, warp_numbers


@dataclass(frozen=True, eq=False)
class Operator(Step):
    """A registered operator, with a row of arguments per image.

    Args:
        name: name of the operator.
        table: arrays `[N]` or `[N, ...]`, by argument name.
        options: arguments that are the same for all images.
        drawn: bool `[N]`: the images that it changes; the others keep their bytes.
        matrix: float64 `[N, 3, 3]`, output to source pixels, if it moves pixels; needs `sizes`.
        sizes: int64 `[N, 2]`: sizes of its output, if it changes sizes.
        why: why it cannot be fused.
        channels: number of output channels, if it changes them.
        least: see `Warp`.
    """

    name: str
    table: Mapping[str, Array] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    drawn: Array | None = None
    matrix: Array | None = None
    sizes: Array | None = None
    why: str = "reads neighboring pixels"
    channels: int | None = None
    least: tuple[int, int] = (1, 1)

    def only(self, chosen: Array, state: BatchState) -> Operator:
        if self.channels is not None:
            raise ValueError(f"{self.name}: images of one batch all get other channels, or none")
        if self.matrix is None:
            return replace(self, drawn=chosen if self.drawn is None else chosen & self.drawn)
        rows = self.table["matrix"]
        matrix = np.where(chosen[:, None, None], rows, np.eye(3)[: rows.shape[1]])
        return replace(self, table={**self.table, "matrix": matrix}, **geometry_of(self, chosen, state))

    def after(self, state: BatchState) -> BatchState:
        if self.channels is not None:
            return replace(state, channels=self.channels)
        return state if self.sizes is None else state.of_sizes(self.sizes, least_after(self, state))

    @property
    def structure(self) -> Hashable:
        options = tuple((name, _plain(value)) for name, value in self.options.items())
        moves = self.matrix is not None, self.sizes is not None
        return self.name, tuple(self.table), options, self.drawn is None, *moves, self.channels, self.least

    def add(self, build: Build, state: BatchState, register: int) -> None:
        columns = {name: Column("step", build.arrays, value=name) for name in self.table}
        build.arrays += 1
        drawn = None if self.drawn is None else register
        step = OperatorStep(self.name, columns, self.options, drawn, self.why)
        if self.matrix is None:
            build.operator(step, resizes=self.sizes is not None, channels=self.channels)
            return
        build.operator(
            step,
            "step_warp",
            register + (drawn is not None),
            0,
            size=static_size(self, state),
            least=self.least,
            resizes=self.sizes is not None,
            channels=self.channels,
        )

    def numbers(self) -> Array | None:
        columns = [] if self.drawn is None else [self.drawn[:, None]]
        if self.matrix is not None:
            columns.append(warp_numbers(self.matrix, self.sizes))
        return np.concatenate(columns, 1) if columns else None

    @property
    def array(self) -> Mapping[str, Array]:
        return self.table


def _plain(value: Any) -> Hashable:
    return tuple(value) if isinstance(value, list) else value
