"""What a plan is made of: passes over the pixels, each a frozen table with a row an image."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

import numpy as np

from orbbec.binding.arguments import Array
from orbbec.plan.points import shifts
from orbbec.plan.steps import COLOR_COLUMNS, COLOR_WIDTH, ERASE_COLUMNS, ERASE_WIDTH, identities

Columns: TypeAlias = dict[str, Array]
_Step = TypeVar("_Step")

# The argument by which an operator leaves an image as it is, to the last bit.
IDENTITIES: dict[str, tuple[str, float]] = {
    "gaussian_blur": ("kernel_size", 1),
    "median_blur": ("kernel_size", 1),
    "motion_blur": ("length", 1),
    "adjust_sharpness": ("sharpness_factor", 1.0),
}


@dataclass(frozen=True, eq=False)
class AugmentPass:
    """One call of `orbbec.augment`.

    Args:
        matrix: float64 `[N, 3, 3]`: output pixels to the pixels that the pass reads.
        sizes: int64 `[N, 2]`: of its output.
        colors: float32 `[N, S, 16]`.
        erase: float32 `[N, E, 8]`, fills as fractions of white.
        regions: int64 `[N, 4]`: left, top, right, bottom of the part of each image that is seen; None: all.
        reads_beyond: whether a map may read outside of what is seen.
        contrast: whether a step of colour may be one of contrast.
        mean: a number a channel, or none.
        std: a number a channel, or none.
        dtype: of its output, by name.
        channels_last: layout of its output; None: that of its input.
        interpolation: "nearest", "linear" or "cubic".
        border: what lies outside of an image.
        fill: of a constant border, in units of the pass's input.
        mixes: what is mixed at its end, if anything is.
        why: the chain was split before it; empty where it was not.
        holds: the transforms that it runs.
        offset: float64 `[N, 2]`: added to the positions (x, y) that a nearest pass reads; None: nothing.
    """

    matrix: Array
    sizes: Array
    colors: Array
    erase: Array
    regions: Array | None = None
    reads_beyond: bool = False
    contrast: bool = False
    mean: tuple[float, ...] | None = None
    std: tuple[float, ...] | None = None
    dtype: str = "uint8"
    channels_last: bool | None = None
    interpolation: str = "linear"
    border: str = "replicate"
    fill: tuple[float, ...] = (0.0,)
    mixes: MixPass | None = None
    why: str = ""
    holds: tuple[str, ...] = ()
    offset: Array | None = None
    size: tuple[int, int] | None = field(init=False, repr=False)  # of all outputs, where they have one
    maps: Array = field(init=False, repr=False)  # `matrix` from the corner of what is seen
    reads: Array = field(init=False, repr=False)  # what the operator takes: `maps` and the offset

    def __post_init__(self) -> None:
        maps = self.matrix
        if self.regions is not None:
            maps = shifts(-self.regions[:, 0], -self.regions[:, 1], len(maps)) @ maps
        reads = maps
        if self.offset is not None:
            reads = shifts(self.offset[:, 0], self.offset[:, 1], len(maps)) @ maps
        object.__setattr__(self, "maps", np.ascontiguousarray(maps))
        object.__setattr__(self, "reads", np.ascontiguousarray(reads))
        object.__setattr__(self, "size", common_size(self.sizes))

    @property
    def name(self) -> str:
        return "augment"

    def moved(
        self, matrix: Array, sizes: Array, boxes: Array | None = None, flips: Array | None = None
    ) -> AugmentPass:
        """The pass of other images: no colours, no rectangles, other coordinates.

        Args:
            matrix: as that of the pass.
            sizes: as those of the pass.
            boxes: float64 `[N, 4]`: left, top, right, bottom of what each image shows.
            flips: of no use here.
        """
        count, regions, maps = len(sizes), None, matrix
        if self.regions is not None and boxes is not None:
            regions, maps = boxes.astype(np.int64), matrix.copy()
            maps[:, :2, 2] -= boxes[:, :2]
        empty = {
            "colors": np.zeros((count, 0, COLOR_WIDTH), np.float32),
            "erase": np.zeros((count, 0, ERASE_WIDTH), np.float32),
        }
        return _with_numbers(
            self, matrix=matrix, sizes=sizes, regions=regions, maps=maps, reads=maps, **empty
        )

    def tables(self) -> Columns:
        """What the operator reads, by the names of its arguments; a row an image."""
        tables = {"matrix": self.reads}
        if self.regions is not None:
            tables["regions"] = self.regions
        if self.colors.shape[1]:
            tables["colors"] = self.colors
        if self.erase.shape[1]:
            tables["erase"] = self.erase
        if self.mixes is not None:
            tables["mix"] = self.mixes.rows()
        return tables

    def columns(self) -> Columns:
        """The numbers of the pass by name, each `[N]`."""
        columns = _matrix_columns(self.matrix, self.sizes)
        if self.regions is not None:
            columns |= {f"region.{name}": self.regions[:, i] for i, name in enumerate(ERASE_COLUMNS[:4])}
        for s in range(self.colors.shape[1]):
            columns |= {f"color{s}.{name}": self.colors[:, s, i] for i, name in enumerate(COLOR_COLUMNS)}
        for e in range(self.erase.shape[1]):
            columns |= {f"erase{e}.{name}": self.erase[:, e, i] for i, name in enumerate(ERASE_COLUMNS)}
        if self.mixes is not None:
            columns |= {f"{self.mixes.name}.{name}": values for name, values in self.mixes.table.items()}
        return columns

    def describe(self) -> str:
        parts = [f"{self.interpolation}, border {self.border}"]
        parts += [f"{self.colors.shape[1]} colour steps"] if self.colors.shape[1] else []
        parts += [f"{self.erase.shape[1]} rectangles"] if self.erase.shape[1] else []
        parts += ["normalised"] if self.mean is not None or self.std is not None else []
        parts += ["parts of images"] if self.regions is not None else []
        parts += [self.mixes.name] if self.mixes is not None else []
        return f"augment -> {size_text(self.sizes)} {self.dtype} ({'; '.join(parts)})"


@dataclass(frozen=True, eq=False)
class OperatorPass:
    """One call of the operator `name`; arguments as those of `steps.Operator`.

    Args:
        conditional: whether other draws might leave an image as it is.
    """

    name: str
    table: Mapping[str, Array]
    options: Mapping[str, Any]
    drawn: Array
    matrix: Array
    sizes: Array
    resizes: bool
    dtype: str
    why: str = ""
    holds: tuple[str, ...] = ()
    conditional: bool = True
    size: tuple[int, int] | None = field(init=False, repr=False)  # of all outputs, where they have one
    draws: str = field(init=False, repr=False)  # whether it changes "none", "some" or "all" of the images

    def __post_init__(self) -> None:
        draws = "all" if self.drawn.all() else "some" if self.drawn.any() else "none"
        object.__setattr__(self, "draws", draws)
        object.__setattr__(self, "size", common_size(self.sizes))

    def moved(
        self, matrix: Array, sizes: Array, boxes: Array | None = None, flips: Array | None = None
    ) -> OperatorPass:
        """The pass of other images, all of which it resizes: other boxes, and flips where it has some."""
        table: Columns = {"boxes": np.asarray(boxes)}
        if "flips" in self.table:
            table["flips"] = np.asarray(flips, bool)
        return _with_numbers(self, matrix=matrix, sizes=sizes, table=table, drawn=np.ones(len(sizes), bool))

    def columns(self) -> Columns:
        """The numbers of the pass by name, each `[N]` or `[N, ...]`."""
        return {**_matrix_columns(self.matrix, self.sizes), "drawn": self.drawn, **self.table}

    def describe(self) -> str:
        options = "".join(f"; {name}={value}" for name, value in self.options.items())
        drawn = f"{int(self.drawn.sum())} of {len(self.drawn)} images{options}"
        return f"{self.name} -> {size_text(self.sizes)} {self.dtype} ({drawn})"


@dataclass(frozen=True, eq=False)
class MixPass:
    """Images mixed with others of the batch; arguments as those of `steps.Mix`."""

    name: str
    table: Mapping[str, Array]
    sizes: Array
    dtype: str
    options: Mapping[str, Any] = field(default_factory=dict)
    why: str = ""
    holds: tuple[str, ...] = ()
    size: tuple[int, int] | None = field(init=False, repr=False)  # of all outputs, where they have one

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", common_size(self.sizes))

    def rows(self) -> Array:
        """Of mixup and cutmix what `orbbec.augment` takes as `mix`: float32 `[N, 7]`."""
        count, weights = len(self.sizes), self.table["weights"]
        rows = np.zeros((count, 7), np.float32)
        rows[:, 0] = self.table["partners"]
        if self.name == "cutmix":
            rows[:, 1:5], rows[:, 6] = self.table["boxes"], 1.0
        else:
            rows[:, 3:5], rows[:, 5], rows[:, 6] = self.sizes[:, ::-1], weights, 1.0 - weights
        return rows

    def columns(self) -> Columns:
        """The numbers of the pass by name, each `[N]` or `[N, ...]`."""
        return dict(self.table)

    def describe(self) -> str:
        return f"{self.name} -> {size_text(self.sizes)} {self.dtype}"


@dataclass(frozen=True, eq=False)
class BlendPass:
    """Images blended with altered copies of themselves.

    Args:
        passes: over the copies, K * N of them: the first of every image, then the second ...
        weights: float64 `[N, 1 + K]`: of an image and of its copies.
        sizes: int64 `[N, 2]`: of the images.
    """

    passes: tuple[AugmentPass | OperatorPass, ...]
    weights: Array
    sizes: Array
    dtype: str
    why: str = ""
    holds: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return "blend"

    @property
    def copies(self) -> int:
        """How many copies each image has."""
        return int(self.weights.shape[1]) - 1

    @property
    def matrix(self) -> Array:
        """Targets stay where they are."""
        return identities(len(self.weights))

    def columns(self) -> Columns:
        """The numbers of the pass by name, each `[N]` or `[N, ...]`."""
        columns = {f"weight{k}": values for k, values in enumerate(self.weights.T)}
        for number, inner in enumerate(self.passes):
            for name, values in inner.columns().items():
                for k, own in enumerate(np.split(values, self.copies)):
                    columns[f"copy{k}.{number}.{name}"] = own
        return columns

    def describe(self) -> str:
        counted = f"{self.copies} altered copies of each; {len(self.passes)} passes over them"
        return f"blend -> {size_text(self.sizes)} {self.dtype} ({counted})"


def _with_numbers(step: _Step, **numbers: Any) -> _Step:
    """A copy with other arrays; `dataclasses.replace` would take most of the time of a plan."""
    changed = object.__new__(type(step))
    vars(changed).update(vars(step), size=common_size(numbers["sizes"]), **numbers)
    return changed


Pass: TypeAlias = AugmentPass | OperatorPass | MixPass | BlendPass


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
    """`224x224`, or the smallest and the largest of unlike sizes.

    Example:
        >>> size_text(np.array([[4, 5], [2, 3]]))
        '2x3..4x5'
    """
    ordered = sorted(map(tuple, sizes.tolist()))
    return (
        "..".join(dict.fromkeys(f"{height}x{width}" for height, width in ordered[:1] + ordered[-1:]))
        or "nothing"
    )


def _matrix_columns(matrix: Array, sizes: Array) -> Columns:
    columns = {f"m{i}{j}": matrix[:, i, j] for i in range(3) for j in range(3)}
    return {**columns, "height": sizes[:, 0], "width": sizes[:, 1]}
