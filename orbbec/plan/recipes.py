"""The passes of a program before anything is drawn: each makes a pass from the parameter table of a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from orbbec.bridge.arguments import Array
from orbbec.bridge.spec import OPERATORS
from orbbec.plan.passes import AugmentPass, BlendPass, MixPass, OperatorPass, Pass
from orbbec.plan.rules import (
    BORDERS,
    BOX,
    COLOR_ROWS,
    DTYPES,
    FLIPPED,
    HEIGHT,
    MATRIX,
    OFFSET,
    READINGS,
    Block,
    Rule,
)

Size: TypeAlias = tuple[int, int]
ALIKE = (-1, -1)  # as a size: equal for images of equal sizes
VARIES = (0, 0)  # as a size: it depends on the image or on the draws


@dataclass(frozen=True, eq=False)
class ParameterTable:
    """The parameters of a batch, with a row per image.

    Args:
        state: float64 `[N, S]`: the registers.
        words: float32 `[N * W]`: what kernels read, in blocks.
        arrays: tables of the steps that Python draws.
    """

    state: Array
    words: Array
    arrays: list[Any]

    def __len__(self) -> int:
        return len(self.state)

    def block(self, block: Block) -> Array:
        """The rows of a block: float32 `[N, rows, numbers]`."""
        begin, count = block.offset * len(self), block.words * len(self)
        return self.words[begin : begin + count].reshape(len(self), block.rows, block.numbers)

    def sizes(self, out: int) -> Array:
        """The sizes of the outputs of a pass: int64 `[N, 2]`."""
        return self.state[:, out + HEIGHT : out + HEIGHT + 2].astype(np.int64)

    def matrices(self, out: int) -> Array:
        """The matrices of a pass: float64 `[N, 3, 3]`."""
        return self.state[:, out + MATRIX : out + MATRIX + 9].reshape(-1, 3, 3)

    def boxes(self, out: int) -> Array:
        """What a pass reads, as left, top, right, bottom: float64 `[N, 4]`."""
        return self.state[:, out + BOX : out + BOX + 4]


class Batch(NamedTuple):
    """What the parameters of a batch depend on."""

    sizes: Array  # int64 [N, 2]
    sample_ids: Array  # int64 [N]
    seed: int = 0
    epoch: int = 0
    targets: Sequence[Any] | None = None  # one per image, for transforms that read them


class Column(NamedTuple):
    """A column of an operator's table.

    Args:
        kind: "registers", "constant", "box" or "matrix" (of the pass), "previous" (indices of images), or
            "step" (a table of a step).
        at: the first register, or the index of the table of a step; for "previous" the register of the images
            that have others, or -1: all.
        shape: of a row; for "matrix" the number of its rows.
        dtype: of the column.
        value: the row of a constant, the name of a column of a step, or how many images before.
    """

    kind: str
    at: int = 0
    shape: tuple[int, ...] = ()
    dtype: str = "float64"
    value: Any = None

    def of(self, table: ParameterTable, out: int) -> Array:
        """The column of a batch; `out` is the first register of the pass."""
        if self.kind == "step":
            column: Array = table.arrays[self.at][self.value]
            return column
        if self.kind == "constant":
            return np.tile(np.array(self.value, self.dtype), (len(table), *(1,) * len(self.shape)))
        if self.kind == "previous":
            return self._previous(table)
        if self.kind == "box":
            return table.boxes(out).astype(self.dtype)
        if self.kind == "matrix":
            return table.matrices(out)[:, : self.shape[0]]
        width = int(np.prod(self.shape, dtype=int))
        values = table.state[:, self.at : self.at + width].reshape(len(table), *self.shape)
        return values.astype(self.dtype)

    def _previous(self, table: ParameterTable) -> Array:
        """Indices of images of the batch, cyclically; those of the image itself where it has no others."""
        every = np.arange(len(table))
        indices = np.stack([np.roll(every, shift) for shift in self.value], 1)
        if self.at >= 0:
            indices = np.where(table.state[:, [self.at]] != 0, indices, every[:, None])
        return indices.reshape(len(table), *self.shape)


BOXES = Column("box")


@dataclass(frozen=True)
class OperatorStep:
    """An operator for `Build.operator`; see there."""

    name: str
    columns: Mapping[str, Column] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    drawn: int | None = None
    why: str = "reads neighboring pixels"


class Recipe:
    """A pass before anything is drawn.

    Attributes:
        out: its first register.
        size: of its outputs: (height, width), `ALIKE` or `VARIES`.
        dtype: name of the dtype of its outputs.
        blocks: its blocks of words.
        partial_blocks: those of which an image may have fewer rows.
        runs: whether `run` runs it.
    """

    out: int
    size: Size
    dtype: str
    blocks: Sequence[Block] = ()
    partial_blocks: Sequence[Block] = ()
    runs = False

    @property
    def static_size(self) -> Size:
        """The size of its outputs; zeros if it is not known before they are drawn."""
        return self.size if self.size[0] > 0 else (0, 0)

    def end(self) -> Rule:
        """The rule that writes its numbers."""
        return Rule("end_pass", (-1, -1, 0, -1, -1), out=self.out)

    def numbers(self) -> list[float]:
        """Its numbers, as binding_passes.h has them; none if `run` does not run it."""
        return []

    def of(self, table: ParameterTable) -> Pass:
        """The pass of a batch."""
        raise NotImplementedError


@dataclass(eq=False)
class AugmentRecipe(Recipe):
    """One call of `orbbec.augment`; for most arguments see `AugmentPass`.

    Args:
        out: its first register.
        colors: block of color rows.
        erase: block of rectangles.
        region: block of the visible part of each image, of no rows if all of it is.
        words: block of matrices.
        has_offset: whether nearest positions are shifted.
        size: of its outputs, as in `Build`.
    """

    out: int
    colors: Block
    erase: Block
    region: Block
    words: Block
    has_offset: bool
    reads_beyond: bool
    contrast: bool
    mean: tuple[float, ...] | None
    std: tuple[float, ...] | None
    dtype: str
    channels_last: bool | None
    interpolation: str
    border: str
    fill: tuple[float, ...]
    mixes: MixRecipe | None
    why: str
    holds: tuple[str, ...]
    size: Size

    @property
    def blocks(self) -> Sequence[Block]:  # type: ignore[override]
        """Its blocks of words; those of whole numbers first, which need an alignment of 8 bytes."""
        return self.region, self.words, self.colors, self.erase

    @property
    def partial_blocks(self) -> Sequence[Block]:  # type: ignore[override]
        return self.colors, self.erase

    def end(self) -> Rule:
        return Rule("end_pass", (self.words.offset, self._region, self.has_offset, -1, -1), out=self.out)

    @property
    def _region(self) -> int:
        return self.region.offset if self.region.rows else -1

    @property
    def runs(self) -> bool:  # type: ignore[override]
        return self.mixes is None and self.dtype in DTYPES

    def numbers(self) -> list[float]:
        layout = -1 if self.channels_last is None else int(self.channels_last)
        reading, border = READINGS.index(self.interpolation), BORDERS.index(self.border)
        head = 0, self.out, reading, border, DTYPES.index(self.dtype), layout, 0, self.contrast
        mean, std = self.mean or (), self.std or ()
        values = *_four(self.fill), *_four(mean), *_four(std)[1:]
        colors, erase = (block.offset if block.rows else 0 for block in (self.colors, self.erase))
        blocks = self.words.offset, self._region, colors, self.colors.rows, erase, self.erase.rows, -1, -1
        return [*head, *values, *blocks, *self.static_size]

    def of(self, table: ParameterTable) -> AugmentPass:
        state, out, sizes = table.state, self.out, table.sizes(self.out)
        steps = int(state[:, out + COLOR_ROWS].max(initial=0)) if self.colors.rows else 0
        colors = table.block(self.colors)
        return AugmentPass(
            matrix=table.matrices(out),
            sizes=sizes,
            colors=colors if steps == self.colors.rows else np.ascontiguousarray(colors[:, :steps]),
            erase=table.block(self.erase),
            regions=table.block(self.region).view(np.int64)[:, 0] if self.region.rows else None,
            reads_beyond=self.reads_beyond,
            contrast=self.contrast,
            mean=self.mean,
            std=self.std,
            dtype=self.dtype,
            channels_last=self.channels_last,
            interpolation=self.interpolation,
            border=self.border,
            fill=self.fill,
            mixes=None if self.mixes is None else self.mixes.of(table, sizes),
            why=self.why,
            holds=self.holds,
            offset=state[:, out + OFFSET : out + OFFSET + 2] if self.has_offset else None,
        )


@dataclass(eq=False)
class OperatorRecipe(Recipe):
    """One call of an operator; for most arguments see `OperatorPass`.

    Args:
        out: its first register.
        columns: the columns of its table.
        drawn: the register that says which images it changes; None: all.
        flips: whether it also flips its results.
    """

    out: int
    name: str
    columns: Mapping[str, Column]
    options: Mapping[str, Any]
    drawn: int | None
    resizes: bool
    dtype: str
    why: str
    holds: tuple[str, ...]
    flips: bool = False
    size: Size = VARIES
    boxes: Block = field(default_factory=lambda: Block(8))
    flipped: Block = field(default_factory=lambda: Block(1))

    @property
    def blocks(self) -> Sequence[Block]:  # type: ignore[override]
        """Its blocks of words, of no rows if `run` does not run it."""
        self.boxes.rows, self.flipped.rows = int(self.runs), int(self.runs and self.flips)
        return self.boxes, self.flipped

    @property
    def runs(self) -> bool:  # type: ignore[override]
        takes_flips = "flips" in OPERATORS[self.name].parameters  # as a crop that is resized
        return takes_flips and list(self.columns) == ["boxes"] and self.drawn is None

    def end(self) -> Rule:
        offsets = (block.offset if block.rows else -1 for block in self.blocks)
        return Rule("end_pass", (-1, -1, 0, *offsets), out=self.out)

    def numbers(self) -> list[float]:
        reading = READINGS.index(self.options["interpolation"])
        antialias, flips = self.options["antialias"], self.flipped.offset if self.flipped.rows else -1
        blocks = -1, -1, 0, 0, 0, 0, self.boxes.offset, flips
        return [1, self.out, reading, 0, 0, 0, antialias, 0, 1, *[0] * 13, *blocks, *self.static_size]

    def of(self, table: ParameterTable) -> OperatorPass:
        count, drawn = len(table), self.drawn
        mask = np.ones(count, bool) if drawn is None else table.state[:, drawn] != 0
        columns = {name: column.of(table, self.out) for name, column in self.columns.items()}
        if self.flips:
            columns["flips"] = table.state[:, self.out + FLIPPED] != 0
        return OperatorPass(
            name=self.name,
            table=OPERATORS[self.name].with_identities(columns, mask),
            options=self.options,
            drawn=mask,
            matrix=table.matrices(self.out),
            sizes=table.sizes(self.out),
            resizes=self.resizes,
            dtype=self.dtype,
            why=self.why,
            holds=self.holds,
            conditional=drawn is not None,
        )


def _four(values: Sequence[float]) -> list[float]:
    """A count, and up to four numbers."""
    return [len(values), *values, *[0.0] * (4 - len(values))]


@dataclass(eq=False)
class MixRecipe(Recipe):
    """A mix of images; for most arguments see `MixPass`.

    Args:
        out: its first register.
        columns: the columns of its table.
        output: (height, width) of its outputs, if it changes sizes.
        size: as in `Build`.
    """

    out: int
    name: str
    columns: Mapping[str, Column]
    dtype: str
    options: Mapping[str, Any]
    why: str = ""
    holds: tuple[str, ...] = ()
    output: Size | None = None
    size: Size = VARIES

    def of(self, table: ParameterTable, sizes: Array | None = None) -> MixPass:
        """The pass of a batch; `sizes` are those of the pass that it ends.

        Raises:
            ValueError: an image that is not mixed has another size than the output.
        """
        known = table.sizes(self.out) if sizes is None else sizes
        if self.output is not None and (known != self.output).any():
            raise ValueError(
                f"{self.name}: expected images of its size where it is not applied to all; "
                "put a resize before it"
            )
        columns = {name: column.of(table, self.out) for name, column in self.columns.items()}
        return MixPass(self.name, columns, known, self.dtype, self.options, self.why, self.holds)


@dataclass(eq=False)
class BlendRecipe(Recipe):
    """A blend with altered copies; for the arguments see `Build.blend` and `BlendPass`.

    Args:
        out: its first register.
        inner: the program of the copies; a `Build` until it is compiled.
        registers: the numbers of the copies.
    """

    out: int
    inner: Any
    weights: int
    copies: int
    registers: range
    dtype: str
    why: str
    holds: tuple[str, ...]
    size: Size = VARIES

    def of(self, table: ParameterTable) -> BlendPass:
        sizes = np.tile(table.sizes(self.out), (self.copies, 1))
        batch = Batch(sizes, np.zeros(len(sizes), np.int64))  # no rule of a copy draws
        passes = self.inner.passes_of(self.inner.fill(batch, self.numbers_of(table)))
        weights = table.state[:, self.weights : self.weights + 1 + self.copies]
        return BlendPass(passes, weights, table.sizes(self.out), self.dtype, self.why, self.holds)

    def numbers_of(self, table: ParameterTable) -> Array:
        """The numbers of the copies, first of the first copies of all images: float64 `[K * N, R]`."""
        numbers = table.state[:, self.registers.start : self.registers.stop]
        return np.concatenate(np.split(numbers, self.copies, 1))
