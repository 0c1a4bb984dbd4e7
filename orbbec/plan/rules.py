"""Rules: the rows of a program, which `draw` runs in order for each image.

rules.h lists them: what each draws or changes, and its operands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from orbbec._library import operators
from orbbec.bridge.arguments import Array

WIDTH = 16  # numbers of a row
PER_FRAME = 65536  # added to the stream of a rule that draws for each frame of a clip
REGISTERS = 29  # the first register of a program; those before describe the image

IMAGE_HEIGHT, IMAGE_WIDTH = 0, 1  # registers of the output so far
HEIGHT, MATRIX, BOX, FLIPPED, OFFSET, COLOR_ROWS = 9, 0, 11, 15, 16, 18  # of a pass, from its first register
PASS_REGISTERS = 19
TOTAL = 20  # the register of the matrix from the current output to the image


class _Signature(NamedTuple):
    number: int
    outputs: int
    operands: tuple[str, ...]


def _signatures(lines: Sequence[str]) -> dict[str, _Signature]:
    fields = (line.split(":") for line in lines)
    return {
        name: _Signature(number, int(outputs), tuple(operands.split()))
        for number, (name, outputs, operands) in enumerate(fields)
    }


_LINES = operators.program_names().splitlines()
SIGNATURES = _signatures(_LINES[:-4])
# The operators that `run` calls, with the names of their arguments; "name:index" is an element of a constant.
RUN_OPERATORS = {
    name: tuple(names) for name, *names in (text.split() for text in _LINES[-4].split(";") if text)
}
READINGS, BORDERS, DTYPES = (tuple(line.split()) for line in _LINES[-3:])  # of binding_passes.h
_FIRST_COLOR = SIGNATURES["color"].number


@dataclass(eq=False)
class Block:
    """A block of the words that kernels read: rows of some numbers for each image."""

    numbers: int  # of a row
    rows: int = 0
    offset: int = -1  # in words per image

    @property
    def words(self) -> int:
        """The number of words per image."""
        return self.numbers * self.rows

    @property
    def start(self) -> int:
        """Its offset; -1 without rows."""
        return self.offset if self.rows else -1


Operand: TypeAlias = float | Block | tuple[float, ...]  # a tuple: constants


@dataclass(eq=False)
class Rule:
    """A row of a program.

    Args:
        name: its name in rules.h.
        operands: numbers; a block stands for its offset and its rows, a tuple for constants.
        stream: index of the transform whose random numbers it draws, plus PER_FRAME for each frame its own.
        first: the first of these numbers.
        gate: the register that must not be 0 for it to run; -1: it always runs.
        out: its first output register, or -1.
        owner: the pass that it belongs to; None: it only computes registers.
        label: name of its transform, for messages.
    """

    name: str
    operands: Sequence[Operand] = ()
    stream: int = 0
    first: int = 0
    gate: int = -1
    out: int = -1
    owner: Any = None
    label: str = ""

    @property
    def can_refuse(self) -> bool:
        """Whether it refuses images that are too small."""
        pads = {"crop_random": 6, "crop_fixed": 4}  # the operand that says whether it pads instead
        return self.name in pads and not self.operands[pads[self.name]]

    @property
    def writes_words(self) -> bool:
        return SIGNATURES[self.name].number >= _FIRST_COLOR


def rows_of(rules: Sequence[Rule]) -> list[float]:
    """The rows of a program, one for each rule, then its constants."""
    constants: dict[tuple[float, ...], int] = {}
    rows: list[float] = []
    tail: list[float] = []

    def numbers(operand: Operand) -> tuple[float, ...]:
        if isinstance(operand, Block):
            return operand.offset, operand.rows
        if not isinstance(operand, tuple):
            return (operand,)
        if operand not in constants:
            constants[operand] = len(rules) + len(tail) // WIDTH
            tail.extend(padded(operand))
        return (constants[operand],)

    for rule in rules:
        operands = (number for operand in rule.operands for number in numbers(operand))
        head = SIGNATURES[rule.name].number, rule.stream, rule.first, rule.gate, rule.out
        rows += padded((*head, *operands))
    return rows + tail


def padded(values: Sequence[float]) -> list[float]:
    """Numbers as whole rows, with 0 after them."""
    return [*values, *[0.0] * (-len(values) % WIDTH)]


def table_of(rows: Sequence[float]) -> Array:
    """Rows as the operators read them: float64 `[K, 16]`."""
    return np.array(rows, np.float64).reshape(-1, WIDTH)
