"""The fused pass: one call of `orbbec.augment`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec.augment import Output, Sampling, Values, augment
from orbbec.bridge.arguments import Array, StoredPlanes, is_ragged, size_text
from orbbec.plan.batches import Work, device_of, table_rows
from orbbec.plan.packing import on_device
from orbbec.plan.passes.base import (
    Columns,
    Context,
    Masks,
    NoiseKey,
    Pass,
    common_size,
    matrix_columns,
)
from orbbec.plan.passes.by_size import by_size, results_of, single_size
from orbbec.plan.passes.masks import warped
from orbbec.plan.passes.mix import MixPass
from orbbec.plan.points import pixels, seen_pixels, shifts
from orbbec.plan.state import COLOR_COLUMNS, ERASE_COLUMNS

_COLOR_STEPS = 4  # color programs of fixed plans are padded to a multiple of this number of steps


@dataclass(frozen=True, eq=False)
class AugmentPass(Pass):
    """One call of `orbbec.augment`.

    Args:
        matrix: float64 `[N, 3, 3]`: output pixels to input pixels.
        sizes: int64 `[N, 2]`: sizes of its output.
        colors: float32 `[N, S, 16]`.
        erase: float32 `[N, E, 8]`, fills as fractions of the maximum value.
        regions: int64 `[N, 4]`: left, top, right, bottom of the visible part of each image; None: all of it.
        reads_beyond: whether a warp may read outside the visible part.
        contrast: whether a color step may adjust contrast.
        mean: one number per channel, or none.
        std: one number per channel, or none.
        dtype: name of the dtype of its output.
        channels_last: memory layout of its output; None: that of its input.
        interpolation: "nearest", "linear" or "cubic".
        border: values outside an image.
        fill: fill of a constant border, in the units of the pass's input.
        mixes: the mix at its end, if any.
        why: why the pipeline was split before it; empty if it was not.
        holds: names of the transforms that it runs.
        offset: float64 `[N, 2]`: added to the positions (x, y) that a nearest warp reads; None: no offset.
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
    name: str = field(init=False, default="augment")
    size: tuple[int, int] | None = field(init=False, repr=False)
    source_matrix: Array = field(init=False, repr=False)  # relative to the visible part
    reads: Array = field(init=False, repr=False)  # argument of the operator: `source_matrix` and the offset

    def __post_init__(self) -> None:
        matrix = self.matrix
        if self.regions is not None:
            matrix = shifts(-self.regions[:, 0], -self.regions[:, 1], len(matrix)) @ matrix
        reads = matrix
        if self.offset is not None:
            reads = shifts(self.offset[:, 0], self.offset[:, 1], len(matrix)) @ matrix
        object.__setattr__(self, "source_matrix", np.ascontiguousarray(matrix))
        object.__setattr__(self, "reads", np.ascontiguousarray(reads))
        object.__setattr__(self, "size", common_size(self.sizes))

    def set_size(self, size: tuple[int, int] | None) -> None:
        super().set_size(size)
        if self.mixes is not None:
            self.mixes.set_size(size)

    def tables(self, key: NoiseKey) -> Columns:
        tables = {"matrix": self.reads.astype(np.float32)}  # as kernels read them
        if self.regions is not None:
            tables["regions"] = self.regions
        if self.colors.shape[1]:
            tables["colors"] = self.colors
        if self.erase.shape[1]:
            tables["erase"] = self.erase
        if self.mixes is not None:
            tables["mix"] = self.mixes.fused_rows()
        return tables

    def columns(self) -> Columns:
        columns = matrix_columns(self.matrix, self.sizes)
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
        notes = [f"{self.interpolation}, border {self.border}"]
        notes += [f"{self.colors.shape[1]} color steps"] if self.colors.shape[1] else []
        notes += [f"{self.erase.shape[1]} rectangles"] if self.erase.shape[1] else []
        notes += ["normalized"] if self.mean is not None or self.std is not None else []
        notes += ["regions"] if self.regions is not None else []
        notes += [self.mixes.name] if self.mixes is not None else []
        return f"augment -> {size_text(self.sizes)} {self.dtype} ({'; '.join(notes)})"

    @property
    def resamples(self) -> bool:
        return True

    def before_normalizing(self, values: Array) -> Array:
        return values if self.mean is None else values * np.array(self.std) + np.array(self.mean)

    @property
    def mix(self) -> MixPass | None:
        return self.mixes

    def fixed(self) -> AugmentPass:
        missing = -self.colors.shape[1] % _COLOR_STEPS
        return replace(self, colors=np.pad(self.colors, ((0, 0), (0, missing), (0, 0))))

    def traffic(self, sizes: Array, before: int, after: int) -> tuple[int, int]:
        """The mean for contrast is computed first, so everything is read twice."""
        times = (1 + self.contrast) * (1 if self.mixes is None else self.mixes.spec.reads)
        return before * seen_pixels(self.matrix, self.sizes, sizes) * times, after * pixels(self.sizes)

    def region(self, sizes: Array, can_shrink: bool) -> Array | None:
        if self.regions is not None or not (can_shrink and self._only_scales()):
            return self.regions
        return np.concatenate([np.zeros_like(sizes), sizes[:, ::-1]], 1)

    def _only_scales(self) -> bool:
        """Whether no output pixel reads outside the image, as in a resize or a flip."""
        off_diagonal = self.matrix[:, [0, 1, 2, 2], [1, 0, 0, 1]]
        return not off_diagonal.any() and self.interpolation == "linear"

    def of_regions(self, corners: Array, shrinks: Array, to_region: Array) -> AugmentPass:
        matrix = to_region @ self.matrix
        if self.regions is not None:  # bit for bit the constants of the pass
            exact = shifts(-self.regions[:, 0], -self.regions[:, 1], len(matrix)) @ self.matrix
            matrix = np.where((shrinks == 1)[:, None, None], exact, matrix)
        offset = None if self.offset is None else self.offset / shrinks[:, None]
        return replace(self, matrix=matrix, regions=None, offset=offset)

    @property
    def target_matrix(self) -> Array:
        return self.source_matrix if self.reads_beyond else self.matrix

    def keeps(self, index: int) -> bool:
        return False

    def cut(self, index: int) -> Array | None:
        return self.regions[index] if self.reads_beyond and self.regions is not None else None

    def move_masks(self, masks: Masks, key: NoiseKey) -> list[Tensor]:
        if self.regions is not None:
            pairs = zip(masks.tables, self.regions[list(masks.images)].tolist(), strict=True)
            seen = [table[:, top:bottom, left:right] for table, (left, top, right, bottom) in pairs]
            masks = masks._replace(tables=seen)
        return warped(masks, self.reads, self.border)

    def _sampling(self, fill: Any, regions: Tensor | None) -> Sampling:
        return Sampling(self.interpolation, self.border, fill, regions)

    def run(self, work: Work, sizes: Array, context: Context, out: Any = None) -> Work:
        tables = next(context.tables)
        return (self._run_uint16 if self.dtype == "uint16" else self._augment)(work, sizes, tables, out)

    def _augment(self, work: Work, sizes: Array, tables: Mapping[str, Any], out: Any) -> Work:
        one_size = single_size(work, self)
        is_one_buffer = is_ragged(work) or (isinstance(work, Tensor) and len(work) > 0)
        in_one_batch = one_size is None and self.dtype == "uint8" and is_one_buffer
        mixes_later = self.mixes is not None and one_size is None
        taken: Mapping[str, Any] = {
            name: table for name, table in tables.items() if not (name == "mix" and mixes_later)
        }
        if one_size is not None or in_one_batch:
            taken = on_device(taken, device_of(work))
        dtype = torch.float32 if self.dtype == "uint16" else getattr(torch, self.dtype)
        fill = list(self.fill) if len(self.fill) > 1 else self.fill[0]

        def run(images: Work, rows: Array | None, size: tuple[int, int] | None, target: Any) -> Any:
            own = {name: table_rows(table, rows) for name, table in taken.items()}
            matrix, sampling = own.pop("matrix"), self._sampling(fill, own.pop("regions", None))
            values = Values(**own, mean=self.mean, std=self.std, contrast=self.contrast)
            output = Output(dtype, self.channels_last, target)
            return augment(images, matrix, size, sampling, values, output)

        if one_size is not None:
            return run(work, None, one_size, out)
        target = None if mixes_later else out
        if in_one_batch:
            result = run(work, None, None, results_of(work, self.sizes) if target is None else target)
        else:
            result = by_size(work, self, sizes, run, target)
        return self.mixes.mixed(result, self.mixes.table) if self.mixes and mixes_later else result

    def _run_uint16(self, work: Work, sizes: Array, tables: Mapping[str, Any], out: Any) -> Work:
        """Warp 16-bit pixels in float32, which represents them exactly; round half to even at the end."""
        wide = [image.float() for image in work] if isinstance(work, list) else work.float()
        moved = self._augment(wide, sizes, tables, None)
        if isinstance(moved, list):
            return [_as_uint16(image) for image in moved]
        return _as_uint16(moved) if out is None else out.copy_(_as_uint16(moved))

    def reads_planes(self, planes: StoredPlanes) -> bool:
        return planes.buffer.is_cuda and single_size(planes, self) is not None


def _as_uint16(images: Tensor) -> Tensor:
    return images.round().clamp(0, 65535).to(torch.uint16)
