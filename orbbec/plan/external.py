"""Transforms whose steps Python draws: custom ones, and those that read targets.

`draw` stops before them; their steps, tables with a row per image, fill the registers of the rules that
follow. The masks of a mix that pastes objects follow from targets too, once these have moved that far.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from orbbec.augment.codes import ERASE_WIDTH
from orbbec.bridge.arguments import Array
from orbbec.plan.build import Build
from orbbec.plan.parameters import Batch, Column, ParameterTable
from orbbec.plan.program import Program
from orbbec.plan.rules import TOTAL
from orbbec.plan.state import BatchState
from orbbec.plan.steps.base import Step

# Takes the state of the batch, the batch, and the matrices from current pixels to images; None once mixed.
Draw: TypeAlias = Callable[[BatchState, Batch, Array | None], Sequence[Step]]


class NeedsBatch(ValueError):
    """Python draws steps, so that the pipeline can only be compiled for a batch."""


class _Address(NamedTuple):
    """Where a step's numbers go, and what rectangles are multiplied by and added to."""

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
        parts = self.steps(table, batch)
        if [part.structure for part in parts] != self.structure:
            raise ValueError(
                f"{self.name}: expected the same steps for every batch, but got other ones; "
                "what a step may do must not depend on what is drawn"
            )
        arrays: list[Any] = []
        for part, address in zip(parts, self.addresses, strict=True):
            numbers = part.numbers()
            if numbers is not None:
                if address.fill_units is not None:
                    _convert_fills(numbers, address.fill_units)
                table.state[:, address.register : address.register + numbers.shape[1]] = numbers
            if part.array is not None:
                arrays.append(part.array)
        return arrays

    def steps(self, table: ParameterTable, batch: Batch) -> list[Step]:
        """Draw the steps, in the parts that passes are made of."""
        state = replace(self.state, sizes=table.state[:, :2].astype(np.int64))
        matrices = None if self.mixed else table.state[:, TOTAL : TOTAL + 9].reshape(-1, 3, 3)
        if self.gate is None:
            steps = self.draw(state, batch, matrices)
        else:
            chosen = table.state[:, self.gate] != 0
            steps, before = [], state
            for step in self.draw(state.only(chosen), batch, matrices):
                steps.append(step.only(chosen, before))
                before = steps[-1].after(before)
        return [part for step in steps for part in step.parts(self.state.exact)]


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
    table = Program.of_rules(build).fill(build.batch)
    parts = external.steps(table, build.batch)
    build.externals.append(external)
    gate, build.gate, build.is_conditional = build.gate, None, build.gate is not None
    for part in parts:
        numbers = part.numbers()
        register = build.new_registers(0 if numbers is None else numbers.shape[1])
        external.addresses.append(_Address(register, part.add(build, state, register)))
        external.structure.append(part.structure)
        state = part.after(state)
    build.gate, build.is_conditional = gate, False


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
