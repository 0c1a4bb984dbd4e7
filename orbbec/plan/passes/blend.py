"""A pass that blends images with altered copies of themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from orbbec.bridge.arguments import Array, size_text
from orbbec.plan.batches import Work, blended, repeated, table_rows
from orbbec.plan.passes.base import Columns, Context, NoiseKey, Pass, common_size
from orbbec.plan.points import pixels
from orbbec.plan.state import identities


@dataclass(frozen=True, eq=False)
class BlendPass(Pass):
    """Images blended with altered copies of themselves.

    Args:
        passes: passes over the K * N copies: the first copies of all images, then the second ones, and so on.
        weights: float64 `[N, 1 + K]`: weights of an image and of its copies.
        sizes: int64 `[N, 2]`: sizes of the images.
    """

    passes: tuple[Pass, ...]
    weights: Array
    sizes: Array
    dtype: str
    why: str = ""
    holds: tuple[str, ...] = ()

    name: str = field(init=False, default="blend")
    matrix: Array = field(init=False, repr=False)  # the identity: targets stay in place
    size: tuple[int, int] | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "matrix", identities(len(self.weights)))
        object.__setattr__(self, "size", common_size(self.sizes))

    @property
    def copies(self) -> int:
        """The number of copies per image."""
        return int(self.weights.shape[1]) - 1

    def columns(self) -> Columns:
        columns = {f"weight{k}": values for k, values in enumerate(self.weights.T)}
        for number, inner in enumerate(self.passes):
            for name, values in inner.columns().items():
                for k, own in enumerate(np.split(values, self.copies)):
                    columns[f"copy{k}.{number}.{name}"] = own
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
        return replace(self, passes=inner) if len(inner) == len(self.passes) else None

    def of_rows(self, rows: Array, count: int) -> BlendPass:
        copies = (rows + count * np.arange(self.copies)[:, None]).ravel()
        inner = tuple(each.of_rows(copies, count * self.copies) for each in self.passes)
        return replace(self, passes=inner, weights=self.weights[rows], sizes=self.sizes[rows])

    def traffic(self, sizes: Array, before: int, after: int) -> tuple[int, int]:
        inner = [step.traffic(step.sizes, before, after) for step in self.passes]
        read, written = (sum(column) for column in zip((0, 0), *inner, strict=True))
        return read + (1 + self.copies) * before * pixels(sizes), written + after * pixels(self.sizes)

    def run(self, work: Work, sizes: Array, context: Context, out: Any = None) -> Work:
        weights = next(context.tables)["weights"]
        copies = repeated(work, self.copies)
        for inner in self.passes:
            copies = inner.run(copies, inner.sizes, context)
        return blended(work, copies, table_rows(weights))
