"""Steps that can be fused: coordinates, colors, rectangles, normalization, dtypes and layouts."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from orbbec.augment.codes import PLACED, STEPS
from orbbec.bridge.arguments import Array
from orbbec.plan.build import Build
from orbbec.plan.state import BatchState
from orbbec.plan.steps.alone import Operator
from orbbec.plan.steps.base import Identity, Step, geometry_of, static_size, warp_numbers


@dataclass(frozen=True, eq=False)
class Warp(Step):
    """The source position of each output pixel.

    What a warp may do is known before parameters are drawn, so that every batch gets the same passes.

    Args:
        matrix: float64 `[N, 3, 3]`: output pixels to source pixels, pixel centers at whole numbers.
        sizes: int64 `[N, 2]`: sizes of the output.
        interpolation: "nearest", "linear" or "cubic".
        border: values outside the source; None: the warp never reads there.
        fill: fill of a constant border, in the units of the pipeline: one number, or one per channel.
        lossless: every output pixel is a source pixel, moved.
        onto: also, every source pixel is kept, as by a flip.
        region: int64 `[N, 4]`: left, top, right, bottom of the part of the source that is cropped first.
        flips: bool `[N]`: the warp only flips these images horizontally; None: it may do something else.
        offset: float64 `[N, 2]`: added to the positions (x, y) that a nearest warp reads, but not to those of
            targets; None: no offset.
        least: lower bounds of height and width of the output, if it changes sizes.
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

    def only(self, chosen: Array, state: BatchState) -> Warp:
        """The warp for the chosen images, and the identity for the others."""
        return replace(
            self,
            **geometry_of(self, chosen, state),
            region=None if self.region is None else np.where(chosen[:, None], self.region, state.regions),
            flips=None if self.flips is None else self.flips & chosen,
            offset=None if self.offset is None else np.where(chosen[:, None], self.offset, 0.0),
        )

    def after(self, state: BatchState) -> BatchState:
        return state if self.sizes is state.sizes else state.of_sizes(self.sizes, self.least)

    @property
    def structure(self) -> Hashable:
        options = self.interpolation, self.border, self.fill, self.lossless, self.onto, self.least
        return (*options, self.region is None, self.flips is None, self.offset is None)

    def add(self, build: Build, state: BatchState, register: int) -> None:
        has_region = self.region is not None
        build.warp(
            "step_warp",
            register,
            int(has_region),
            interpolation=self.interpolation,
            border=self.border,
            fill=self.fill,
            lossless=self.lossless,
            onto=self.onto,
            region=has_region,
            flips=self.flips is not None,
            offset=self.offset is not None,
            size=static_size(self, state),
            least=self.least,
        )

    def numbers(self) -> Array:
        return warp_numbers(self.matrix, self.sizes, self.region, self.flips, self.offset)


@dataclass(frozen=True, eq=False)
class Colors(Step):
    """Steps of a color program.

    Args:
        rows: float32 `[N, S, 16]`: code, numbers of the step, zeros; code 0 means no step.
        contrast: whether a row may adjust contrast, at most one per image.
        placed: whether a row may read the positions of pixels.
        operators: the operators that give torchvision's bytes instead.
    """

    rows: Array
    contrast: bool = False
    operators: tuple[Operator, ...] = ()
    placed: bool = False

    def only(self, chosen: Array, state: BatchState) -> Colors:
        rows = np.where(chosen[:, None, None], self.rows, np.float32(0))
        return replace(self, rows=rows, operators=tuple(op.only(chosen, state) for op in self.operators))

    @property
    def structure(self) -> Hashable:
        operators = tuple(operator.structure for operator in self.operators)
        return self.rows.shape[1], self.contrast, self.placed, operators

    def parts(self, exact: bool) -> Sequence[Step]:
        return (*self.operators, Identity()) if exact and self.operators else (self,)

    def add(self, build: Build, state: BatchState, register: int) -> None:
        rows = self.rows.shape[1]
        build.colors("step_colors", register, rows, rows=rows, contrast=self.contrast, placed=self.placed)

    def numbers(self) -> Array:
        if not self.contrast and (self.rows[:, :, 0] == STEPS["contrast"]).any():
            raise ValueError("expected Colors(contrast=True), since there are steps of contrast")
        if not self.placed and np.isin(self.rows[:, :, 0], list(PLACED)).any():
            raise ValueError("expected Colors(placed=True), since there are steps that read positions")
        return self.rows.reshape(len(self.rows), -1)


@dataclass(frozen=True, eq=False)
class Erase(Step):
    """Rectangles to fill.

    Args:
        boxes: float64 `[N, E, 8]`: left, top, right, bottom in pixels, right and bottom exclusive, and the
            fill of up to four channels in the units of the pipeline.
    """

    boxes: Array

    def only(self, chosen: Array, state: BatchState) -> Erase:
        return Erase(np.where(chosen[:, None, None], self.boxes, 0.0))

    @property
    def structure(self) -> Hashable:
        return int(self.boxes.shape[1])

    def add(self, build: Build, state: BatchState, register: int) -> tuple[list[float], list[float]]:
        return build.erase(register, self.boxes.shape[1])

    def numbers(self) -> Array:
        return np.array(self.boxes, np.float64).reshape(len(self.boxes), -1)


@dataclass(frozen=True, eq=False)
class Normalize(Step):
    """`(value - mean) / std` of every image, with one number per channel."""

    mean: tuple[float, ...]
    std: tuple[float, ...]

    def only(self, chosen: Array, state: BatchState) -> Normalize:
        raise ValueError("Normalize: images of one batch are all normalized, or none")

    @property
    def structure(self) -> Hashable:
        return self.mean, self.std

    def add(self, build: Build, state: BatchState, register: int) -> None:
        build.normalize(self.mean, self.std)


@dataclass(frozen=True, eq=False)
class Cast(Step):
    """A change of dtype or memory layout of all images; `scale` maps the old maximum value to the new one."""

    dtype: str | None = None
    scale: bool = True
    channels_last: bool | None = None

    def only(self, chosen: Array, state: BatchState) -> Cast:
        raise ValueError("ToDtype: images of one batch are all cast, or none")

    def after(self, state: BatchState) -> BatchState:
        if self.dtype is None or not self.scale:
            return state
        return replace(state, maximum=255.0 if self.dtype == "uint8" else 1.0)

    @property
    def structure(self) -> Hashable:
        return self.dtype, self.scale, self.channels_last

    def add(self, build: Build, state: BatchState, register: int) -> None:
        build.cast(self.dtype, self.scale, self.channels_last)
