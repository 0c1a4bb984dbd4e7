"""Microbatches: a few images at a time go through all passes, which limits the memory in use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec.batch import ImageBatch
from orbbec.bridge.arguments import Array, dtype_name, is_channels_last, is_ragged
from orbbec.bridge.buffer_pool import output_buffer
from orbbec.plan.batches import Work, device_of, merged
from orbbec.plan.parameters import ParameterTable, common_size
from orbbec.plan.passes import VARIES, MixPass, Pass
from orbbec.plan.plan import Plan

MICROBATCH_BYTES = 2**24  # of the results between two passes


def microbatches_of(plan: Plan, work: Work) -> list[slice]:
    """The microbatches; a single one if images are mixed, or if several would gain nothing."""
    count = len(plan)
    if len(plan.passes) < 2 or count < 2 or not _can_split(plan, work):
        return [slice(0, count)]
    between = max(bytes_after(step, plan.channels) for step in plan.passes[:-1]) / count
    length = max(int(MICROBATCH_BYTES / between), 1)
    if length >= count:
        return [slice(0, count)]
    # The first image is alone, and its result is copied: it determines the dtype and layout of all.
    return [slice(0, 1), *(slice(n, min(n + length, count)) for n in range(1, count, length))]


def _can_split(plan: Plan, work: Work) -> bool:
    if torch.compiler.is_compiling() or device_of(work).type != "cpu":
        return False
    if plan.mixes:
        return False
    if is_ragged(work):  # filters copy the bytes after the pixels only for a whole batch
        return plan.passes[0].resamples and isinstance(work, ImageBatch)
    return isinstance(work, list) or not work.requires_grad


def bytes_after(step: Pass, channels: int) -> int:
    """The bytes of the results of a pass."""
    size = {"uint8": 1, "float32": 4}.get(step.dtype, 2)
    return int(step.sizes.prod(1).sum()) * channels * size


def microbatch_of(plan: Plan, where: slice) -> Plan:
    """The plan of some of the images; their results have the layout of the whole batch."""
    return _of_rows(plan, np.arange(len(plan))[where])


def without_images(plan: Plan) -> Plan:
    """The plan for no images; if results always have one size, so has the empty result."""
    empty = _of_rows(plan, np.zeros(0, np.int64))
    for step in empty.passes:
        step.size = None if step.static_size == VARIES else step.size
    return empty


def without_unused(plan: Plan) -> tuple[Plan, Array]:
    """The plan without the pair images of images that it does not mix.

    Returns:
        The plan, and the rows of its images in the whole plan: int64 `[M]`, ascending.

    Example:
        >>> from orbbec.transforms import Compose, MixUp
        >>> some = Compose([MixUp(p=0.5)]).plan([(4, 6)] * 8, epoch=0, pairs=[1])
        >>> plan, rows = without_unused(some)
        >>> some.passes[0].table["pair_indices"].tolist(), rows.tolist()
        ([4, 1, 2, 3], [0, 1, 2, 3, 4])
        >>> plan.passes[0].table["pair_indices"].tolist()
        [4, 1, 2, 3]
    """
    rows = np.arange(len(plan.output_sizes))
    passes: list[Pass] = []
    tables: dict[int, ParameterTable] = {}
    for step in reversed(plan.passes):
        table, pairs = step.parameters, step.parameters.pairs
        if id(table) not in tables:
            tables[id(table)] = table.rows(rows)
        if isinstance(step, MixPass) and pairs is not None:
            found = step.table["pair_indices"][rows]
            pairs, rows = pairs[rows], np.union1d(rows, found[found >= 0])
            tables[id(table)] = replace(tables[id(table)], pairs=np.searchsorted(rows, pairs))
        passes.insert(0, step.of(tables[id(table)]))
    return _with_images(plan, rows, passes), rows


def _of_rows(plan: Plan, rows: Array) -> Plan:
    tables = {id(step.parameters): step.parameters for step in plan.passes}
    selected = {key: table.rows(rows) for key, table in tables.items()}
    passes = tuple(step.of(selected[id(step.parameters)]) for step in plan.passes)
    for step, whole in zip(passes, plan.passes, strict=True):
        step.size = whole.size  # None if the whole batch has none
    return _with_images(plan, rows, passes)


def _with_images(plan: Plan, rows: Array, passes: Sequence[Pass]) -> Plan:
    ids = plan.sample_ids[rows], None if plan.frame_ids is None else plan.frame_ids[rows]
    return replace(plan, sizes=plan.sizes[rows], sample_ids=ids[0], frame_ids=ids[1], passes=tuple(passes))


class Results:
    """Collects the results of microbatches.

    Args:
        plan: of all images.
        work: the images.
        out: output buffer `[N, C, H, W]`, or None.
    """

    def __init__(self, plan: Plan, work: Work, out: Tensor | None) -> None:
        self._plan, self._out = plan, out
        self._sizes_vary = len(plan) > 0 and common_size(plan.output_sizes) is None
        if out is not None and self._sizes_vary:
            raise ValueError(
                "apply: out= takes results of one size; put a resize or a crop into the pipeline"
            )
        images = work if isinstance(work, list) else [work.buffer if is_ragged(work) else work]
        if out is not None and any(_overlap(out, image) for image in images):
            raise ValueError("apply: expected out that shares no memory with the images")
        self._whole: Work = out
        self._listed: list[Tensor] = []

    def slot(self, where: slice) -> Any:
        """The output buffer of these images; None if its layout is not known yet or not contiguous."""
        return None if self._whole is None else self._whole[where]

    def add(self, where: slice, results: Work) -> None:
        """Add the results of some images, copied unless they are already in the output buffer."""
        if self._out is not None:
            self._check(results, self._out)
        if isinstance(results, list) or (isinstance(results, Tensor) and self._sizes_vary):
            self._listed += results
            return
        if self._whole is None:
            self._whole = self._like(results)
        for to, image in _pairs(self._whole[where], results):
            if to.data_ptr() != image.data_ptr():
                to.copy_(image)

    def together(self) -> Work:
        """The results of all images."""
        return self._whole if self._whole is not None else merged(self._listed)

    def _check(self, results: Tensor, out: Tensor) -> None:
        kinds = (dtype_name(tensor.dtype) for tensor in (results, out))
        shapes = [len(self._plan), *results.shape[1:]], list(out.shape)
        expected, found = (f"{kind} {shape}" for kind, shape in zip(kinds, shapes, strict=True))
        if expected != found:
            raise ValueError(f"apply: expected out of {expected}, but got {found}")

    def _like(self, results: Any) -> Work:
        """An output buffer for all results, laid out as those of a microbatch."""
        if not isinstance(results, Tensor):
            return ImageBatch.of_sizes(self._plan.output_sizes.tolist(), results.channels)
        shape, is_last = (len(self._plan), *results.shape[1:]), is_channels_last(results, None)
        return output_buffer(shape, results.dtype, is_last, results)


def _overlap(one: Tensor, other: Tensor) -> bool:
    (begin, end), (first, last) = _extent(one), _extent(other)
    return begin < last and first < end


def _extent(tensor: Tensor) -> tuple[int, int]:
    """The address of a tensor's first byte, and the address after its last."""
    begin = tensor.data_ptr()
    if tensor.numel() == 0 or tensor.device.type == "meta":
        return begin, begin
    reach = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return begin, begin + (reach + 1) * tensor.element_size()


def _pairs(slots: Work, results: Work) -> Iterator[tuple[Tensor, Tensor]]:
    """Slots and results: all at once for a tensor, one by one for a list."""
    return iter([(slots, results)]) if isinstance(results, Tensor) else zip(slots, results, strict=True)
