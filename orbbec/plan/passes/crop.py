"""The fused pass over crops that it resizes: one call of `orbbec.augment_crop`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orbbec.augment.crop import augment_crop
from orbbec.bridge.arguments import Array, StoredPlanes
from orbbec.plan.batches import Work
from orbbec.plan.passes.augment import AugmentPass
from orbbec.plan.passes.base import Columns, NoiseKey, drawn_property
from orbbec.plan.passes.operator import OperatorPass
from orbbec.plan.rules import KINDS, Block, Rule


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
    def blocks(self) -> Sequence[Block]:
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
