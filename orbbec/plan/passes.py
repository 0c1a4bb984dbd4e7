"""What a plan is made of: passes over the pixels, each a frozen table with a row an image."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from orbbec.binding.arguments import Array
from orbbec.plan.steps import COLOR_COLUMNS, ERASE_COLUMNS

Columns: TypeAlias = dict[str, Array]


@dataclass(frozen=True, eq=False)
class AugmentPass:
    """One call of `orbbec.augment`.

    Args:
        matrix: float64 `[N, 3, 3]`: output pixels to the pixels that the pass reads.
        sizes: int64 `[N, 2]`: of its output.
        colors: float32 `[N, S, 16]`.
        erase: float32 `[N, E, 8]`, fills as fractions of white.
        regions: int64 `[N, 4]`: left, top, right, bottom of the part of each image that is seen; None: all.
        contrast: whether a step of colour may be one of contrast.
        mean: a number a channel, or none.
        std: a number a channel, or none.
        dtype: of its output, by name.
        channels_last: layout of its output; None: that of its input.
        interpolation: "nearest" or "linear".
        border: what lies outside of an image.
        fill: of a constant border, in units of the pass's input.
        why: the chain was split before it; empty where it was not.
        holds: the transforms that it runs.
    """

    matrix: Array
    sizes: Array
    colors: Array
    erase: Array
    regions: Array | None = None
    contrast: bool = False
    mean: tuple[float, ...] | None = None
    std: tuple[float, ...] | None = None
    dtype: str = "uint8"
    channels_last: bool | None = None
    interpolation: str = "linear"
    border: str = "replicate"
    fill: tuple[float, ...] = (0.0,)
    why: str = ""
    holds: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return "augment"

    def columns(self) -> Columns:
        """The numbers of the pass by name, each `[N]`."""
        columns = _matrix_columns(self.matrix, self.sizes)
        if self.regions is not None:
            columns |= {f"region.{name}": self.regions[:, i] for i, name in enumerate(ERASE_COLUMNS[:4])}
        for s in range(self.colors.shape[1]):
            columns |= {f"color{s}.{name}": self.colors[:, s, i] for i, name in enumerate(COLOR_COLUMNS)}
        for e in range(self.erase.shape[1]):
            columns |= {f"erase{e}.{name}": self.erase[:, e, i] for i, name in enumerate(ERASE_COLUMNS)}
        return columns

    def describe(self) -> str:
        parts = [f"{self.interpolation}, border {self.border}"]
        parts += [f"{self.colors.shape[1]} colour steps"] if self.colors.shape[1] else []
        parts += [f"{self.erase.shape[1]} rectangles"] if self.erase.shape[1] else []
        parts += ["normalised"] if self.mean is not None or self.std is not None else []
        parts += ["parts of images"] if self.regions is not None else []
        return f"augment -> {size_text(self.sizes)} {self.dtype} ({'; '.join(parts)})"


@dataclass(frozen=True, eq=False)
class OperatorPass:
    """One call of the operator `name`; arguments as those of `steps.Operator`."""

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

    def columns(self) -> Columns:
        """The numbers of the pass by name, each `[N]` or `[N, ...]`."""
        return dict(self.table)

    def describe(self) -> str:
        return f"{self.name} -> {size_text(self.sizes)} {self.dtype}"


Pass: TypeAlias = AugmentPass | OperatorPass | MixPass


def size_text(sizes: Array) -> str:
    """`224x224`, or the smallest and the largest of unlike sizes.

    Example:
        >>> import numpy as np
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
