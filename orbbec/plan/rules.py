"""Rules: the rows of a program, which `draw` runs in order for each image.

rules.h lists them: what each draws or changes, and its operands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from orbbec._library import operators
from orbbec.bridge.arguments import Array


class _Signature(NamedTuple):
    number: int
    outputs: int
    operands: tuple[str, ...]


_LINES = operators.program_names().splitlines()
SIGNATURES = {
    name: _Signature(number, int(outputs), tuple(operands.split()))
    for number, (name, outputs, operands) in enumerate(line.split(":") for line in _LINES[:-7])
}
# The operators that `run` calls, with the names of their arguments; "name:index" is an element of a constant.
RUN_OPERATORS = {
    name: tuple(names) for name, *names in (text.split() for text in _LINES[-7].split(";") if text)
}
# Of binding_passes.h; PASS_LAYOUT has the index of each number of a pass.
READINGS, BORDERS, DTYPES, KINDS = (tuple(line.split()) for line in _LINES[-6:-2])
PASS_LAYOUT, _LAYOUT = (
    {name: int(value) for name, _, value in (text.partition("=") for text in line.split())}
    for line in _LINES[-2:]
)
WIDTH = _LAYOUT["row_numbers"]
PER_FRAME = _LAYOUT["per_frame"]  # added to the stream of a rule that draws for each frame of a clip
REGISTERS = _LAYOUT["registers"]  # the first register of a program; those before describe the image
IMAGE_HEIGHT, IMAGE_WIDTH = _LAYOUT["height"], _LAYOUT["width"]  # registers of the output so far
TOTAL = _LAYOUT["total"]  # the register of the matrix from the current output to the image
# Registers of a pass, from its first.
MATRIX, HEIGHT, BOX, FLIPPED, OFFSET, COLOR_ROWS, PASS_REGISTERS = (
    _LAYOUT[f"pass_{name}"]
    for name in ("matrix", "height", "box", "flipped", "offset", "color_rows", "registers")
)
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


def row_of_pass(numbers: Mapping[str, float | Sequence[float]]) -> list[float]:
    """The row of a pass, from its numbers by the names of binding_passes.h.

    A block of words that is not named is none, -1; other numbers are 0.
    """
    row = [0.0] * PASS_LAYOUT["numbers"]
    for name in ("matrix", "region") if "arguments" not in numbers else ():
        row[PASS_LAYOUT[f"{name}_words"]] = -1.0
    for name, number in numbers.items():
        values = number if isinstance(number, (tuple, list)) else (number,)
        row[PASS_LAYOUT[name] : PASS_LAYOUT[name] + len(values)] = values
    return row


def padded(values: Sequence[float]) -> list[float]:
    """Numbers as whole rows, with 0 after them."""
    return [*values, *[0.0] * (-len(values) % WIDTH)]


def table_of(rows: Sequence[float]) -> Array:
    """Rows as the operators read them: float64 `[K, 16]`."""
    return np.array(rows, np.float64).reshape(-1, WIDTH)
