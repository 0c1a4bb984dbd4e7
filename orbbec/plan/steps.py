"""What a transform is, for a batch: rows of numbers, one an image. A plan is fused from these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from orbbec.binding.arguments import Array

COLOR_COLUMNS = ("code", *(f"a{i}" for i in range(12)))
ERASE_COLUMNS = ("left", "top", "right", "bottom", "fill0", "fill1", "fill2", "fill3")
COLOR_WIDTH, ERASE_WIDTH = 16, 8
_IDENTITY = np.eye(3)
SMOOTHNESS = ("nearest", "linear", "cubic")  # interpolations of maps, the smoother ones last
NONE, MATRIX, HUE, GAMMA, POSTERIZE, SOLARIZE, CONTRAST = range(7)


@dataclass(frozen=True, eq=False)
class Frame:
    """The images as they are at a place of the chain.

    Args:
        sizes: int64 `[N, 2]`: height and width in pixels.
        channels: of every image.
        white: the value of white, 255 or 1: the unit of fills and thresholds.
        exact: whether colours are asked for as operators too.
        chosen: bool `[N]`: the images that steps are drawn for; None: all.
        least: height and width that no image is below, as the chain alone tells.
    """

    sizes: Array
    channels: int = 3
    white: float = 255.0
    exact: bool = False
    chosen: Array | None = None
    least: tuple[int, int] = (1, 1)

    @property
    def heights(self) -> Array:
        return self.sizes[:, 0]

    @property
    def widths(self) -> Array:
        return self.sizes[:, 1]

    @property
    def regions(self) -> Array:
        """Whole images as left, top, right, bottom: int64 `[N, 4]`."""
        return np.concatenate([np.zeros_like(self.sizes), self.sizes[:, ::-1]], 1)

    def __len__(self) -> int:
        return len(self.sizes)

    def of_sizes(self, sizes: Array, least: tuple[int, int] = (1, 1)) -> Frame:
        """The images resized."""
        if sizes is self.sizes and least == self.least:
            return self
        return replace(self, sizes=sizes, least=least)

    def least_after(self, step: Map | Operator | Mix) -> tuple[int, int]:
        """Height and width that no image is below after a step."""
        return self.least if step.sizes is None or step.sizes is self.sizes else step.least

    def only(self, chosen: Array) -> Frame:
        """The images of which some alone are chosen."""
        return replace(self, chosen=chosen if self.chosen is None else chosen & self.chosen)

    def after(self, step: Step) -> Frame:
        """The images as they are after a step."""
        if isinstance(step, Map):
            return self if step.sizes is self.sizes else self.of_sizes(step.sizes, step.least)
        if isinstance(step, Operator) and step.channels is not None:
            return replace(self, channels=step.channels)
        if isinstance(step, (Operator, Mix)) and step.sizes is not None:
            return self.of_sizes(step.sizes, self.least_after(step))
        if isinstance(step, Cast) and step.dtype is not None and step.scale:
            return replace(self, white=255.0 if step.dtype == "uint8" else 1.0)
        return self


@dataclass(frozen=True, eq=False)
class Map:
    """Where each pixel of the output reads.

    What a map can do is known before anything is drawn, so that batches split alike whatever is drawn.

    Args:
        matrix: float64 `[N, 3, 3]`: output pixels to source pixels, pixel centres at whole numbers.
        sizes: int64 `[N, 2]`: of the output.
        interpolation: one of `SMOOTHNESS`.
        border: what lies outside; None: the map never reads there.
        fill: of a constant border, in units of the chain: one number or one a channel.
        lossless: every pixel is a pixel of the source, moved.
        onto: and every pixel of the source is kept, as by a flip.
        region: int64 `[N, 4]`: left, top, right, bottom of the part of the source that is cut out first.
        flips: bool `[N]`: the map does no more than turn these left to right; None: it may do something else.
        offset: float64 `[N, 2]`: added to the positions (x, y) that a nearest map reads, not to those of
            targets; None: nothing.
        least: height and width that no output is below, where it has other sizes.
    """

    matrix: Array
    sizes: Array
    interpolation: str = "linear"
    border: str | None = None
    fill: tuple[float, ...] = (0.0,)
    lossless: bool = False
    onto: bool = False
    region: Array | None = None
    flips: Array | None = None
    offset: Array | None = None
    least: tuple[int, int] = (1, 1)

    def only(self, chosen: Array, frame: Frame) -> Map:
        """The map for the images that are chosen, and the identity for the others."""
        return replace(
            self,
            matrix=np.where(chosen[:, None, None], self.matrix, _IDENTITY),
            sizes=np.where(chosen[:, None], self.sizes, frame.sizes),
            region=None if self.region is None else np.where(chosen[:, None], self.region, frame.regions),
            flips=None if self.flips is None else self.flips & chosen,
            offset=None if self.offset is None else np.where(chosen[:, None], self.offset, 0.0),
            least=_lower(frame.least_after(self), frame.least),
        )


@dataclass(frozen=True, eq=False)
class Colors:
    """Steps of a colour program.

    Args:
        rows: float32 `[N, S, 16]`: code, its numbers, zeros; code 0 is no step.
        contrast: whether a row may be a step of contrast, at most one an image.
        operators: the operators that give torchvision's bytes instead.
    """

    rows: Array
    contrast: bool = False
    operators: tuple[Operator, ...] = ()

    def only(self, chosen: Array, frame: Frame) -> Colors:
        rows = np.where(chosen[:, None, None], self.rows, np.float32(0))
        return Colors(rows, self.contrast, tuple(op.only(chosen, frame) for op in self.operators))


@dataclass(frozen=True, eq=False)
class Erase:
    """Rectangles that are filled.

    Args:
        boxes: float64 `[N, E, 8]`: left, top, right, bottom in pixels, exclusive, and the fill of up to four
            channels in units of the chain.
    """

    boxes: Array

    def only(self, chosen: Array, frame: Frame) -> Erase:
        return Erase(np.where(chosen[:, None, None], self.boxes, 0.0))


@dataclass(frozen=True, eq=False)
class Normalize:
    """`(value - mean) / std`, a number a channel; of every image."""

    mean: tuple[float, ...]
    std: tuple[float, ...]

    def only(self, chosen: Array, frame: Frame) -> Normalize:
        raise ValueError("Normalize: images of one batch are all normalised, or none")


@dataclass(frozen=True, eq=False)
class Cast:
    """Another dtype of pixels, by name, white to white if `scale`; or another layout; of every image."""

    dtype: str | None = None
    scale: bool = True
    channels_last: bool | None = None

    def only(self, chosen: Array, frame: Frame) -> Cast:
        raise ValueError("ToDtype: images of one batch are all cast, or none")


@dataclass(frozen=True, eq=False)
class Operator:
    """An operator of the package, with a row of arguments an image.

    Args:
        name: of the operator.
        table: arrays `[N]` or `[N, ...]`, by the names of the operator's arguments.
        options: what is the same for all images.
        drawn: bool `[N]`: the images that it changes; the others keep their bytes.
        matrix: float64 `[N, 3, 3]`, output to source pixels, where it moves pixels.
        sizes: int64 `[N, 2]`: of its output, where it gives other sizes.
        why: it cannot be fused.
        channels: of its output, where it gives others.
        least: as that of `Map`.
    """

    name: str
    table: Mapping[str, Array] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    drawn: Array | None = None
    matrix: Array | None = None
    sizes: Array | None = None
    why: str = "reads the neighbours of a pixel"
    channels: int | None = None
    least: tuple[int, int] = (1, 1)

    def only(self, chosen: Array, frame: Frame) -> Operator:
        if self.channels is not None:
            raise ValueError(f"{self.name}: images of one batch all get other channels, or none")
        if self.sizes is not None and self.matrix is not None:
            return self._kept_size(chosen, frame)
        return replace(self, drawn=chosen if self.drawn is None else chosen & self.drawn)

    def _kept_size(self, chosen: Array, frame: Frame) -> Operator:
        assert self.matrix is not None
        assert self.sizes is not None
        table = dict(self.table)
        if "boxes" in table:
            table["boxes"] = np.where(chosen[:, None], table["boxes"], frame.regions.astype(np.float64))
        else:
            rows = table["matrix"].shape[1]
            table["matrix"] = np.where(chosen[:, None, None], table["matrix"], _IDENTITY[:rows])
        return replace(
            self,
            table=table,
            matrix=np.where(chosen[:, None, None], self.matrix, _IDENTITY),
            sizes=np.where(chosen[:, None], self.sizes, frame.sizes),
            least=_lower(frame.least_after(self), frame.least),
        )


@dataclass(frozen=True, eq=False)
class Mix:
    """Images of a batch mixed with others of it.

    Args:
        name: "mixup", "cutmix" or "mosaic".
        table: arrays `[N]` or `[N, ...]`, by the names of the operator's arguments.
        sizes: int64 `[N, 2]`: of the output, where it has other sizes.
        least: as that of `Map`.
    """

    name: str
    table: Mapping[str, Array]
    sizes: Array | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    least: tuple[int, int] = (1, 1)

    def only(self, chosen: Array, frame: Frame) -> Mix:
        """The mix for the images that are chosen; of the others, each is mixed with itself alone."""
        own = np.arange(len(frame)).reshape(-1, *(1,) * (self.table["partners"].ndim - 1))
        kept: dict[str, Any] = {"partners": own, "weights": 1.0, "boxes": 0, "centers": frame.sizes[:, ::-1]}
        if self.sizes is not None and (self.sizes != frame.sizes)[~chosen].any():
            raise ValueError(
                f"{self.name}: expected images of its size where it is not applied to all; "
                "put a resize before it"
            )
        table = {
            name: np.where(chosen.reshape(-1, *(1,) * (values.ndim - 1)), values, kept[name])
            for name, values in self.table.items()
        }
        return replace(self, table=table)


@dataclass(frozen=True, eq=False)
class Blend:
    """Images blended with altered copies of themselves.

    Args:
        weights: float64 `[N, 1 + K]`: of an image and of its K copies.
        steps: of the copies, K * N of them: the first of every image, then the second ...
    """

    weights: Array
    steps: tuple[Step, ...]

    def only(self, chosen: Array, frame: Frame) -> Blend:
        alone = np.zeros_like(self.weights)
        alone[:, 0] = 1.0
        return replace(self, weights=np.where(chosen[:, None], self.weights, alone))


Step: TypeAlias = Map | Colors | Erase | Normalize | Cast | Operator | Mix | Blend


def _lower(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return min(one[0], other[0]), min(one[1], other[1])


def color_row(code: int, *numbers: Any, count: int) -> Array:
    """float32 `[count, 1, 16]` of one step; each number is one for all images or an array `[count]`."""
    row = np.zeros((count, 1, COLOR_WIDTH), np.float32)
    row[:, 0, 0] = code
    for i, number in enumerate(numbers):
        row[:, 0, 1 + i] = number
    return row


def matrix_row(matrix: Array, offset: Any, count: int) -> Array:
    """The step `matrix @ rgb + offset * white`: `[3, 3]` or `[count, 3, 3]`, and `[3]` or a number."""
    row = np.zeros((count, 1, COLOR_WIDTH), np.float32)
    row[:, 0, 0] = MATRIX
    row[:, 0, 1:10] = matrix.reshape(-1, 9)
    row[:, 0, 10:13] = offset
    return row


def identities(count: int) -> Array:
    """Maps that move nothing: float64 `[count, 3, 3]`."""
    maps = np.empty((count, 3, 3))
    maps[:] = _IDENTITY
    return maps


def same_rows(row: Any, count: int) -> Array:
    """One row of whole numbers for every image: int64 `[count, len(row)]`."""
    rows = np.empty((count, len(row)), np.int64)
    rows[:] = row
    return rows


def side_by_side(*columns: Any) -> Array:
    """Arrays `[N]`, or numbers, as the columns of one: `[N, len(columns)]`."""
    return np.ascontiguousarray(np.array(columns).T)


def joined(parts: Sequence[Array], count: int, width: int, dtype: Any) -> Array:
    """Rows one after the other, `[count, sum, width]`."""
    return np.concatenate(parts, axis=1, dtype=dtype) if parts else np.zeros((count, 0, width), dtype)
