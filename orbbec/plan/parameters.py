"""The parameters of a batch: a row per image, drawn by the rules of a program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, NamedTuple

import numpy as np

from orbbec.bridge.arguments import Array
from orbbec.plan.rules import BOX, HEIGHT, MATRIX, OFFSET, Block


class Batch(NamedTuple):
    """What the parameters of a batch depend on."""

    sizes: Array  # int64 [N, 2]
    sample_ids: Array  # int64 [N]
    seed: int = 0
    epoch: int = 0
    targets: Sequence[Any] | None = None  # one per image, for transforms that read them
    frames: int = 1  # images of each clip, which follow one another and have its id
    pairs: tuple[int, ...] = ()  # of each image for each mix, among the last ones; 0: images of the batch

    def ids(self, per_frame: bool) -> Array:
        """The ids that images draw as: those of their clips, or of the frames, as draw.h has them."""
        frames = np.arange(len(self.sample_ids)) % self.frames
        result: Array = self.sample_ids ^ frames << 48 if per_frame else self.sample_ids
        return result


@dataclass(frozen=True, eq=False)
class ParameterTable:
    """The parameters of a batch, with a row per image.

    Args:
        state: float64 `[N, S]`: the registers.
        words: float32 `[N * W]`: what kernels read, block by block.
        blocks: the blocks of words, in order.
        arrays: tables of the steps that Python draws, columns by name; then the parameters of the copies of
            each blend, the first copies of all images first.
        frames: images of each clip.
        pairs: int64 `[N, K]`: the rows of the pair images of each image for a mix; None: images of the batch.
    """

    state: Array
    words: Array
    blocks: Sequence[Block]
    arrays: list[Any]
    frames: int = 1
    pairs: Array | None = None

    def __len__(self) -> int:
        return len(self.state)

    def block(self, block: Block) -> Array:
        """The rows of a block: float32 `[N, rows, numbers]`."""
        images, begin, rows = len(self.state), block.offset, block.rows
        end = begin + rows * block.numbers
        return self.words[begin * images : end * images].reshape(images, rows, block.numbers)

    def sizes(self, out: int) -> Array:
        """The sizes of the outputs of a pass: int64 `[N, 2]`."""
        return self.state[:, out + HEIGHT : out + HEIGHT + 2].astype(np.int64)

    def matrices(self, out: int) -> Array:
        """The matrices of a pass: float64 `[N, 3, 3]`."""
        return self.state[:, out + MATRIX : out + MATRIX + 9].reshape(-1, 3, 3)

    def boxes(self, out: int) -> Array:
        """What a pass reads, as left, top, right, bottom: float64 `[N, 4]`."""
        return self.state[:, out + BOX : out + BOX + 4]

    def offsets(self, out: int) -> Array:
        """What a pass adds to the positions (x, y) that nearest warps read: float64 `[N, 2]`."""
        return self.state[:, out + OFFSET : out + OFFSET + 2]

    def with_geometry(self, out: int, matrix: Array, boxes: Array, offsets: Array) -> ParameterTable:
        """The table with other matrices, boxes and offsets of a pass."""
        state = self.state.copy()
        for begin, values in ((MATRIX, matrix.reshape(-1, 9)), (BOX, boxes), (OFFSET, offsets)):
            state[:, out + begin : out + begin + values.shape[1]] = values
        return replace(self, state=state)

    def rows(self, rows: Array) -> ParameterTable:
        """The parameters of some of the images."""
        words = [self.block(block)[rows].reshape(-1) for block in self.blocks]
        flat = np.concatenate(words) if words else self.words
        arrays = [_rows(entry, rows, len(self)) for entry in self.arrays]
        return ParameterTable(self.state[rows], flat, self.blocks, arrays, self.frames)


def _rows(entry: Any, rows: Array, count: int) -> Any:
    if isinstance(entry, ParameterTable):
        copies = range(0, len(entry), max(count, 1))
        return entry.rows(np.concatenate([rows + first for first in copies] or [rows]))
    return {name: values[rows] for name, values in entry.items()}


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
            return np.full((len(table), *np.shape(self.value)), self.value, self.dtype)
        if self.kind == "previous":
            return self._previous(table)
        if self.kind == "box":
            return table.boxes(out).astype(self.dtype)
        if self.kind == "matrix":
            return table.matrices(out)[:, : self.shape[0]]
        width = prod(self.shape)
        values = table.state[:, self.at : self.at + width].reshape(len(table), *self.shape)
        return values.astype(self.dtype)

    def _previous(self, table: ParameterTable) -> Array:
        """Indices of images of the batch, cyclically, or of the pair images of each, which follow the batch.

        Of clips, by frame. Where there are no others, its index, and then -1.
        """
        every, pairs = np.arange(len(table)), table.pairs
        columns = [
            pairs[:, shift - 1] if shift and pairs is not None else np.roll(every, shift * table.frames)
            for shift in self.value
        ]
        indices = np.stack(columns, 1)
        if self.at >= 0:
            alone = np.full_like(indices, -1)
            alone[:, 0] = every
            indices = np.where(table.state[:, [self.at]] != 0, indices, alone)
        return indices.reshape(len(table), *self.shape)


BOXES = Column("box")
_IDENTITY = np.eye(3)


@dataclass(frozen=True)
class OperatorStep:
    """An operator for `Build.operator`.

    Args:
        name: its name.
        columns: the columns of its table, by argument name.
        options: arguments that are the same for all images.
        drawn: the register that says which images it changes; None: all.
        why: why it cannot be fused.
        per_frame: whether its noise differs from frame to frame of a clip.
    """

    name: str
    columns: Mapping[str, Column] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    drawn: int | None = None
    why: str = "reads neighboring pixels"
    per_frame: bool = False


def identities(count: int) -> Array:
    """Identity matrices: float64 `[count, 3, 3]`."""
    matrices = np.empty((count, 3, 3))
    matrices[:] = _IDENTITY
    return matrices


def same_rows(row: Any, count: int) -> Array:
    """The same row of whole numbers for every image: int64 `[count, len(row)]`."""
    rows = np.empty((count, len(row)), np.int64)
    rows[:] = row
    return rows


def common_size(sizes: Array) -> tuple[int, int] | None:
    """The common size of `[N, 2]` sizes, N at least 1; None if they differ.

    Example:
        >>> common_size(np.array([[4, 5], [4, 5]]))
        (4, 5)
    """
    if len(sizes) == 0 or (len(sizes) > 1 and (sizes != sizes[0]).any()):
        return None
    height, width = sizes[0].tolist()
    return height, width
