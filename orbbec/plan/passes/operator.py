"""A pass that consists of one operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from orbbec.batch import ImageBatch
from orbbec.bridge.arguments import Array, copied_to, is_channels_last, new_images, size_text
from orbbec.bridge.spec import OPERATORS, OpSpec
from orbbec.plan.batches import (
    Work,
    as_list,
    chosen_of,
    device_of,
    merged,
    put_rows,
    rows_of,
    selected_rows,
    table_rows,
)
from orbbec.plan.packing import on_device
from orbbec.plan.parameters import Column
from orbbec.plan.passes.base import Columns, Context, NoiseKey, Pass, drawn_property, matrix_columns
from orbbec.plan.passes.by_size import results_of, run_by_size
from orbbec.plan.rules import FLIPPED, KINDS, READINGS, RUN_OPERATORS, Block, Rule


@dataclass(eq=False, kw_only=True)
class OperatorPass(Pass):
    """One call of the operator `name`.

    Args:
        arguments: the columns of its table, by argument name.
        options: arguments that are the same for all images.
        condition: the register that says which images it changes; None: all.
        resizes: whether it takes the size of its output.
        flips: whether it also flips its results.
        per_frame: whether its noise differs from frame to frame of a clip.
    """

    name: str  # type: ignore[misc]
    arguments: Mapping[str, Column]
    options: Mapping[str, Any]
    condition: int | None
    resizes: bool
    flips: bool = False
    per_frame: bool = field(default=False, repr=False)
    box_block: Block = field(default_factory=lambda: Block(8))
    flip_block: Block = field(default_factory=lambda: Block(1))
    _columns: Mapping[str, tuple[int, Block]] = field(init=False, repr=False)  # with their registers

    def __post_init__(self) -> None:
        self._columns = {name: (register, Block(2, 1)) for name, register in self._registers.items()}

    @property
    def blocks(self) -> Sequence[Block]:  # type: ignore[override]
        """Its blocks of words, of no rows if `run` does not run it."""
        crops = self._crops
        self.box_block.rows, self.flip_block.rows = int(crops), int(crops and self.flips)
        return self.box_block, self.flip_block, *(block for _, block in self._columns.values())

    @property
    def runs(self) -> bool:  # type: ignore[override]
        return self._crops or self._is_called

    @property
    def _crops(self) -> bool:
        """Whether it is a crop that is resized."""
        takes_flips = "flips" in self.spec.parameters
        return takes_flips and list(self.arguments) == ["boxes"] and self.condition is None

    @property
    def _is_called(self) -> bool:
        """Whether `run` calls the operator, with numbers of registers and constants."""
        if self.name not in RUN_OPERATORS or self.options or self.resizes:
            return False
        elements = {name.partition(":")[0]: ":" in name for name in RUN_OPERATORS[self.name]}
        return elements.keys() == self.arguments.keys() and all(
            column.kind == "constant" or (column.kind == "registers" and not elements[name])
            for name, column in self.arguments.items()
        )

    @property
    def _registers(self) -> Mapping[str, int]:
        """The registers that `run` gives the operator, by name of the column."""
        if not self._is_called:
            return {}
        columns = {name: column.at for name, column in self.arguments.items() if column.kind == "registers"}
        return columns if self.condition is None else {**columns, "drawn": self.condition}

    def end(self) -> Sequence[Rule]:
        columns = [Rule("column", (block.offset, register)) for register, block in self._columns.values()]
        operands = -1, -1, 0, self.box_block.start, self.flip_block.start
        return [*columns, Rule("end_pass", operands, out=self.out)]

    def row(self) -> Mapping[str, float | Sequence[float]]:
        numbers = self.crop_numbers() if self._crops else self._call_numbers()
        kind = KINDS.index("resize" if self._crops else "operator")
        return {**super().row(), **numbers, "kind": kind}

    def _call_numbers(self) -> Mapping[str, float | Sequence[float]]:
        words = {name: block.offset for name, (_, block) in self._columns.items()}
        numbers: list[float] = []
        for name, _, index in (name.partition(":") for name in RUN_OPERATORS[self.name]):
            column = self.arguments[name]
            numbers += (
                words.get(name, -1),
                np.ravel(column.value)[int(index or 0)] if name not in words else 0,
            )
        index, drawn = list(RUN_OPERATORS).index(self.name), words.get("drawn", -1)
        return {"operator": index, "drawn_words": drawn, "arguments": numbers}

    def crop_numbers(self) -> Mapping[str, float]:
        """The numbers of the row of a crop that is resized."""
        return {
            "reading": READINGS.index(self.options["interpolation"]),
            "antialias": self.options["antialias"],
            "box_words": self.box_block.start,
            "flip_words": self.flip_block.start,
        }

    @drawn_property
    def drawn(self) -> Array:
        """The images that it changes: bool `[N]`."""
        table = self.parameters
        return np.ones(len(table), bool) if self.condition is None else table.state[:, self.condition] != 0

    @drawn_property
    def draws(self) -> str:
        """Whether it changes "none", "some" or "all" of the images."""
        return "all" if self.drawn.all() else "some" if self.drawn.any() else "none"

    @drawn_property
    def table(self) -> Mapping[str, Array]:
        """Its arguments, with a row per image."""
        table = self.parameters
        columns = {name: column.of(table, self.out) for name, column in self.arguments.items()}
        if self.flips:
            columns["flips"] = table.state[:, self.out + FLIPPED] != 0
        return self.spec.with_identities(columns, self.drawn)

    def columns(self) -> Columns:
        return {**matrix_columns(self.matrix, self.sizes), "drawn": self.drawn, **self.table}

    def describe(self) -> str:
        options = "".join(f"; {name}={value}" for name, value in self.options.items())
        run = f"{int(self.drawn.sum())} of {len(self.drawn)} images"
        drawn = "not run in this batch" if self.is_idle else run
        return f"{self.name} -> {size_text(self.sizes)} {self.dtype} ({drawn}{options})"

    @property
    def spec(self) -> OpSpec:
        return OPERATORS[self.name]

    @property
    def resamples(self) -> bool:  # type: ignore[override]
        return self.resizes

    @property
    def draws_noise(self) -> bool:  # type: ignore[override]
        return "transform_index" in self.options

    @property
    def keeps_numbers(self) -> bool:  # type: ignore[override]
        return self.options.get("scale") is False

    @property
    def is_idle(self) -> bool:
        """Whether it changes no image at all."""
        return self.draws == "none" and not self.resizes

    def tables(self, key: NoiseKey) -> Columns:
        ids = {"sample_ids": self.noise_ids(key)} if self.draws_noise else {}
        return {**self.table, **ids, "drawn": self.drawn}

    def noise_ids(self, key: NoiseKey) -> Array:
        """The ids that its noise depends on."""
        return key.sample_ids if key.frame_ids is None or not self.per_frame else key.frame_ids

    def fixed(self) -> OperatorPass | None:
        """The pass with its host columns as options; None if they differ among the images that it changes."""
        if not self.spec.capturable:
            return None
        arguments, options = dict(self.arguments), dict(self.options)
        for name in self.spec.host_columns:
            del arguments[name]
            column = self.table[name]
            rows = column[self.drawn] if self.drawn.any() else column
            if (rows != rows[:1]).any():
                return None
            options[name] = tuple(rows[0].tolist()) if rows.ndim > 1 else rows[0].item()
        return replace(self, arguments=arguments, options=options).of(self.parameters)

    def region(self, sizes: Array, can_shrink: bool, least: Array | None = None) -> Array | None:
        of = self.spec.region
        return None if of is None else of(self.table, self.options, self.sizes, sizes, least)

    def of_regions(self, boxes: Array, shrinks: Array, to_region: Array) -> OperatorPass:
        table = self.parameters
        reads = table.boxes(self.out) / shrinks[:, None] - np.tile(boxes[:, :2], 2)
        return self.of(table.with_geometry(self.out, to_region @ self.matrix, reads, table.offsets(self.out)))

    def run(self, work: Work, sizes: Array, context: Context, out: Any = None) -> Work:
        tables = next(context.tables)
        if self.is_idle and not context.is_fixed:
            return work
        options = dict(self.options)
        if "dtype" in options:
            options["dtype"] = getattr(torch, options["dtype"])
        if self.draws_noise:
            options |= {"seed": context.key.seed, "epoch": context.key.epoch}
        columns = {name: table for name, table in tables.items() if name != "drawn"}

        def operate(images: Work, rows: Array | None, **resized: Any) -> Any:
            selected = self._columns_of(columns, rows, device_of(images))
            return self._call(images, **selected, **options, **resized)

        def resize(images: Work, rows: Array | None, size: tuple[int, int] | None, target: Any) -> Any:
            return operate(images, rows, size=size, out=target)

        if self.resizes:
            takes_sizes = self.spec.takes_sizes and "which" not in self.arguments
            return run_by_size(work, self, sizes, resize, out, takes_sizes)
        if isinstance(work, list) or (isinstance(work, ImageBatch) and not self.spec.takes_ragged):
            pairs = enumerate(zip(as_list(work), self.drawn.tolist(), strict=True))
            images = [operate(image[None], np.array([n]))[0] if new else image for n, (image, new) in pairs]
            return images if isinstance(work, list) else merged(images)
        has_identity = self.spec.identity is not None and not self._replaces(work, context)
        changes_all = self.draws == "all" or has_identity
        if not context.is_fixed and not changes_all:
            return _changed(work, np.flatnonzero(self.drawn), operate, context.is_temporary)
        results = operate(work, None)
        may_keep = context.is_fixed and self.condition is not None
        return chosen_of(tables["drawn"], results, work) if may_keep else results

    def _replaces(self, work: Work, context: Context) -> bool:
        """Whether copying the images that it changes, twice, costs less than the identity of the others."""
        on_host = isinstance(work, Tensor) and work.is_cpu and not work.requires_grad
        if torch.compiler.is_compiling() or not (on_host and context.is_temporary):
            return False
        return bool(2 * np.count_nonzero(self.drawn) <= len(self.drawn))

    def _columns_of(
        self, columns: Mapping[str, Any], rows: Array | None, device: torch.device
    ) -> Mapping[str, Tensor]:
        """The columns of some images as tensors; those that are not read on the host are on their device."""
        chosen = {
            name: values if rows is None or isinstance(values, Tensor) else values[rows]
            for name, values in columns.items()
        }
        if self.spec.capturable:
            on_host = {*self.spec.host_columns, "which"}
            taken = {name: values for name, values in chosen.items() if name not in on_host}
            chosen |= on_device(taken, device)
        return {name: table_rows(values) for name, values in chosen.items()}

    def _call(self, images: Work, *, which: Tensor | None = None, out: Any = None, **options: Any) -> Any:
        """Run one call, or one for each value of the option that `which` selects."""
        call, choice = self.spec.call, self.spec.choice
        if which is None:
            return call(images, **options) if out is None else call(images, **options, out=out)
        values = options.pop(choice)
        if not which.is_cpu or torch.compiler.is_compiling() or len(which) == 0:  # not known to the host
            result = call(images, **options, **{choice: values[0]})
            for k, value in enumerate(values[1:], 1):
                result = chosen_of(which == k, call(images, **options, **{choice: value}), result)
            return result if out is None else out.copy_(result)
        for k in sorted(set(which.tolist())):
            rows = (which == k).nonzero()[:, 0]
            selected = {
                name: v[copied_to(v.device, rows)] for name, v in options.items() if isinstance(v, Tensor)
            }
            results = call(rows_of(images, rows.numpy()), **{**options, **selected, choice: values[k]})
            if out is None:
                shape = len(which), *results.shape[1:]
                out = new_images(results, shape, is_channels_last(results, None))
            put_rows(out, copied_to(results.device, rows), results)
        return out


def _changed(work: Work, drawn: Array, operate: Callable[[Work, Array], Any], is_temporary: bool) -> Work:
    """Run the operator on the images at `drawn`; the others are unchanged, bit for bit.

    Results of preceding passes are overwritten in place.
    """
    if isinstance(work, Tensor):
        indices = copied_to(work.device, torch.from_numpy(drawn))
        changed = operate(selected_rows(work, indices), drawn)
        in_place = is_temporary and not work.requires_grad
        return put_rows(work if in_place else work.clone(), indices, changed)
    batch = cast(ImageBatch, work)  # `Rows` are resampled by the first pass
    result = batch if is_temporary else replace(batch, storage=batch.storage.clone())
    copies = results_of(batch, batch.sizes.numpy()[drawn])
    for copy, row in zip(copies, drawn.tolist(), strict=True):
        copy.copy_(batch[row])
    for changed, row in zip(operate(copies, drawn), drawn.tolist(), strict=True):
        result[row].copy_(changed)
    return result
