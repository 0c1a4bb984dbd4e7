"""The numbers of a program: what transforms draw and compute for each image, in registers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from orbbec.plan.rules import PER_FRAME, REGISTERS, SIGNATURES, Operand, Rule


class Registers:
    """Adds rules that draw and compute numbers; a register is known by its index."""

    def __init__(self) -> None:
        self.rules: list[Rule] = []
        self.registers = REGISTERS  # their number
        self.gate: int | None = None  # the register that says whether an image takes the current transform
        self.name, self.stream, self.position = "", 0, 0  # of the transform: its stream, its next number
        self.is_per_frame = False  # whether each frame of a clip draws its own numbers

    def add_rule(
        self,
        name: str,
        operands: Sequence[Operand],
        gate: int | None = None,
        out: int = -1,
        owner: Any = None,
        first: int | None = None,
    ) -> None:
        """Append a rule; `first` is its place in the stream, by default the next one."""
        position = self.position if first is None else first
        number = -1 if gate is None else gate
        stream = self.stream + PER_FRAME * self.is_per_frame
        self.rules.append(Rule(name, operands, stream, position, number, out, owner, self.name))

    def new_registers(self, count: int) -> int:
        """Reserve registers; returns the first."""
        self.registers += count
        return self.registers - count

    def compute(
        self, name: str, *operands: Operand, outputs: int = 0, draws: int = 0, first: int | None = None
    ) -> int:
        """Add a rule that computes registers; returns the first.

        Args:
            name: see rules.h.
            operands: its operands.
            outputs: number of output registers, if the rule has no fixed number.
            draws: random numbers that it takes from the stream of the transform.
            first: the first of them, if not the next one.
        """
        out = self.new_registers(outputs or SIGNATURES[name].outputs)
        self.add_rule(name, operands, out=out, first=first)
        self.position += draws if first is None else 0
        return out

    def constant(self, value: float) -> int:
        """A register with a number."""
        return self.compute("set", float(value))

    def constants(self, values: Sequence[float]) -> int:
        """Consecutive registers with numbers."""
        return self.consecutive([self.constant(value) for value in values])

    def consecutive(self, registers: Sequence[int]) -> int:
        """The first of some registers, which must follow each other."""
        assert list(registers) == list(range(registers[0], registers[0] + len(registers)))
        return registers[0]

    def copies(self, registers: Sequence[int]) -> int:
        """Copies of registers, one after the other; returns the first."""
        return self.consecutive([self.compute("copy", register) for register in registers])

    def uniform(self, low: float = 0.0, high: float = 1.0) -> int:
        """A number from `low` to `high`."""
        return self.compute("uniform", low, high, draws=1)

    def whole(self, low: float, count: int, step: float = 1.0) -> int:
        """One of `count` numbers from `low`, in steps of `step`."""
        return self.compute("whole", low, count, step, draws=1)

    def uniform_in(self, ends: Any) -> int:
        """A number of a range (low, high), which an argument of a transform is after construction."""
        low, high = ends
        return self.uniform(low, high)

    def whole_in(self, ends: Any, step: int = 1) -> int:
        """A whole number of such a range, in steps of `step`."""
        low, high = ends
        return self.whole(low, (high - low) // step + 1, step)

    def each_of(self, counts: Any) -> Iterator[int]:
        """Whether there is a first thing, a second one, and so on, of a drawn number (low, high) of them."""
        count = self.whole_in(counts)
        return (self.compute("at_most", self.constant(index + 1), count) for index in range(counts[1]))

    def chance(self, p: float) -> int:
        """1 with probability `p`, else 0."""
        return self.compute("chance", p, draws=1)

    def choice(self, weights: Sequence[float]) -> int:
        """An index, by cumulative weights."""
        return self.compute("choice", tuple(weights), len(weights), draws=1)

    def permutation(self, count: int) -> int:
        """The numbers 0 to `count` - 1 in random order."""
        return self.compute("permutation", count, outputs=count, draws=count)

    def order(self, weights: Sequence[float]) -> int:
        """The numbers of some weights in random order, each next with a probability in proportion to its."""
        count = len(weights)
        return self.compute("order", count, tuple(weights), count, outputs=count, draws=count)

    def beta(self, alpha: float) -> int:
        """A number from the distribution Beta(alpha, alpha)."""
        return self.compute("beta", _shape(alpha), draws=98 if alpha < 1 else 96)

    def dirichlet(self, count: int, alpha: float) -> int:
        """Weights from the symmetric Dirichlet distribution; returns the first."""
        draws = count * (49 if alpha < 1 else 48)
        return self.compute("dirichlet", count, _shape(alpha), outputs=count, draws=draws)

    def sort(self, register: int, count: int) -> None:
        """Sort consecutive registers in place, ascending."""
        self.add_rule("sort", (count,), out=register)

    def equal(self, register: int, value: float) -> int:
        """1 where a register has this value, else 0."""
        return self.compute("equal", register, value)

    def within_epochs(self, chance: int | None, epochs: tuple[int, int] | None) -> int | None:
        """`chance` from the first epoch to before the second, else 0; None: always."""
        if epochs is None:
            return chance
        within = self.compute("epochs", *epochs)
        return within if chance is None else self.both(chance, within)

    def both(self, one: int, other: int) -> int:
        """1 where neither is 0, else 0."""
        return self.compute("both", one, other)

    def sum(self, first: int, *others: int) -> int:
        """The sum of registers."""
        for other in others:
            first = self.compute("sum", first, other)
        return first

    def negative(self, register: int) -> int:
        """A register times -1."""
        return self.compute("times", register, self.constant(-1.0))

    def difference(self, register: int, other: int) -> int:
        """A register less another."""
        return self.sum(register, self.negative(other))

    def below(self, count: int) -> int:
        """A whole number from 0 to less than a register."""
        return self.compute("floor", self.compute("times", self.uniform(), count))

    def lookup(self, register: int, values: Sequence[float]) -> int:
        """The entry of a table at an index."""
        return self.compute("lookup", register, tuple(values), len(values))

    @contextmanager
    def only(self, register: int) -> Iterator[None]:
        """Apply what is added within to the images where a register is not 0."""
        outer = self.gate
        self.gate = register if outer is None else self.both(outer, register)
        yield
        self.gate = outer

    @contextmanager
    def per_frame(self) -> Iterator[None]:
        """Draw what is added within for each frame of a clip."""
        outer, self.is_per_frame = self.is_per_frame, True
        yield
        self.is_per_frame = outer

    def select(self, condition: int, register: int, otherwise: float) -> int:
        """A register where another is not 0, else a number."""
        return self.compute("select", condition, register, otherwise)

    def selects(self, condition: int, registers: Sequence[int], others: Sequence[float]) -> int:
        """Registers where another is not 0, else numbers, one after the other; returns the first."""
        pairs = zip(registers, others, strict=True)
        return self.consecutive([self.select(condition, *pair) for pair in pairs])

    def chosen(self, drawn: int | None) -> int | None:
        """The register that says whether an image is changed; None: all are."""
        if self.gate is None or drawn is None:
            return drawn if self.gate is None else self.gate
        return self.both(self.gate, drawn)


def _shape(alpha: float) -> float:
    """A shape that a rule takes; such large ones give the same weights."""
    return min(alpha, 1e30)


def log_range(low: float, high: float) -> tuple[float, float]:
    """The logarithms of the ends of a range."""
    return math.log(low), math.log(high)
