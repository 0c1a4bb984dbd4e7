"""The fused pass: one call of `orbbec.augment`, or of `orbbec.augment_crop` over crops that it resizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from orbbec.augment import Output, Sampling, Values, augment
from orbbec.augment.codes import COLOR_WIDTH, ERASE_WIDTH
from orbbec.augment.crop import augment_crop
from orbbec.bridge.arguments import Array, StoredPlanes, size_text
from orbbec.plan.batches import Work, device_of, table_rows
from orbbec.plan.packing import on_device
from orbbec.plan.passes.base import Columns, Context, NoiseKey, Pass, drawn_property, matrix_columns
from orbbec.plan.passes.by_size import run_by_size, single_size
from orbbec.plan.passes.mix import MixPass
from orbbec.plan.passes.operator import OperatorPass
from orbbec.plan.points import seen_regions, shifted
from orbbec.plan.rules import BORDERS, DTYPES, KINDS, READINGS, Block, Rule

_COLOR_COLUMNS = ("code", *(f"a{i}" for i in range(12)))
_REACH = 3  # pixels: those of a cubic filter around a position, and one for its rounding
_ERASE_COLUMNS = ("left", "top", "right", "bottom", "fill0", "fill1", "fill2", "fill3")


@dataclass(eq=False, kw_only=True)
class AugmentPass(Pass):
    """One call of `orbbec.augment`.

    Args:
        matrix_block: block of matrices, as kernels read them.
        region_block: block of the visible part of each image, of no rows if all of it is.
        color_block: block of color rows.
        erase_block: block of rectangles, with fills as fractions of the maximum value.
        has_offset: whether something is added to the positions that a nearest warp reads.
        reads_beyond: whether a warp may read outside the visible part.
        contrast: whether a color step may adjust contrast.
        mean: one number per channel, or none.
        std: one number per channel, or none.
        channels_last: memory layout of its output; None: that of its input.
        interpolation: "nearest", "linear" or "cubic".
        border: values outside an image.
        fill: fill of a constant border, in the units of the pass's input.
        mixes: the mix at its end, if any.
    """

    matrix_block: Block = field(default_factory=lambda: Block(9, 1))
    region_block: Block = field(default_factory=lambda: Block(8))
    color_block: Block = field(default_factory=lambda: Block(COLOR_WIDTH))
    erase_block: Block = field(default_factory=lambda: Block(ERASE_WIDTH))
    has_offset: bool = False
    reads_beyond: bool = False
    contrast: bool = False
    mean: tuple[float, ...] | None = None
    std: tuple[float, ...] | None = None
    channels_last: bool | None = None
    interpolation: str = "nearest"
    border: str = "replicate"
    fill: tuple[float, ...] = (0.0,)
    mixes: MixPass | None = None

    name = "augment"
    resamples = True
    takes_sizes: ClassVar[bool] = True  # whether one call takes results of different sizes

    @property
    def blocks(self) -> Sequence[Block]:  # type: ignore[override]
        return self.region_block, self.matrix_block, self.color_block, self.erase_block

    @property
    def partial_blocks(self) -> Sequence[Block]:  # type: ignore[override]
        return self.color_block, self.erase_block

    @property
    def runs(self) -> bool:  # type: ignore[override]
        has_few_numbers = max(len(self.fill), len(self.mean or ()), len(self.std or ())) <= 4
        return self.mixes is None and self.dtype in DTYPES and has_few_numbers

    def end(self) -> Sequence[Rule]:
        operands = self.matrix_block.offset, self.region_block.start, self.has_offset, -1, -1
        return [Rule("end_pass", operands, out=self.out)]

    def row(self) -> Mapping[str, float | Sequence[float]]:
        colors, erase, mean, std = self.color_block, self.erase_block, self.mean or (), self.std or ()
        return {
            **super().row(),
            "kind": KINDS.index("augment"),
            "reading": READINGS.index(self.interpolation),
            "border": BORDERS.index(self.border),
            "dtype": DTYPES.index(self.dtype),
            "layout": -1 if self.channels_last is None else self.channels_last,
            "contrast": self.contrast,
            "fill_count": len(self.fill),
            "fill": self.fill,
            "statistic_count": len(mean),
            "mean": mean,
            "std": std,
            "matrix_words": self.matrix_block.offset,
            "region_words": self.region_block.start,
            "reads_beyond": self.reads_beyond,
            "has_offset": self.has_offset,
            "color_words": max(colors.start, 0),
            "color_count": colors.rows,
            "erase_words": max(erase.start, 0),
            "erase_count": erase.rows,
        }

    @drawn_property
    def colors(self) -> Array:
        """Color programs: float32 `[N, S, 16]`."""
        return self.parameters.block(self.color_block)

    @drawn_property
    def erase(self) -> Array:
        """Rectangles: float32 `[N, E, 8]`."""
        return self.parameters.block(self.erase_block)

    @drawn_property
    def regions(self) -> Array | None:
        """The visible part of each image: int64 `[N, 4]`, left, top, right, bottom; None: all of it."""
        if not self.region_block.rows:
            return None
        return self.parameters.block(self.region_block).view(np.int64)[:, 0]

    @drawn_property
    def source_matrix(self) -> Array:
        """Output pixels to pixels of the visible part: float64 `[N, 3, 3]`."""
        return self.matrix if self.regions is None else shifted(self.matrix, -self.regions[:, :2])

    @property
    def offset(self) -> Array | None:
        """What a nearest warp adds to the positions (x, y) that it reads: float64 `[N, 2]`; None: nothing."""
        return self.parameters.offsets(self.out) if self.has_offset else None

    @drawn_property
    def reads(self) -> Array:
        """The matrices of the operator: those of the source, with what a nearest warp adds to positions."""
        return self.source_matrix if self.offset is None else shifted(self.source_matrix, self.offset)

    @drawn_property
    def mix(self) -> MixPass | None:
        return None if self.mixes is None else self.mixes.of(self.parameters)

    def tables(self, key: NoiseKey) -> Columns:
        tables = {"matrix": self.reads.astype(np.float32)}
        if self.regions is not None:
            tables["regions"] = self.regions
        if self.color_block.rows:
            tables["colors"] = self.colors
        if self.erase_block.rows:
            tables["erase"] = self.erase
        if self.mix is not None:
            tables["mix"] = self.mix.fused_rows()
        return tables

    def columns(self) -> Columns:
        columns = matrix_columns(self.matrix, self.sizes)
        if self.regions is not None:
            columns |= {f"region.{name}": self.regions[:, i] for i, name in enumerate(_ERASE_COLUMNS[:4])}
        for s in range(self.color_block.rows):
            columns |= {f"color{s}.{name}": self.colors[:, s, i] for i, name in enumerate(_COLOR_COLUMNS)}
        for e in range(self.erase_block.rows):
            columns |= {f"erase{e}.{name}": self.erase[:, e, i] for i, name in enumerate(_ERASE_COLUMNS)}
        if self.mix is not None:
            columns |= {f"{self.mix.name}.{name}": values for name, values in self.mix.table.items()}
        return columns

    def describe(self) -> str:
        notes = [self.describe_sampling()]
        notes += [f"up to {self.color_block.rows} color steps"] if self.color_block.rows else []
        notes += [f"{self.erase_block.rows} rectangles"] if self.erase_block.rows else []
        notes += ["normalized"] if self.mean is not None or self.std is not None else []
        notes += ["regions"] if self.region_block.rows else []
        notes += [self.mixes.name] if self.mixes is not None else []
        return f"{self.name} -> {size_text(self.sizes)} {self.dtype} ({'; '.join(notes)})"

    def describe_sampling(self) -> str:
        """How it reads images."""
        return f"{self.interpolation}, border {self.border}"

    def before_normalizing(self, values: Array) -> Array:
        return values if self.mean is None else values * np.array(self.std) + np.array(self.mean)

    def region(self, sizes: Array, can_shrink: bool, least: Array | None = None) -> Array | None:
        if self.regions is not None or not (can_shrink and self._only_scales()):
            return self.regions
        return np.concatenate([np.zeros_like(sizes), sizes[:, ::-1]], 1)

    def needs(self, sizes: Array) -> Array | None:
        if self.regions is not None or self.border not in ("constant", "replicate"):
            return self.regions
        regions = seen_regions(self.reads, self.sizes, sizes, _REACH)
        regions[:, :2] = np.minimum(regions[:, :2], sizes[:, ::-1] - 1)  # of a border that is repeated
        regions[:, 2:] = np.maximum(regions[:, 2:], 1)
        return regions

    def _only_scales(self) -> bool:
        """Whether no output pixel reads outside the image, as in a resize or a flip."""
        off_diagonal = self.matrix[:, [0, 1, 2, 2], [1, 0, 0, 1]]
        return not off_diagonal.any() and self.interpolation == "linear"

    def of_regions(self, boxes: Array, shrinks: Array, to_region: Array) -> AugmentPass:
        matrix, table = to_region @ self.matrix, self.parameters
        has_more = self.regions is not None and bool((shrinks == 1).all() and (boxes != self.regions).any())
        offsets = table.offsets(self.out) / shrinks[:, None]
        changed = table.with_geometry(self.out, matrix, table.boxes(self.out), offsets)
        if not has_more:
            return replace(self, region_block=replace(self.region_block, rows=0)).of(changed)
        changed = replace(changed, words=table.words.copy())
        changed.block(self.region_block).view(np.int64)[:, 0] = self.regions - np.tile(boxes[:, :2], 2)
        return self.of(changed)

    def values(self, tables: Mapping[str, Any]) -> Values:
        """What it does to values, by its tables."""
        selected = {name: tables[name] for name in ("colors", "erase", "mix") if name in tables}
        return Values(**selected, mean=self.mean, std=self.std, contrast=self.contrast)

    def output(self, out: Any) -> Output:
        """What it returns, in `out` unless that is None."""
        dtype = torch.float32 if self.dtype == "uint16" else getattr(torch, self.dtype)
        return Output(dtype, self.channels_last, out)

    def call(self, images: Work, tables: Mapping[str, Any], size: tuple[int, int] | None, out: Any) -> Any:
        """One call of its operator, for images of `tables` with results of `size`."""
        fill = list(self.fill) if len(self.fill) > 1 else self.fill[0]
        sampling = Sampling(self.interpolation, self.border, fill, tables.get("regions"))
        return augment(images, tables["matrix"], size, sampling, self.values(tables), self.output(out))

    def run(self, work: Work, sizes: Array, context: Context, out: Any = None) -> Work:
        tables = next(context.tables)
        is_read_only = isinstance(context.following, (AugmentPass, MixPass)) and isinstance(work, Tensor)
        is_known = not (context.is_fixed or torch.compiler.is_compiling())
        if is_read_only and is_known and self._changes_nothing(work.dtype, sizes):
            return work
        return (self._run_uint16 if self.dtype == "uint16" else self._augment)(work, sizes, tables, out)

    def _changes_nothing(self, dtype: torch.dtype, sizes: Array) -> bool:
        """Whether results are the images, bit for bit and in their layout."""
        has_values = self.color_block.rows or self.erase_block.rows or self.mixes or self.mean or self.std
        if has_values or self.regions is not None or self.channels_last is not None:
            return False
        if dtype != torch.uint8 or self.dtype != "uint8":
            return False
        return np.array_equal(self.sizes, sizes) and bool((self.reads == np.eye(3)).all())

    def _augment(self, work: Work, sizes: Array, tables: Mapping[str, Any], out: Any) -> Work:
        mix = self.mix if single_size(work, self) is None else None
        arguments = {name: table for name, table in tables.items() if name != "mix" or mix is None}

        def run(images: Work, rows: Array | None, size: tuple[int, int] | None, target: Any) -> Any:
            columns = on_device(arguments, device_of(images)) if rows is None else arguments
            selected = {name: table_rows(table, rows) for name, table in columns.items()}
            return self.call(images, selected, size, target)

        result = run_by_size(work, self, sizes, run, out if mix is None else None, self.takes_sizes)
        return result if mix is None else mix.mixed(result, mix.table)

    def _run_uint16(self, work: Work, sizes: Array, tables: Mapping[str, Any], out: Any) -> Work:
        """Warp 16-bit pixels in float32, which represents them exactly; round half to even at the end."""
        wide = [image.float() for image in work] if isinstance(work, list) else work.float()
        warped = self._augment(wide, sizes, tables, None)
        if isinstance(warped, list):
            return [_as_uint16(image) for image in warped]
        return _as_uint16(warped) if out is None else out.copy_(_as_uint16(warped))

    def reads_planes(self, planes: StoredPlanes) -> bool:
        return planes.buffer.is_cuda and single_size(planes, self) is not None


def _as_uint16(images: Tensor) -> Tensor:
    return images.round().clamp(0, 65535).to(torch.uint16)


@dataclass(eq=False, kw_only=True)
class CropPass(AugmentPass):
    """One call of `orbbec.augment_crop`: a `resized_crop` and an augment pass without warps.

    Args:
        crop: the `resized_crop`; its registers are those of this pass.
    """

    crop: OperatorPass

    name = "augment_crop"
    takes_sizes = False

    @drawn_property
    def _crop(self) -> OperatorPass:
        return self.crop.of(self.parameters)

    @property
    def blocks(self) -> Sequence[Block]:  # type: ignore[override]
        return *self.crop.blocks, *self.partial_blocks

    @property
    def runs(self) -> bool:  # type: ignore[override]
        return super().runs and self.crop.runs

    def end(self) -> Sequence[Rule]:
        return self.crop.end()

    def row(self) -> Mapping[str, float | Sequence[float]]:
        return {**super().row(), **self.crop.crop_numbers(), "kind": KINDS.index("crop")}

    def tables(self, key: NoiseKey) -> Columns:
        tables = {**self._crop.table, **super().tables(key)}
        del tables["matrix"]
        return tables

    def columns(self) -> Columns:
        return {**super().columns(), **self._crop.table}

    def describe_sampling(self) -> str:
        return "; ".join(f"{name}={value}" for name, value in self.crop.options.items())

    def region(self, sizes: Array, can_shrink: bool, least: Array | None = None) -> Array | None:
        return self._crop.region(sizes, can_shrink, least)

    needs = Pass.needs

    def _changes_nothing(self, dtype: torch.dtype, sizes: Array) -> bool:
        return False

    def of_regions(self, boxes: Array, shrinks: Array, to_region: Array) -> AugmentPass:
        return self.of(self._crop.of_regions(boxes, shrinks, to_region).parameters)

    def call(self, images: Work, tables: Mapping[str, Any], size: tuple[int, int] | None, out: Any) -> Any:
        assert size is not None
        boxes, flips = tables["boxes"], tables.get("flips")
        return augment_crop(
            images,
            boxes,
            size,
            **self.crop.options,
            flips=flips,
            values=self.values(tables),
            output=self.output(out),
        )

    def reads_planes(self, planes: StoredPlanes) -> bool:
        return False
