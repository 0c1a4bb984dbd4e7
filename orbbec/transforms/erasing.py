"""Rectangles that are filled, or brightened: random erasing, coarse dropout, bands, grids, patches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec.bridge.arguments import Array
from orbbec.bridge.spec import composite
from orbbec.plan.build import Build
from orbbec.plan.parameters import Column, OperatorStep
from orbbec.plan.registers import log_range
from orbbec.plan.steps import BatchState, Operator, Step
from orbbec.plan.stream import Stream
from orbbec.transforms.base.arguments import at_least, both, checks, or_none
from orbbec.transforms.base.checks import (
    MAX_SIDE,
    FillValue,
    Range,
    checked_numbers,
    choice,
    interval,
    numbers,
    whole,
)
from orbbec.transforms.base.transform import Transform

_HOLES = "fills rectangles, whose number varies"
_UNIT_DRAWS = 6  # of a rectangle in a unit: two for its position, up to four for its color


def _fill(op: str, name: str, value: Any, known: str) -> str | tuple[float, ...]:
    """Numbers, or a name that stands for random ones."""
    return choice(op, name, value, (known,)) if isinstance(value, str) else numbers(op, name, value)


@dataclass(frozen=True)
class RandomErasing(Transform):
    """Fill a random rectangle.

    Draws area and aspect ratio up to ten times until the rectangle fits; otherwise nothing is filled.

    Args:
        p: probability, from 0 to 1.
        scale: range of the area, as a fraction of the image's.
        ratio: range of height to width; drawn uniformly in the logarithm.
        value: a number, one per channel, or "random" for normal noise (a pass of its own). In the units that
            the pixels have at this step of the pipeline, for example normalized after Normalize.

    Source:
        `torchvision.transforms.v2.RandomErasing`.

    Example:
        >>> image = torch.ones(1, 8, 8)
        >>> erased = RandomErasing(p=1.0, scale=(0.25, 0.25), ratio=(1.0, 1.0))(image)
        >>> int(erased.sum())  # of 64 pixels
        48
    """

    p: float = 0.5
    scale: Range = (0.02, 0.33)
    ratio: Range = (0.3, 3.3)
    value: float | Sequence[float] | str = 0.0

    _checks = checks(scale=(0.0, 1.0), ratio=at_least(1e-6), value=partial(_fill, known="random"))

    def rules(self, build: Build) -> None:
        chosen = build.chance(self.p)
        numbers = *self.scale, *self.ratio, *log_range(*self.ratio)
        area = Rectangle("area", (*numbers, chosen), draws=40)
        if isinstance(self.value, str):
            columns = {"boxes": Column("registers", area.draw(build), (4,), "int64")}
            options = {"noise": "normal", "transform_index": build.stream}
            build.operator(OperatorStep("erase", columns, options, why="fills with noise per image"))
            return
        area.fill(build, "value", self.value)


@dataclass(frozen=True)
class Rectangle:
    """A rectangle to fill, drawn per image.

    Args:
        rule: the rule that draws its edges.
        operands: its operands.
        draws: random numbers that it takes.
    """

    rule: str
    operands: tuple[float, ...]
    draws: int

    def draw(self, build: Build) -> int:
        """Its edges; returns the first of four registers."""
        return build.compute(self.rule, *self.operands, draws=self.draws)

    def fill(self, build: Build, name: str, value: float | Sequence[float] | str) -> None:
        """Fill it with the argument `name`; "random_uniform" is a random color."""
        units = list(zip(*build.erase_units(), strict=True))  # first, since it may begin a pass
        first = self.draw(build)
        if isinstance(value, str) and build.channels > 4:
            raise ValueError(f"{build.name}: expected a number in {name} for {build.channels} channels")
        if isinstance(value, str):
            levels = [build.whole(summand, 256, factor * build.maximum / 255) for factor, summand in units]
        else:
            levels = _levels_of(build, name, value, units)
        build.consecutive([first + 3, *levels, *(build.constant(0.0) for _ in range(4 - len(units)))])
        build.erase(first)


def fill_rectangle(build: Build, edges: tuple[int, float, float, float], value: FillValue) -> None:
    """Fill from a column, whose number is in a register, to the other edges: top, right, bottom."""
    left, top, right, bottom = edges
    units = list(zip(*build.erase_units(), strict=True))
    levels = _levels_of(build, "fill", value, units)
    levels += [build.constant(0.0) for _ in range(4 - len(levels))]
    build.erase(build.copies([left, *map(build.constant, (top, right, bottom)), *levels]))


def _levels_of(
    build: Build, name: str, value: float | Sequence[float], units: Sequence[tuple[float, float]]
) -> list[int]:
    """The registers of the fill per channel."""
    fill = _fill_of(build, name, value)
    return [build.constant(f * factor + s) for f, (factor, s) in zip(fill, units, strict=True)]


def _fill_of(build: Build, name: str, value: float | Sequence[float]) -> list[float]:
    """The fill of up to four channels."""
    op, channels = build.name, build.channels
    fill = checked_numbers(value)
    build.check_numbers(name, fill)
    if channels > 4 and len(set(fill)) > 1:
        raise ValueError(f"{op}: expected 1 number in {name} for {channels} channels, but got {len(fill)}")
    return [fill[index % len(fill)] for index in range(min(4, channels))]


class _Dropout(Transform):
    """Fills several rectangles; its subclasses have these fields."""

    fill: float | Sequence[float] | str
    p: float

    _checks = checks(fill=partial(_fill, known="random_uniform"))

    def _fill_some(self, build: Build, chosen: int, counts: Any, rectangle: Rectangle) -> None:
        """Fill as many rectangles as are drawn, where `chosen` is not 0."""
        for is_there in build.each_of(counts):
            with build.only(build.both(chosen, is_there)):
                rectangle.fill(build, "fill", self.fill)


def _sides(op: str, name: str, value: Any) -> Range:
    """A range of fractions, or of whole pixels."""
    low, high = interval(op, name, value, 0.0)
    if high >= 1 and not (low.is_integer() and high.is_integer()):
        raise ValueError(f"{op}: expected {name} below 1 or in whole pixels, but got ({low:g}, {high:g})")
    return low, high


def _check_units(transform: Transform, *names: str) -> None:
    """Check that sides of rectangles are both fractions or both in pixels."""
    ranges = [getattr(transform, name) for name in names]
    if len({high >= 1 for _, high in ranges}) > 1:
        expected = f"{' and '.join(names)} both in pixels or both as fractions"
        raise ValueError(f"{transform.name}: expected {expected}, but got {' and '.join(map(str, ranges))}")


@dataclass(frozen=True)
class CoarseDropout(_Dropout):
    """Fill several random rectangles.

    Args:
        num_holes_range: how many: a number, or a range, from 1 to 256.
        hole_height_range: a range of fractions of the height; of pixels if its upper end is at least 1.
        hole_width_range: as hole_height_range; both in pixels, or both as fractions.
        fill: a number, one per channel, or "random_uniform" for a random color per rectangle. In the units
            that the pixels have at this step of the pipeline.
        p: probability, from 0 to 1.

    Source:
        `CoarseDropout` of Albumentations.

    Example:
        >>> dropout = CoarseDropout(1, hole_height_range=(2, 2), hole_width_range=(3, 3), p=1.0)
        >>> int(dropout(torch.ones(1, 8, 8)).sum())  # of 64 pixels
        58
    """

    num_holes_range: int | Sequence[int] = (1, 2)
    hole_height_range: Range = (0.1, 0.2)
    hole_width_range: Range = (0.1, 0.2)
    fill: float | Sequence[float] | str = 0.0
    p: float = 0.5

    _checks = checks(num_holes_range=(1, 256), hole_height_range=_sides, hole_width_range=_sides)

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_units(self, "hole_height_range", "hole_width_range")

    def rules(self, build: Build) -> None:
        chosen = build.chance(self.p)
        rectangle = _rectangle(self.hole_height_range, self.hole_width_range)
        self._fill_some(build, chosen, self.num_holes_range, rectangle)


@dataclass(frozen=True)
class XYMasking(_Dropout):
    """Fill random columns, and random rows, from edge to edge.

    Args:
        num_masks_x_range: how many bands of columns: a number, or a range, from 0 to 256.
        num_masks_y_range: how many bands of rows: a number, or a range, from 0 to 256.
        mask_x_length_range: widths of the bands of columns: a range of fractions of the width; of pixels if
            its upper end is at least 1.
        mask_y_length_range: heights of the bands of rows: a range as that of `mask_x_length_range`.
        fill: as that of `CoarseDropout`.
        p: probability, from 0 to 1.

    Source:
        `XYMasking` of Albumentations; with one band, its `TimeMasking` and `FrequencyMasking`, which are
        those of SpecAugment (Park and others, 2019) for spectrograms.

    Example:
        >>> masking = XYMasking(1, 1, mask_x_length_range=(2, 2), mask_y_length_range=(3, 3), p=1.0)
        >>> int(masking(torch.ones(1, 8, 8)).sum())  # of 64 pixels
        30
    """

    num_masks_x_range: int | Sequence[int] = 1
    num_masks_y_range: int | Sequence[int] = 1
    mask_x_length_range: Range = (0.0, 0.2)
    mask_y_length_range: Range = (0.0, 0.2)
    fill: float | Sequence[float] | str = 0.0
    p: float = 0.5

    _checks = checks(
        num_masks_x_range=(0, 256),
        num_masks_y_range=(0, 256),
        mask_x_length_range=_sides,
        mask_y_length_range=_sides,
    )

    def rules(self, build: Build) -> None:
        chosen = build.chance(self.p)
        columns = _rectangle(*_with_whole_side(self.mask_x_length_range))
        rows = _rectangle(*_with_whole_side(self.mask_y_length_range)[::-1])
        self._fill_some(build, chosen, self.num_masks_x_range, columns)
        self._fill_some(build, chosen, self.num_masks_y_range, rows)


def _rectangle(height_range: Range, width_range: Range) -> Rectangle:
    """A rectangle at a random position, with sides of these ranges."""
    is_in_pixels = height_range[1] >= 1 and width_range[1] >= 1
    return Rectangle("hole", (*height_range, *width_range, float(is_in_pixels)), draws=4)


def _with_whole_side(length_range: Range) -> tuple[Range, Range]:
    """The range of the other side, which is the whole, and this one."""
    whole_side = float(MAX_SIDE) if length_range[1] >= 1 else 1.0
    return (whole_side, whole_side), length_range


def filled_holes(holes: Array, fill: FillValue, chosen: Array) -> Operator:
    """The step that fills rectangles, int64 `[N, K, 4]`, of some images."""
    numbers = list(checked_numbers(fill))
    options = {"fill": numbers if len(numbers) > 1 else numbers[0]}
    return Operator("erase", {"boxes": holes}, options, drawn=chosen, why=_HOLES)


def unit_holes(size: Array, unit: Array, ratio: float, draws: Array | None) -> Array:
    """A rectangle in each unit of an image: left, top, right, bottom, int64 `[K, 4]`.

    Args:
        size: (height, width).
        unit: (height, width) of a unit in pixels, the smallest of several ones.
        ratio: sides of the rectangles as a fraction of those of their units.
        draws: numbers from 0 to 1, `[2, K]`: their positions along y and x; None: at the top left.
    """
    first, sides = [], []
    for side, length in zip(size.tolist(), unit.tolist(), strict=True):
        count = max(side // length, 1)
        ends = np.arange(count + 1) * side // count
        first.append(ends[:-1])
        sides.append(np.diff(ends))
    starts, lengths = (np.stack(np.meshgrid(*each, indexing="ij")).reshape(2, -1) for each in (first, sides))
    holes = np.floor(lengths * ratio).clip(1, np.maximum(lengths - 1, 0))
    offsets = 0 if draws is None else np.floor(draws[:, : starts.shape[1]] * (lengths - holes + 1))
    low = starts + offsets
    return np.stack([*low[::-1], *(low + holes)[::-1]], 1).astype(np.int64)


@dataclass(frozen=True)
class GridDropout(_Dropout):
    """Fill a rectangle in each cell of a grid.

    Args:
        ratio: sides of the rectangles as a fraction of those of their cells, above 0 and at most 1. A
            rectangle has at least one pixel, and leaves at least one of its cell along each side.
        holes_number_xy: number of cells along x and y, each from 1 to 32; None: cells have the sides of
            `unit_size_range`, and are filled in a separate pass.
        random_offset: whether the rectangles are at random positions in their cells, or at their top left.
        fill: as that of `CoarseDropout`.
        p: probability, from 0 to 1.
        unit_size_range: with holes_number_xy=None, a range of the side of cells in pixels, from 2; None: a
            tenth of each side of the image, rounded down, and at least 2. What is left of a side is spread
            over its cells.

    Source:
        `GridDropout` of Albumentations.

    Example:
        >>> dropout = GridDropout(0.5, (2, 2), random_offset=False, p=1.0)
        >>> dropout(torch.ones(1, 4, 8))[0, 0].tolist()
        [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0]
    """

    ratio: float = 0.5
    holes_number_xy: Sequence[int] | None = (10, 10)
    random_offset: bool = True
    fill: float | Sequence[float] | str = 0.0
    p: float = 0.5
    unit_size_range: Sequence[int] | None = field(default=None, kw_only=True)

    _checks = checks(
        unit_size_range=at_least(2),
        ratio=(1e-6, 1.0),
        holes_number_xy=or_none(both(partial(whole, low=1, high=32))),
    )

    def sample(self, sizes: Array, stream: Stream) -> Any:
        """The images with rectangles, the rectangles, and the numbers from 0 to 1 of their colors."""
        chosen, fractions = stream.chance(self.p), stream.uniforms(1)
        units = np.maximum(sizes // 10, 2)
        if self.unit_size_range is not None:
            low, high = self.unit_size_range
            units = np.tile(low + np.floor(fractions * (high - low + 1)).astype(np.int64), 2)
        counts = np.maximum(sizes // units, 1).prod(1)
        most = int(counts.max(initial=0))
        draws = stream.uniforms(_UNIT_DRAWS * most).reshape(len(sizes), most, _UNIT_DRAWS)
        holes = np.zeros((len(sizes), most, 4), np.int64)
        for n, (size, unit) in enumerate(zip(sizes, units, strict=True)):
            positions = draws[n, :, :2].T if self.random_offset else None
            holes[n, : counts[n]] = unit_holes(size, unit, self.ratio, positions)
        return chosen, holes, draws[..., 2:]

    def steps(self, params: Any, state: BatchState) -> Sequence[Step]:
        chosen, holes, draws = params
        if not isinstance(self.fill, str):
            return [filled_holes(holes, self.fill, chosen)]
        if state.channels > _UNIT_DRAWS - 2:
            raise ValueError(f"{self.name}: expected a number in fill for {state.channels} channels")
        colors = np.floor(draws[..., : state.channels] * 256) * (state.maximum / 255)
        return [Operator("erase", {"boxes": holes, "fill": colors}, {}, drawn=chosen, why=_HOLES)]

    def rules(self, build: Build) -> None:
        if self.holes_number_xy is None:
            super().rules(build)
            return
        chosen = build.chance(self.p)
        columns, rows = self.holes_number_xy
        for row, column in product(range(rows), range(columns)):
            cell = row, rows, column, columns, self.ratio, self.random_offset
            with build.only(chosen):
                Rectangle("cell", cell, draws=2).fill(build, "fill", self.fill)


@composite("patch_brightness")
def _brightened(images: Tensor, boxes: Tensor, factors: Tensor) -> Tensor:
    """Multiply the pixels of rectangles, `boxes` `[N, K, 4]`, by `factors` `[N, K]`."""
    height, width = images.shape[-2:]
    x, y = (torch.arange(side, device=images.device) for side in (width, height))
    gains = torch.ones(len(images), height, width, dtype=torch.float32, device=images.device)
    for box, factor in zip(boxes.unbind(1), factors.float().unbind(1), strict=True):
        left, top, right, bottom = box.T[..., None]
        rows, columns = (y >= top) & (y < bottom), (x >= left) & (x < right)
        inside = rows[:, :, None] & columns[:, None]
        gains = torch.where(inside, gains * factor[:, None, None], gains)
    result = images.float() * gains[:, None]
    if images.dtype == torch.uint8:
        return result.round().clamp(0, 255).byte()
    return result.clamp(0, 1).to(images.dtype)


@dataclass(frozen=True)
class PatchBrightness(Transform):
    """Brighten or darken random rectangles, in a separate pass.

    The pixels of each are multiplied by its factor, where rectangles overlap by both.

    Args:
        num_patches_range: how many: a number, or a range, from 1 to 16.
        patch_height_range: see `hole_height_range` of `CoarseDropout`.
        patch_width_range: see `hole_width_range` of `CoarseDropout`.
        factor_range: a range of factors, at least 0.
        p: probability, from 0 to 1.

    Source:
        The rectangles of `CoarseDropout`, with a factor in place of a fill.

    Example:
        >>> patch = PatchBrightness(1, (2, 2), (3, 3), (1.5, 1.5), p=1.0)
        >>> image = torch.full((1, 4, 5), 100, dtype=torch.uint8)
        >>> patch(image).unique(return_counts=True)
        (tensor([100, 150], dtype=torch.uint8), tensor([14,  6]))
    """

    num_patches_range: int | Sequence[int] = (1, 2)
    patch_height_range: Range = (0.1, 0.4)
    patch_width_range: Range = (0.1, 0.4)
    factor_range: Range = (0.5, 1.5)
    p: float = 0.5

    _checks = checks(
        num_patches_range=(1, 16),
        patch_height_range=_sides,
        patch_width_range=_sides,
        factor_range=at_least(0.0),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_units(self, "patch_height_range", "patch_width_range")

    def rules(self, build: Build) -> None:
        assert not isinstance(self.num_patches_range, int)
        low, high = self.num_patches_range
        chosen, count = build.chance(self.p), build.whole(low, high - low + 1)
        rectangle = _rectangle(self.patch_height_range, self.patch_width_range)
        edges: list[int] = []
        factors: list[int] = []
        for index in range(high):
            first, factor = rectangle.draw(build), build.uniform(*self.factor_range)
            is_there = build.compute("at_most", build.constant(index + 1), count)
            edges += range(first, first + 4)
            factors.append(build.select(is_there, factor, 1.0))
        columns = {
            "boxes": Column("registers", build.copies(edges), (high, 4), "int64"),
            "factors": Column("registers", build.copies(factors), (high,)),
        }
        step = OperatorStep("patch_brightness", columns, drawn=chosen, why="brightens rectangles")
        build.operator(step)
