"""Programs written row by row, for tests of the operator `draw`."""

from typing import NamedTuple

import numpy as np
import torch

from orbbec.plan.parameters import ParameterTable
from orbbec.plan.rules import (
    COLOR_ROWS,
    FLIPPED,
    OFFSET,
    PASS_REGISTERS,
    REGISTERS,
    SIGNATURES,
    Rule,
    rows_of,
    table_of,
)

SIZES = [(5, 7), (9, 4), (1, 1), (31, 40), (40, 31), (12, 12), (8, 13)]
KEY = {"seed": 8, "epoch": 2}
IDS = np.array([3, -4, 70, 8, 0, 5, 2**40])
DRAW = torch.ops.orbbec.draw


def draw(code, sizes, sample_ids, registers, words=0, begin=0, end=None):
    """Run a program `[K, 16]` on images; returns the registers and the words."""
    code = torch.as_tensor(np.asarray(code))
    state = torch.zeros(len(sizes), registers, dtype=torch.float64)
    floats = torch.zeros(len(sizes) * words)
    tensors = code, torch.from_numpy(np.array(sizes).reshape(-1, 2)), torch.from_numpy(np.array(sample_ids))
    DRAW(*tensors, *KEY.values(), begin, len(code) if end is None else end, state, floats)
    return state.numpy(), floats.numpy()


class Rows:
    """A program; every row draws from a stream of its own, unless it says which."""

    def __init__(self):
        self.rules, self.registers, self.passes = [], REGISTERS, []

    def add(self, name, *operands, outputs=0, gate=-1, stream=None, first=0):
        """Add a rule; returns its first output register."""
        count = outputs or SIGNATURES[name].outputs
        out = self.registers if count else -1
        self.registers += count
        stream = len(self.rules) if stream is None else stream
        self.rules.append(Rule(name, operands, stream, first, gate, out))
        return out

    def set(self, *values):
        """Registers with numbers; returns the first."""
        first, *_ = [self.add("set", float(value)) for value in values]
        return first

    def end_pass(self, *words):
        """End the pass."""
        self.passes.append(self.add("end_pass", *(words or (-1, -1, 0, -1, -1)), outputs=PASS_REGISTERS))

    def table(self):
        """The program as a table `[K, 16]`."""
        return table_of(rows_of(self.rules))

    def run(self, sizes, sample_ids=None, words=0):
        """The registers and words of images."""
        ids = IDS[: len(sizes)] if sample_ids is None else sample_ids
        state, floats = draw(self.table(), sizes, ids, self.registers, words, 0, len(self.rules))
        return ParameterTable(state, floats, [], [])


class Pass(NamedTuple):
    """The numbers of a pass, with a row per image."""

    matrices: np.ndarray
    boxes: np.ndarray
    outputs: np.ndarray
    flips: np.ndarray
    offsets: np.ndarray


def passes_of(rows, sizes=SIZES):
    """The passes of a program."""
    table = rows.run(sizes)
    for out in rows.passes:
        assert (table.state[:, out + COLOR_ROWS] == 0).all()
        offsets = table.state[:, out + OFFSET : out + OFFSET + 2]
        flips = table.state[:, out + FLIPPED]
        yield Pass(table.matrices(out), table.boxes(out), table.sizes(out), flips, offsets)


def drawn(*rows, sizes=SIZES, begins=()):
    """The passes of geometry rules, each a tuple of its name and operands; streams are those of the rows."""
    program = Rows()
    for index, (name, *operands) in enumerate(rows):
        if index in begins:
            program.end_pass()
        program.add(name, *operands, stream=index)
    program.end_pass()
    return passes_of(program, sizes)


def computed(name, *registers, operands=(), sizes=SIZES):
    """The pass of a rule that reads registers, which have the values given."""
    program = Rows()
    first = program.set(*registers)
    count = 1 if name == "affine" else len(registers)  # affine reads seven from the first
    program.add(name, *range(first, first + count), *operands)
    program.end_pass()
    (table,) = passes_of(program, sizes)
    return table
