"""The registers of a program: what rules compute for the images of a batch, or what a test presets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from orbbec.bridge.arguments import Array
from orbbec.plan.build import Build
from orbbec.plan.parameters import Batch, ParameterTable
from orbbec.plan.program import Program
from orbbec.plan.rules import REGISTERS, SIGNATURES

_FIRST_OPERAND = 5


class Drawn:
    """What a program computed for the images of a batch."""

    def __init__(self, program: Program, table: ParameterTable) -> None:
        self.program, self.table = program, table
        self._rows = program.code[: len(program.labels)].numpy()

    @property
    def state(self) -> Array:
        """The registers: float64 `[N, S]`."""
        return self.table.state

    @property
    def copies(self) -> Drawn:
        """The same for the K * N copies of a blend, first the first copy of every image."""
        (copies,) = self.program.copies
        return Drawn(copies.program, self.table.arrays[copies.blend.array])

    def of(self, rule: str, operand: int = 0, count: int = 1) -> Array:
        """Registers that are an operand of the rules of one name.

        Args:
            rule: the name of the rules.
            operand: index of the operand, which is a register; as in rules.h, a block takes two.
            count: number of registers from there on.

        Returns:
            float64 `[K, N, count]` of K rules, in order.
        """
        rows = self._rows[self._rows[:, 0] == SIGNATURES[rule].number]
        firsts = rows[:, _FIRST_OPERAND + operand].astype(int)
        return np.array([self.state[:, first : first + count] for first in firsts])


@dataclass(frozen=True)
class Preset:
    """Fills registers before the first rule of a program, in the manner of `plan.external.External`."""

    first: int
    values: Array  # [N, registers]
    rule: int = 0

    def fill(self, table: ParameterTable, batch: Batch) -> list[Any]:
        table.state[:, self.first : self.first + self.values.shape[1]] = self.values
        return []


def preset(build: Build, values: Any) -> int:
    """Reserve registers for `values` `[N, R]`; returns the first. Call it before Python draws anything."""
    rows = np.asarray(values, np.float64)
    first = build.new_registers(rows.shape[1])
    build.externals.insert(0, Preset(first, rows))
    return first


class Registers(Drawn):
    """What the rules of a transform compute for the images of a batch.

    Args:
        add: adds the rules, for example the `rules` of a transform.
        sizes: int64 `[N, 2]`.
        sample_ids: int64 `[N]`; None: 0 to N - 1.
        seed: seed of the pipeline.
        index: index of the transform in its pipeline.
        exact: see `Compose`.
        values: `[N, R]`: presets the first registers of the program, from `REGISTERS` on.
    """

    def __init__(
        self,
        add: Callable[[Build], Any],
        sizes: Any,
        sample_ids: Any = None,
        seed: int = 0,
        *,
        index: int = 0,
        exact: bool = False,
        values: Any = None,
    ) -> None:
        table = np.ascontiguousarray(sizes, np.int64)
        ids = np.arange(len(table)) if sample_ids is None else np.asarray(sample_ids, np.int64)
        batch = Batch(table, ids, seed)
        build = Build(3, "uint8", exact, batch=batch)
        if values is not None:
            assert preset(build, values) == REGISTERS
        build.stream = index
        build.streams = index + 1
        add(build)
        build.finish()
        program = Program.of(build)
        super().__init__(program, program.fill(batch))
