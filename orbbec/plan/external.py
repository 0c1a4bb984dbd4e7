"""Transforms whose steps Python draws: custom ones, and those that read targets.

`draw` stops before them; their steps, tables with a row per image, fill the registers of the rules that
follow. The masks of a mix that pastes objects follow from targets too, once these have moved that far.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from orbbec.augment.codes import ERASE_WIDTH
from orbbec.bridge.arguments import Array
from orbbec.bridge.plain import is_sequence, shown
from orbbec.plan.build import Build
from orbbec.plan.parameters import Batch, Column, ParameterTable
from orbbec.plan.program import Program
from orbbec.plan.rules import TOTAL
from orbbec.plan.steps import BatchState, Operator, Step

# Takes the state of the batch, the batch, and the matrices from current pixels to images; None once mixed.
Draw: TypeAlias = Callable[[BatchState, Batch, Array | None], Sequence[Step]]


class NeedsBatch(ValueError):
    """Python draws steps, so that the pipeline can only be compiled for a batch."""


class _Address(NamedTuple):
    """Where a step's numbers go, and what rectangles are multiplied by and added to."""

    drawn: int
    register: int
    fill_units: tuple[list[float], list[float]] | None


@dataclass(eq=False)
class External:
    """The steps that Python draws at one point of a program.

    Args:
        draw: draws them.
        name: name of the transform.
        rule: index of the first rule after them.
        gate: the register of the images that they apply to; None: all.
        state: the state of a batch at this point, without images.
        mixed: whether images were mixed before.
    """

    draw: Draw
    name: str
    rule: int
    gate: int | None
    state: BatchState
    mixed: bool
    structure: list[Hashable] = field(default_factory=list)
    addresses: list[_Address] = field(default_factory=list)

    def fill(self, table: ParameterTable, batch: Batch) -> list[Any]:
        """Draw the steps, write their numbers to the registers, and return the tables of operators."""
        parts = self.steps(self.state_of(table), table, batch)
        if [part.structure for part in parts] != self.structure:
            raise ValueError(
                f"{self.name}: expected the same steps for every batch, but got other ones; "
                "what a step may do must not depend on what is drawn"
            )
        for part, address in zip(parts, self.addresses, strict=True):
            numbers = part.numbers()
            if address.fill_units is not None:
                _convert_fills(numbers, address.fill_units)
            table.state[:, address.register : address.register + numbers.shape[1]] = numbers
            if part.drawn is not None:
                table.state[:, address.drawn] = part.drawn
        return [part.table for part in parts if isinstance(part, Operator)]

    def state_of(self, table: ParameterTable) -> BatchState:
        """The state of a batch before the steps."""
        chosen = None if self.gate is None else table.state[:, self.gate] != 0
        return replace(self.state, sizes=table.state[:, :2].astype(np.int64), chosen=chosen)

    def steps(self, state: BatchState, table: ParameterTable, batch: Batch) -> list[Step]:
        """Draw the steps, in the parts that passes are made of."""
        matrices = None if self.mixed else table.state[:, TOTAL : TOTAL + 9].reshape(-1, 3, 3)
        steps = self.draw(state, batch, matrices)
        if not is_sequence(steps) or not all(isinstance(step, Step) for step in steps):
            raise TypeError(f"{self.name}: expected steps as a list of Step, but got {shown(steps):.80}")
        return [part for step in steps for part in step.parts(state.exact)]


def _convert_fills(rectangles: Array, units: tuple[list[float], list[float]]) -> None:
    """Convert the fills of rectangles `[N, 8 * E]`; overwrites them."""
    factors, summands = units
    fills = rectangles.reshape(-1, ERASE_WIDTH)[:, 4 : 4 + len(factors)]
    fills *= factors
    fills += summands


def trace(build: Build, draw: Draw) -> None:
    """Compile the steps that Python draws for a transform; they are those of the first batch."""
    if build.batch is None:
        raise NeedsBatch(f"{build.name}: its steps depend on a batch")
    state = BatchState(
        np.zeros((0, 2), np.int64), build.channels, build.maximum, build.exact, None, build.least
    )
    external = External(draw, build.name, len(build.rules), build.gate, state, build.mixes)
    table = Program.of(build, is_finished=False).fill(build.batch)
    first = external.state_of(table)
    parts, sizes = external.steps(first, table, build.batch), first.sizes
    build.externals.append(external)
    for part in parts:
        drawn = build.new_registers(int(part.drawn is not None))
        register = build.new_registers(part.numbers().shape[1])
        with build.only(drawn) if part.drawn is not None else nullcontext():
            units = part.add(build, sizes, register)
        external.addresses.append(_Address(drawn, register, units))
        external.structure.append(part.structure)
        after = getattr(part, "sizes", None)
        sizes = sizes if after is None else after


class _NoMasks(NamedTuple):
    """Fills the table with masks without pixels; see `MixPass.set_masks`.

    Args:
        rule: index of the first rule after it.
    """

    rule: int

    def fill(self, table: ParameterTable, batch: Batch) -> list[Any]:
        return [{"masks": np.zeros((len(table), 0, 0), bool)}]


def masks_of_targets(build: Build) -> Column:
    """The column of the masks of the mix that is added next."""
    build.externals.append(_NoMasks(len(build.rules)))
    build.arrays += 1
    return Column("step", build.arrays - 1, dtype="bool", value="masks")
