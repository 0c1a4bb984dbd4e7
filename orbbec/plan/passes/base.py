"""The base class of passes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from torch import Tensor

from orbbec.bridge.arguments import Array, StoredPlanes
from orbbec.plan.batches import Work

Columns: TypeAlias = dict[str, Array]
_Pass = TypeVar("_Pass", bound="Pass")


class NoiseKey(NamedTuple):
    """Determines the noise of a batch."""

    sample_ids: Array  # int64 [N]
    seed: int
    epoch: int


class Context(NamedTuple):
    """Arguments of all passes of a plan."""

    key: NoiseKey
    tables: Iterator[Mapping[str, Any]]  # one per pass in order; each pass takes the next
    is_fixed: bool = False  # only the tables are read, so that a CUDA graph can be captured
    is_own: bool = False  # a preceding pass made the input, so it may be overwritten


class Masks(NamedTuple):
    """Masks as bytes; the results have one size."""

    tables: Sequence[Tensor]  # per image: uint8 [M, H, W, bytes of a value]
    images: Sequence[int]  # indices in the batch
    size: tuple[int, int]  # size of the results
    fill: list[float]  # values outside an image, one per byte


class Pass:
    """A pass over the pixels of a batch. Its subclasses are frozen dataclasses.

    By default a pass leaves pixels and targets in place, and draws no noise.

    Attributes:
        name: name of its operator.
        sizes: int64 `[N, 2]`: sizes of its outputs.
        size: the common size of its outputs, or None.
        dtype: name of the dtype of its output.
        why: why the pipeline was split before it; empty if it was not.
        holds: names of the transforms that it runs.
        matrix: float64 `[N, 3, 3]`: output pixels to input pixels; a `MixPass` has none.
    """

    name: str
    sizes: Array
    size: tuple[int, int] | None
    dtype: str
    why: str
    holds: tuple[str, ...]
    matrix: Array

    @property
    def resamples(self) -> bool:
        """Whether it warps images by a matrix, to outputs of other sizes."""
        return False

    @property
    def draws_noise(self) -> bool:
        """Whether it draws noise from seed, epoch and sample ids."""
        return False

    @property
    def keeps_numbers(self) -> bool:
        """Whether it casts bytes to floats from 0 to 255."""
        return False

    @property
    def mix(self) -> Pass | None:
        """The pass that mixes images: itself, or the mix at its end; None: no images are mixed."""
        return None

    def set_size(self, size: tuple[int, int] | None) -> None:
        """Set the common size of no outputs."""
        object.__setattr__(self, "size", size)

    def columns(self) -> Columns:
        """Its parameters by name, each `[N]` or `[N, ...]`."""
        raise NotImplementedError

    def describe(self) -> str:
        """A description in one line."""
        raise NotImplementedError

    def tables(self, key: NoiseKey) -> Columns:
        """The tables that its operator takes, by argument name, with a row per image."""
        raise NotImplementedError

    def run(self, work: Work, sizes: Array, context: Context, out: Any = None) -> Work:
        """Run the pass.

        Args:
            work: the images.
            sizes: int64 `[N, 2]`: sizes of the images.
            context: its next table is that of this pass.
            out: output buffer that may be used.
        """
        raise NotImplementedError

    def reads_planes(self, planes: StoredPlanes) -> bool:
        """Whether it converts planes to RGB as it reads them."""
        return False

    def before_normalizing(self, values: Array) -> Array:
        """Undo the normalization of results `[..., C]`, if the pass normalizes."""
        return values

    def unfolded(self) -> Iterator[Pass]:
        """This pass and the passes within it."""
        yield self

    def fixed(self) -> Pass | None:
        """An equivalent pass in which only tables depend on the draws; None if there is none."""
        return self

    def of_rows(self: _Pass, rows: Array, count: int) -> _Pass:
        """The pass for some of its `count` images."""
        own = {f.name: getattr(self, f.name) for f in fields(self) if f.init}  # type: ignore[arg-type]
        changed = {name: _rows(value, rows, count) for name, value in own.items()}
        if "table" in own:
            changed["table"] = {name: values[rows] for name, values in own["table"].items()}
        selected: _Pass = replace(self, **changed)  # type: ignore[type-var]
        object.__setattr__(selected, "size", self.size)  # None if the whole batch has none
        return selected

    def traffic(self, sizes: Array, before: int, after: int) -> tuple[int, int]:
        """The bytes that it reads, and the bytes that it writes.

        Args:
            sizes: int64 `[N, 2]`: sizes of its input images.
            before: bytes per input pixel.
            after: bytes per output pixel.
        """
        raise NotImplementedError

    def region(self, sizes: Array, can_shrink: bool) -> Array | None:
        """The part of each image that it reads, int64 `[N, 4]`: left, top, right, bottom; None: all of it.

        Args:
            sizes: int64 `[N, 2]`: sizes of the images.
            can_shrink: whether images may be decoded at a reduced size; then regions of whole images are
                returned too.
        """
        return None

    def of_regions(self, corners: Array, shrinks: Array, to_region: Array) -> Pass:
        """The pass for images of which only `region` was decoded.

        Args:
            corners: int64 `[N, 2]`: left and top of the decoded region, in pixels of the shrunk images.
            shrinks: int64 `[N]`: factor by which the sides were reduced in decoding.
            to_region: float64 `[N, 3, 3]`: pixels of whole images to decoded pixels.
        """
        raise NotImplementedError

    @property
    def target_matrix(self) -> Array | None:
        """The matrices of targets, from outputs to what `cut` leaves of images; None: targets do not move."""
        return None

    def keeps(self, index: int) -> bool:
        """Whether every pixel of image `index` stays in place."""
        return True

    def cut(self, index: int) -> Array | None:
        """Left, top, right, bottom of the crop of image `index` before `target_matrix`; None: no crop."""
        return None

    def displacement(self, index: int, key: NoiseKey) -> Array | None:
        """The displacement of each pixel of image `index`, `[2, H, W]`; None: it follows the matrix."""
        return None

    def move_masks(self, masks: Masks, key: NoiseKey) -> list[Tensor]:
        """Move masks as bytes. If the image is read by nearest, masks read the same pixels.

        Returns:
            uint8 `[M, bytes, height, width]` for each image.
        """
        raise NotImplementedError


def _rows(value: Any, rows: Array, count: int) -> Any:
    if isinstance(value, np.ndarray):
        return value[rows]
    if isinstance(value, Pass):
        return value.of_rows(rows, count)
    return value


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


def matrix_columns(matrix: Array, sizes: Array) -> Columns:
    """The elements of matrices and output sizes by name, each `[N]`."""
    columns = {f"m{i}{j}": matrix[:, i, j] for i in range(3) for j in range(3)}
    return {**columns, "height": sizes[:, 0], "width": sizes[:, 1]}
