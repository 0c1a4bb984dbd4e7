"""Steps: what a transform does to a batch, as tables with a row per image that are added to a plan's passes.

Transforms use only what this module exports. What a step may do is known before parameters are drawn, so that
every batch gets the same passes.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from orbbec.augment.codes import PLACED, STEPS
from orbbec.bridge.arguments import Array
from orbbec.plan.build import Build
from orbbec.plan.parameters import Column, OperatorStep, identities, same_rows
from orbbec.plan.passes import VARIES, Size

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "BatchState",
    "Cast",
    "Colors",
    "Erase",
    "Normalize",
    "Operator",
    "Step",
    "Warp",
    "identities",
    "same_rows",
]
STEP_WARP = 18  # registers: matrix 9, height, width, box 4, whether flipped, offset 2


@dataclass(frozen=True, eq=False)
class BatchState:
    """The state of a batch between two transforms.

    Args:
        sizes: int64 `[N, 2]`: height and width in pixels.
        channels: number of channels of every image.
        maximum: the maximum value, 255 or 1: the unit of fills and thresholds.
        exact: whether color steps must also be operators.
        chosen: bool `[N]`: the images to which the next steps apply; None: all.
        least: lower bounds of height and width that follow from the pipeline alone.
    """

    sizes: Array
    channels: int = 3
    maximum: float = 255.0
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


@dataclass(frozen=True, eq=False)
class Step:
    """A change to a batch, with one row of parameters per image; subclasses are frozen dataclasses.

    Args:
        drawn: bool `[N]`: the images that it changes; None: all.
    """

    drawn: Array | None = field(default=None, kw_only=True)

    def only(self, chosen: Array) -> Self:
        """The step applied to the chosen images only."""
        return replace(self, drawn=chosen if self.drawn is None else chosen & self.drawn)

    @property
    def structure(self) -> Hashable:
        """What all batches must have in common, since the pipeline was compiled with it."""
        return type(self), *(_structure(getattr(self, each.name)) for each in fields(self))

    def add(self, build: Build, sizes: Array, register: int) -> Any:
        """Add the step to a program.

        Args:
            build: the program so far.
            sizes: int64 `[N, 2]`: the sizes of the images that it is compiled for.
            register: the first of the registers for its `numbers`.

        Raises:
            ValueError: the step does not support the images at this point.
        """
        raise NotImplementedError

    def parts(self, exact: bool) -> Sequence[Step]:
        """The steps that it consists of, by default itself; with `exact`, its operators, if it has some."""
        return (self,)

    def numbers(self) -> Array:
        """The numbers of its registers, in order: `[N, registers]`."""
        return np.empty((1, 0))


def _structure(value: Any) -> Hashable:
    """A value without the numbers of a batch; the entries of a table may have any shape."""
    result: Hashable = value
    if isinstance(value, Step):
        result = value.structure
    elif isinstance(value, np.ndarray):
        result = value.shape[1:]
    elif isinstance(value, Mapping):
        result = *value, *(_structure(v) for v in value.values() if not isinstance(v, np.ndarray))
    elif isinstance(value, (tuple, list)):
        result = tuple(map(_structure, value))
    return result


class _Identity(Step):
    """Leaves images as they are, in a fused pass."""

    def add(self, build: Build, sizes: Array, register: int) -> None:
        build.open.holds[build.name] = None


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

    def add(self, build: Build, sizes: Array, register: int) -> None:
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
            size=static_size(self, sizes),
            least=self.least,
        )

    def numbers(self) -> Array:
        return _warp_numbers(self.matrix, self.sizes, self.region, self.flips, self.offset)


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

    def parts(self, exact: bool) -> Sequence[Step]:
        if not (exact and self.operators):
            return (self,)
        drawn = self.drawn
        operators = self.operators if drawn is None else [each.only(drawn) for each in self.operators]
        return *operators, _Identity()

    def add(self, build: Build, sizes: Array, register: int) -> None:
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

    def add(self, build: Build, sizes: Array, register: int) -> tuple[list[float], list[float]]:
        return build.erase(register, self.boxes.shape[1])

    def numbers(self) -> Array:
        return np.array(self.boxes, np.float64).reshape(len(self.boxes), -1)


@dataclass(frozen=True, eq=False)
class Normalize(Step):
    """`(value - mean) / std` of every image, with one number per channel."""

    mean: tuple[float, ...]
    std: tuple[float, ...]

    def add(self, build: Build, sizes: Array, register: int) -> None:
        build.normalize(self.mean, self.std)


@dataclass(frozen=True, eq=False)
class Cast(Step):
    """A change of dtype or memory layout of all images; `scale` maps the old maximum value to the new one."""

    dtype: str | None = None
    scale: bool = True
    channels_last: bool | None = None

    def add(self, build: Build, sizes: Array, register: int) -> None:
        build.cast(self.dtype, self.scale, self.channels_last)


@dataclass(frozen=True, eq=False)
class Operator(Step):
    """A registered operator, with a row of arguments per image.

    Args:
        name: name of the operator.
        table: arrays `[N]` or `[N, ...]`, by argument name.
        options: arguments that are the same for all images.
        matrix: float64 `[N, 3, 3]`, output to source pixels, if it moves pixels; needs `sizes`. An argument
            `matrix` in `table` has its rows.
        sizes: int64 `[N, 2]`: sizes of its output, if it changes sizes.
        why: why it cannot be fused.
        channels: number of output channels, if it changes them.
        least: see `Warp`.
    """

    name: str
    table: Mapping[str, Array] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    matrix: Array | None = None
    sizes: Array | None = None
    why: str = "reads neighboring pixels"
    channels: int | None = None
    least: tuple[int, int] = (1, 1)

    def add(self, build: Build, sizes: Array, register: int) -> None:
        columns = {name: Column("step", build.arrays, value=name) for name in self.table}
        build.arrays += 1
        if self.matrix is not None and "matrix" in columns:
            columns["matrix"] = Column("matrix", shape=self.table["matrix"].shape[1:2])
        elif self.matrix is not None and build.gate is not None:
            raise ValueError(f"{self.name}: images of one batch are all moved by their table, or none")
        build.operator(
            OperatorStep(self.name, columns, self.options, why=self.why),
            *(() if self.matrix is None else ("step_warp", register, 0)),
            size=static_size(self, sizes),
            least=self.least,
            resizes=self.sizes is not None,
            channels=self.channels,
        )

    def numbers(self) -> Array:
        return super().numbers() if self.matrix is None else _warp_numbers(self.matrix, self.sizes)


def _warp_numbers(
    matrix: Array,
    sizes: Array | None,
    region: Array | None = None,
    flips: Array | None = None,
    offset: Array | None = None,
) -> Array:
    """The registers of a warp: float64 `[N, 18]`."""
    numbers = np.zeros((len(matrix), STEP_WARP))
    numbers[:, :9] = matrix.reshape(-1, 9)
    if sizes is not None:
        numbers[:, 9:11] = sizes
    for at, width, values in ((11, 4, region), (15, 1, flips), (16, 2, offset)):
        if values is not None:
            numbers[:, at : at + width] = values.reshape(-1, width)
    return numbers


def static_size(step: Warp | Operator, sizes: Array) -> Size | None:
    """The size of the outputs of a step that is known for every batch; None: that of its inputs."""
    if step.sizes is None or step.sizes is sizes:
        return None
    if step.least != (1, 1) and (step.sizes == step.least).all():
        return int(step.least[0]), int(step.least[1])
    return VARIES
