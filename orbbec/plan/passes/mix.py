"""Passes that combine images: with others of the batch, or with altered copies of themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec.bridge.arguments import Array, size_text
from orbbec.bridge.spec import MIXES, MixSpec
from orbbec.plan.batches import Work, blended, repeated, table_rows
from orbbec.plan.parameters import Column, ParameterTable
from orbbec.plan.passes.base import Columns, Context, NoiseKey, Pass, drawn_property


@dataclass(eq=False, kw_only=True)
class MixPass(Pass):
    """Mixes images with others of the batch.

    Args:
        name: name of an operator with a `MixSpec`.
        arguments: the columns of its table, by argument name.
        options: arguments that are the same for all images.
    """

    name: str  # type: ignore[misc]
    arguments: Mapping[str, Column]
    options: Mapping[str, Any]

    @drawn_property
    def table(self) -> dict[str, Array]:
        """Its arguments, with a row per image."""
        return {name: column.of(self.parameters, self.out) for name, column in self.arguments.items()}

    def set_masks(self, masks: Array) -> None:
        """Set column `masks` of a mix that pastes objects, bool `[N, H, W]`, which follows from targets."""
        column = self.arguments["masks"]
        self.parameters.arrays[column.at][column.value] = self.table["masks"] = masks

    @property
    def spec(self) -> MixSpec:
        return MIXES[self.name]

    @property
    def mix(self) -> MixPass:
        return self

    def fused_rows(self) -> Array:
        """The argument `mix` of `orbbec.augment`: float32 `[N, 7]`."""
        assert self.spec.fused_rows is not None
        return self.spec.fused_rows(self.table, self.sizes)

    def tables(self, key: NoiseKey) -> Columns:
        return dict(self.table)

    def columns(self) -> Columns:
        return dict(self.table)

    def describe(self) -> str:
        return f"{self.name} -> {size_text(self.sizes)} {self.dtype}"

    def run(self, work: Work, sizes: Array, context: Context, out: Any = None) -> Work:
        tables, following = next(context.tables), context.following
        on_host = isinstance(work, Tensor) and work.is_cpu and not torch.compiler.is_compiling()
        if "regions" not in self.spec.parameters or following is None or not on_host:
            return self.mixed(work, tables)
        needs = following.needs(self.sizes)
        return self.mixed(work, tables if needs is None else {**tables, "regions": needs})

    def mixed(self, work: Work, tables: Mapping[str, Any]) -> Work:
        """The mixed images, by tables on the host or on their device."""
        if isinstance(work, list):
            raise ValueError(f"{self.name}: expected images of one size; put a resize or a crop before it")
        if self.size is None and "size" in self.spec.parameters:  # there are none
            return work
        masks = tables.get("masks")
        if masks is not None and not len(masks):
            return work
        if masks is not None and not masks.shape[1]:
            raise ValueError(
                f"{self.name}: expected targets with masks; a plan gets them from transform_targets"
            )
        columns = {name: table_rows(values) for name, values in tables.items()}
        if self.parameters.pairs is None or self.spec.tiles is not None:
            return self._called(work, columns)
        count = len(self.parameters)  # the pair images of `work` are copied, and left out
        pairs = torch.arange(len(work), device="cpu").to(columns["pair_indices"])
        pairs[:count] = columns["pair_indices"]
        rows = {name: torch.cat([values, values])[: len(work)] for name, values in columns.items()}
        return self._called(work, {**rows, "pair_indices": pairs})[:count]

    def _called(self, work: Work, columns: Mapping[str, Any]) -> Work:
        arguments = {**columns, **self.options, "size": self.size}
        return self.spec.call(
            work, **{name: v for name, v in arguments.items() if name in self.spec.parameters}
        )


@dataclass(eq=False, kw_only=True)
class BlendPass(Pass):
    """Images blended with altered copies of themselves; targets stay in place.

    Args:
        copies: the number of copies per image, K.
        weight_register: the first of the weights of an image and of its copies.
        array: index of the parameters of the K * N copies among the arrays of the table.
        passes: passes over the copies: the first copies of all images, then the second ones, and so on.
    """

    copies: int
    weight_register: int
    array: int = -1
    passes: tuple[Pass, ...] = ()

    name = "blend"

    def of(self, parameters: ParameterTable) -> BlendPass:
        blend = super().of(parameters)
        blend.passes = tuple(step.of(parameters.arrays[self.array]) for step in self.passes)
        return blend

    @drawn_property
    def weights(self) -> Array:
        """Weights of an image and of its copies: float64 `[N, 1 + K]`."""
        return self.parameters.state[:, self.weight_register :][:, : 1 + self.copies]

    def columns(self) -> Columns:
        columns = {f"weight{k}": values for k, values in enumerate(self.weights.T)}
        for number, inner in enumerate(self.passes):
            for name, values in inner.columns().items():
                for k, column in enumerate(np.split(values, self.copies)):
                    columns[f"copy{k}.{number}.{name}"] = column
        return columns

    def describe(self) -> str:
        counted = f"{self.copies} altered copies of each; {len(self.passes)} passes over them"
        return f"blend -> {size_text(self.sizes)} {self.dtype} ({counted})"

    def tables(self, key: NoiseKey) -> Columns:
        return {"weights": self.weights}

    def unfolded(self) -> Iterator[Pass]:
        yield self
        for inner in self.passes:
            yield from inner.unfolded()

    def fixed(self) -> BlendPass | None:
        inner = tuple(each for each in (step.fixed() for step in self.passes) if each is not None)
        if len(inner) < len(self.passes):
            return None
        return replace(self, passes=inner).of(self.parameters)

    def run(self, work: Work, sizes: Array, context: Context, out: Any = None) -> Work:
        weights = next(context.tables)["weights"]
        copies = repeated(work, self.copies)
        for inner in self.passes:
            copies = inner.run(copies, inner.sizes, context)
        return blended(work, copies, table_rows(weights))
