"""Transforms that are one operator, in a pass of its own."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from orbbec.plan.build import Build
from orbbec.plan.parameters import Column, OperatorStep
from orbbec.transforms.base.transform import Transform


class Row(NamedTuple):
    """An operator, and what of a transform it takes.

    Args:
        operator: its name.
        draws: arguments in the order of their draws: "p", which says what images are changed, and ranges. A
            range is a column under its name without "_range"; of whole numbers if its ends are, and of odd
            ones if it is the side of a kernel.
        options: arguments that are the same for all images.
        why: see `OperatorStep`.
    """

    operator: str
    draws: tuple[str, ...]
    options: tuple[str, ...] = ()
    why: str = "reads neighboring pixels"


class _RowTransform(Transform):
    """A transform that is a row; it draws noise if it has an argument `per_frame`."""

    _row: ClassVar[Row]

    def rules(self, build: Build) -> None:
        row, frames = self._row, getattr(self, "per_frame", None)
        columns: dict[str, Column] = {}
        chosen = None
        for name in row.draws:
            if name == "p":
                chosen = build.chance(getattr(self, name))
            else:
                columns[name.removesuffix("_range")] = _column(build, name, getattr(self, name))
        options = self._options()
        if frames is not None:
            options["transform_index"] = build.stream
        build.operator(OperatorStep(row.operator, columns, options, chosen, row.why, bool(frames)))

    def _options(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._row.options}


def _column(build: Build, name: str, ends: Any) -> Column:
    if isinstance(ends[0], int):
        step = 2 if name == "kernel_size" else 1
        return Column("registers", build.whole_in(ends, step), dtype="int64")
    return Column("registers", build.uniform_in(ends))
