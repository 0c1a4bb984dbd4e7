"""What all passes have in common."""

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
    """What the noise of a batch is a function of."""

    sample_ids: Array  # int64 [N]
    seed: int
    epoch: int


class Context(NamedTuple):
    """What the passes of a plan run with."""

    key: NoiseKey
    tables: Iterator[Mapping[str, Any]]  # of the passes in their order, each taken as its pass runs
    is_fixed: bool = False  # nothing is read but the tables, so that a CUDA graph can be captured
    is_own: bool = False  # what the pass reads was made by one before it


class Masks(NamedTuple):
    """Masks as bytes, whose results have one size."""

    tables: Sequence[Tensor]  # of each image: uint8 [M, H, W, bytes of a value]
    images: Sequence[int]  # indices in the batch
    size: tuple[int, int]  # of the results
    fill: list[float]  # outside of an image, one number per byte


class Pass:
    """A pass over the pixels of a batch. Its subclasses are frozen dataclasses.

    By default a pass leaves pixels and targets in place, and draws no noise.

    Attributes:
        name: of its operator.
        sizes: int64 `[N, 2]`: of its output.
        size: of all outputs, where they have one.
        dtype: of its output, by name.
        why: the pipeline was split before it; empty where it was not.
        holds: the transforms that it runs.
        matrix: float64 `[N, 3, 3]`: output pixels to the pixels that it reads; a `MixPass` has none.
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
        """Whether it reads each image along a matrix, to an output of a size of its own."""
        return False

    @property
    def draws_noise(self) -> bool:
        """Whether it reads seed, epoch and sample ids."""
        return False

    @property
    def keeps_numbers(self) -> bool:
        """Whether it casts bytes to floats from 0 to 255."""
        return False

    @property
    def mix(self) -> Pass | None:
        """The pass that mixes images: itself, or what it does at its end; None: no images are mixed."""
        return None

    def columns(self) -> Columns:
        """Its numbers by name, each `[N]` or `[N, ...]`."""
        raise NotImplementedError

    def describe(self) -> str:
        """One line about it, for people."""
        raise NotImplementedError

    def tables(self, key: NoiseKey) -> Columns:
        """What its operator reads, by the names of arguments; a row per image."""
        raise NotImplementedError

    def run(self, work: Work, sizes: Array, context: Context, out: Any = None) -> Work:
        """Do it to the images.

        Args:
            work: the images.
            sizes: int64 `[N, 2]`: of the images.
            context: whose next table is its own.
            out: where results may be written.
        """
        raise NotImplementedError

    def move_at_once(self, images: Tensor) -> Tensor | None:
        """The results of images on the CPU, where no more is done than to move pixels; else None."""
        return None

    def reads_planes(self, planes: StoredPlanes) -> bool:
        """Whether it converts planes to RGB as it reads them."""
        return False

    def before_normalizing(self, values: Array) -> Array:
        """Results `[..., C]` as they are before the pass normalizes them, if it does."""
        return values

    def unfolded(self) -> Iterator[Pass]:
        """Itself, and the passes within it."""
        yield self

    def fixed(self) -> Pass | None:
        """The pass with the same bytes of which no more than tables depends on draws; None: there is none."""
        return self

    def of_rows(self: _Pass, rows: Array, count: int) -> _Pass:
        """The pass of some of its `count` images."""
        own = {f.name: getattr(self, f.name) for f in fields(self) if f.init}  # type: ignore[arg-type]
        changed = {name: _rows(value, rows, count) for name, value in own.items()}
        if "table" in own:
            changed["table"] = {name: values[rows] for name, values in own["table"].items()}
        selected: _Pass = replace(self, **changed)  # type: ignore[type-var]
        object.__setattr__(selected, "size", self.size)  # none if the whole batch has none
        return selected

    def can_move(self, warps: int) -> bool:
        """Whether `moved` gives what other draws of its `warps` coordinate transforms would give."""
        return False

    def moved(
        self, matrix: Array, sizes: Array, boxes: Array | None = None, flips: Array | None = None
    ) -> Pass:
        """The pass of other images, with other coordinates.

        Args:
            matrix: as that of the pass.
            sizes: as those of the pass.
            boxes: float64 `[N, 4]`: left, top, right, bottom of what each image shows.
            flips: bool `[N]`: the images that are flipped left to right.
        """
        raise NotImplementedError

    def flipped(self, flips: Array, matrix: Array, holds: tuple[str, ...]) -> Pass | None:
        """The pass that flips results left to right too; None: it cannot.

        Args:
            flips: bool `[N]`.
            matrix: float64 `[N, 3, 3]`: of the flips.
            holds: the transforms that flip.
        """
        return None

    def traffic(self, sizes: Array, before: int, after: int) -> tuple[int, int]:
        """Bytes that it reads and that it writes.

        Args:
            sizes: int64 `[N, 2]`: of the images that it reads.
            before: bytes of a pixel that it reads.
            after: bytes of a pixel that it writes.
        """
        raise NotImplementedError

    def region(self, sizes: Array, can_shrink: bool) -> Array | None:
        """The part of each image that it reads: int64 `[N, 4]`, left, top, right, bottom; None: all of it.

        Args:
            sizes: int64 `[N, 2]`: of the images.
            can_shrink: whether images may be decoded smaller; their regions are then given though whole.
        """
        return None

    def of_regions(self, corners: Array, shrinks: Array, to_region: Array) -> Pass:
        """The pass for images of which only the `region` was decoded.

        Args:
            corners: int64 `[N, 2]`: left and top of what was decoded, in pixels of the shrunk images.
            shrinks: int64 `[N]`: how often smaller it was decoded.
            to_region: float64 `[N, 3, 3]`: pixels of whole images to decoded pixels.
        """
        raise NotImplementedError

    @property
    def target_matrix(self) -> Array | None:
        """The matrices that targets follow, of outputs to what `cut` leaves of images; None: targets stay."""
        return None

    def keeps(self, index: int) -> bool:
        """Whether every pixel of image `index` stays at its position."""
        return True

    def cut(self, index: int) -> Array | None:
        """Left, top, right, bottom of what is cut out of an image before `target_matrix`; None: nothing."""
        return None

    def displacement(self, index: int, key: NoiseKey) -> Array | None:
        """How far each pixel of image `index` is displaced: `[2, H, W]`; None: it follows the matrix."""
        return None

    def move_masks(self, masks: Masks, key: NoiseKey) -> list[Tensor]:
        """Masks moved as bytes, by the pixels that a nearest image takes, else the nearest.

        Returns:
            uint8 `[M, bytes, height, width]` of each image.
        """
        raise NotImplementedError


def with_numbers(step: _Pass, **numbers: Any) -> _Pass:
    """A copy with other arrays; `dataclasses.replace` would take most of the time of a plan."""
    changed = object.__new__(type(step))
    vars(changed).update(vars(step), size=common_size(numbers["sizes"]), **numbers)
    return changed


def _rows(value: Any, rows: Array, count: int) -> Any:
    if isinstance(value, np.ndarray):
        return value[rows]
    if isinstance(value, Pass):
        return value.of_rows(rows, count)
    return value


def common_size(sizes: Array) -> tuple[int, int] | None:
    """The size that all of `[N, 2]` are, N at least 1; else none.

    Example:
        >>> common_size(np.array([[4, 5], [4, 5]]))
        (4, 5)
    """
    if len(sizes) == 0 or (len(sizes) > 1 and (sizes != sizes[0]).any()):
        return None
    height, width = sizes[0].tolist()
    return height, width


def size_text(sizes: Array) -> str:
    """`224x224`, or the smallest and the largest of variable sizes.

    Example:
        >>> size_text(np.array([[4, 5], [2, 3]]))
        '2x3..4x5'
    """
    ordered = sorted(map(tuple, sizes.tolist()))
    return (
        "..".join(dict.fromkeys(f"{height}x{width}" for height, width in ordered[:1] + ordered[-1:]))
        or "nothing"
    )


def matrix_columns(matrix: Array, sizes: Array) -> Columns:
    """The numbers of matrices and of the sizes of their outputs, each `[N]`."""
    columns = {f"m{i}{j}": matrix[:, i, j] for i in range(3) for j in range(3)}
    return {**columns, "height": sizes[:, 0], "width": sizes[:, 1]}
