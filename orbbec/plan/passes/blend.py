"""A pass that blends images with altered copies of themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from orbbec.bridge.arguments import Array, size_text
from orbbec.plan.batches import Work, blended, repeated, table_rows
from orbbec.plan.parameters import ParameterTable
from orbbec.plan.passes.base import Columns, Context, NoiseKey, Pass, drawn_property


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
