"""A program: a pipeline compiled to data, from which every batch draws its parameters."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from orbbec._library import operators
from orbbec.bridge.arguments import Array, is_channels_last
from orbbec.bridge.buffer_pool import LEAST_BYTES, output_buffer, pooled_output
from orbbec.bridge.fakes import register_fake
from orbbec.plan.batches import Direct
from orbbec.plan.build import Build
from orbbec.plan.parameters import Batch, ParameterTable
from orbbec.plan.passes import ALIKE, VARIES, AugmentPass, BlendPass, MixPass, Pass, Size
from orbbec.plan.rules import REGISTERS, WIDTH, Block, Rule, padded, row_of_pass, rows_of, table_of

MAX_SHARED_BYTES = 48 * 1024  # of a block of the kernel that draws: twice the program, and the registers
_MAX_KNOWN_SIZES = 1024  # of images, by which those of results are looked up
_FAULT = re.compile(r"draw: rule (\d+): (.*)", re.DOTALL)


class Copies(NamedTuple):
    """The copies of the images of a blend.

    Args:
        program: draws their parameters, the first copies of all images first.
        blend: the pass that blends them.
        numbers: the registers of their numbers, one copy after the other.
    """

    program: Program
    blend: BlendPass
    numbers: range

    def fill(self, table: ParameterTable) -> ParameterTable:
        """The parameters of the K * N copies; no rule of a copy draws."""
        numbers = table.state[:, self.numbers.start : self.numbers.stop]
        sizes = np.tile(table.sizes(self.blend.out), (self.blend.copies, 1))
        batch = Batch(sizes, np.zeros(len(sizes), np.int64))
        return self.program.fill(batch, np.concatenate(np.split(numbers, self.blend.copies, 1)))


@dataclass(frozen=True, eq=False)
class Program:
    """A pipeline compiled to data.

    Args:
        code: float64 `[K, 16]`: the rules, see rules.h, and their constants.
        labels: name of the transform of each rule.
        stops: what Python draws, in order, each with the number of rules before it.
        passes: the passes, without parameters.
        copies: of the images of blends.
        registers: numbers per image in the state.
        words: numbers per image that kernels read.
        size: of the outputs: (height, width), `ALIKE` or `VARIES`.
        notes: how results differ from those of the transforms applied one by one.
        draws_anywhere: whether a kernel can draw, since no image is refused, sizes are static, and
            the program is small.
        runs_one: whether `run` serves it for one image: C++ draws everything, and has all operators.
        runs: whether `run` serves it for several images on any device: the results of a pass also have one
            size.
    """

    code: Tensor
    labels: tuple[str, ...]
    stops: tuple[tuple[int, Any], ...]
    passes: tuple[Pass, ...]
    copies: tuple[Copies, ...]
    registers: int
    words: int
    size: Size
    notes: tuple[str, ...]
    draws_anywhere: bool
    runs_one: bool
    runs: bool
    _codes: dict[torch.device, Tensor] = field(default_factory=dict, init=False, repr=False)
    _known_sizes: dict[Size, Size] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, build: Build, *, is_finished: bool = True) -> Program:
        """The program of a build; of one that is not finished the rules so far, without words and passes."""
        passes, words = build.passes if is_finished else [], 0
        blocks = (block for step in passes for block in step.blocks)
        for block in sorted(blocks, key=lambda block: block.numbers % 2):  # whole numbers need 8 bytes
            block.offset = words
            words += block.words
        rules, stops = _rules_of(build, passes)
        code = rows_of(rules)
        runs = bool(passes) and all(step.runs for step in passes)
        rows = [number for step in passes for number in row_of_pass(step.row())] if runs else []
        numbers = 2 * (len(code) + len(rows) + WIDTH) + build.registers
        draws_anywhere = (
            runs
            and 8 * numbers <= MAX_SHARED_BYTES
            and not any(rule.can_refuse for rule in rules)
            and all(step.static_size > VARIES for step in passes)
        )
        first, count = len(code) // WIDTH, len(passes) if runs else 0
        last = len(rules), build.registers, words, first, count, draws_anywhere
        return cls(
            code=torch.from_numpy(table_of([*code, *rows, *padded(last)])),
            draws_anywhere=draws_anywhere,
            runs_one=runs and not stops,
            runs=runs and not stops and all(step.static_size != VARIES for step in passes),
            labels=tuple(rule.label for rule in rules),
            stops=tuple(stops),
            passes=tuple(passes),
            copies=tuple(cls._copies(build)) if passes else (),
            registers=build.registers,
            words=words,
            size=build.size,
            notes=tuple(build.notes),
        )

    @classmethod
    def _copies(cls, build: Build) -> Iterator[Copies]:
        for array, (blend, inner, numbers) in enumerate(build.blends, build.arrays):
            program = cls.of(inner)
            blend.array, blend.passes = array, program.passes
            yield Copies(program, blend, numbers)

    def fill(self, batch: Batch, numbers: Array | None = None) -> ParameterTable:
        """Draw the parameters of a batch.

        Args:
            batch: what they depend on.
            numbers: float64 `[N, R]`: of the first registers; None: there are none before the first rule.

        Raises:
            ValueError: an image is too small for a transform; names both.
        """
        count = len(batch.sizes)
        state = np.empty((count, self.registers))
        words = np.empty(count * self.words, np.float32)
        if numbers is not None:
            state[:, REGISTERS : REGISTERS + numbers.shape[1]] = numbers
        table = ParameterTable(state, words, self.blocks, [], batch.frames)
        begin = 0
        for end, external in self.stops:
            self._draw(table, batch, begin, end)
            table.arrays.extend(external.fill(table, batch))
            begin = end
        self._draw(table, batch, begin, len(self.labels))
        table.arrays.extend([copies.fill(table) for copies in self.copies])
        return table

    @cached_property
    def blocks(self) -> Sequence[Block]:
        """The blocks of words, in order."""
        blocks = (block for step in self.passes for block in step.blocks if block.rows)
        return sorted(blocks, key=lambda block: block.offset)

    @cached_property
    def warps(self) -> Sequence[Pass]:
        """The passes that resample images."""
        return [step for step in self.passes if step.resamples]

    def run(
        self,
        images: Direct,
        seed: int,
        sample_ids: Any = None,
        epoch: int | Tensor | None = None,
        frames: int = 1,
        out: Tensor | None = None,
    ) -> Tensor:
        """Draw and run all passes, in one call.

        Args:
            images: at least one.
            seed: see `Stream`.
            sample_ids: int64 `[N]`, an array or a tensor; None: 0 to N - 1.
            epoch: see `Stream`; a tensor is read when the parameters are drawn; None: 0.
            frames: see `Batch`.
            out: where the results go, `[N, C, H, W]`; None: to new memory.

        Returns:
            The results.

        Raises:
            ValueError: an image is too small for a crop, or `out` is not as the results.
        """
        tensor, layout, host_layout, channels, count = images[:5]
        buffer = out if out is None or tensor.dim() == 4 or layout is not None else out.squeeze(0)
        if tensor.is_cpu and out is None:
            size = self._size(tensor.shape if host_layout is None else host_layout[0].tolist())
            if count * channels * size[0] * size[1] >= LEAST_BYTES:
                buffer = self._buffer(images, size)
        ids = torch.from_numpy(sample_ids) if isinstance(sample_ids, np.ndarray) else sample_ids
        number, stored = (0, epoch.reshape(-1)) if isinstance(epoch, Tensor) else (epoch or 0, None)
        there = None if tensor.is_cpu else self._code_on(tensor.device)
        batch = layout, host_layout, channels
        result = _run(tensor, self.code, seed, number, ids, *batch, there, stored, buffer, frames)
        if out is None or buffer is None or result.data_ptr() == out.data_ptr():
            return result
        if (buffer.shape, buffer.dtype) != (result.shape, result.dtype):
            raise ValueError(f"run: expected out of {result.dtype} {list(result.shape)}")
        return buffer.copy_(result)

    def run_each(
        self,
        images: Sequence[Direct],
        seed: int,
        sample_ids: Array,
        epoch: int,
        out: Tensor | None = None,
    ) -> Tensor | None:
        """`run` for images on the CPU in memory of their own; the size of results must be static.

        Args:
            images: one image each, of any sizes.
            seed: see `run`.
            sample_ids: int64 `[N]`.
            epoch: see `run`.
            out: see `run`.

        Returns:
            The results; None if `out` is not as they are.
        """
        dtype = getattr(torch, self.passes[-1].dtype)
        shape = len(images), images[0][3], *self.size
        if out is None:
            out = output_buffer(shape, dtype, bool(self._channels_last), images[0][0])
        if (out.shape, out.dtype) != (torch.Size(shape), dtype):
            return None
        for n, image in enumerate(images):
            self.run(image, seed, sample_ids[n : n + 1], epoch, out=out[n : n + 1])
        return out

    def serves_on_host(self, images: Direct) -> bool:
        """Whether `run` serves one image, or images on the CPU whose results have one size."""
        tensor, _, host_layout, _, count = images[:5]
        return (tensor.is_cpu and self.size != VARIES) or (count == 1 and host_layout is None)

    @property
    def runs_batches(self) -> bool:
        """Whether `run` serves an `ImageBatch` of images of one size."""
        return self.runs and isinstance(self.passes[0], AugmentPass)

    def is_small(self, images: Tensor) -> bool:
        """Whether results of images of one size need no buffer on the host."""
        return 0 < prod(images.shape[:-2]) * prod(self._size(images.shape)) < LEAST_BYTES

    @property
    def _channels_last(self) -> bool | None:
        """The memory layout of results; None: that of the images."""
        last = self.passes[-1]
        return last.channels_last if isinstance(last, AugmentPass) else None

    def _code_on(self, device: torch.device) -> Tensor | None:
        """A copy of the code on a device, made once; None if no kernel can draw."""
        if self.draws_anywhere and device not in self._codes:
            self._codes[device] = self.code.to(device)
        return self._codes.get(device)

    def _size(self, shape: Sequence[int]) -> Size:
        """The size of a result, or `VARIES`; height and width of the images come last in `shape`."""
        if self.size != ALIKE:
            return self.size
        height, width = shape[-2:]
        known = self._known_sizes.get((height, width))
        if known is None:
            table = self.fill(Batch(np.array([[height, width]]), np.zeros(1, np.int64)))
            known = tuple(table.sizes(self.passes[-1].out)[0].tolist())
            if len(self._known_sizes) >= _MAX_KNOWN_SIZES:
                self._known_sizes.clear()
            self._known_sizes[height, width] = known
        return known

    def _buffer(self, images: Direct, size: Size) -> Tensor | None:
        """A buffer of the pool for results on the CPU; None: the operator allocates them."""
        last = self.passes[-1]
        is_last = self._channels_last
        tensor, layout, _, channels, count = images[:5]
        if is_last is None:  # images whose sizes vary between passes leave them apart
            is_last = is_channels_last(tensor, layout) and (self.runs or count == 1)
        shape = (channels, *size) if tensor.dim() == 3 else (count, channels, *size)
        return pooled_output(shape, getattr(torch, last.dtype), is_last, tensor)

    def passes_of(self, table: ParameterTable, pairs: Sequence[int] = ()) -> tuple[Pass, ...]:
        """The passes of a batch; from a mix on, without its pair images.

        Args:
            table: the parameters of all images.
            pairs: see `Batch`.
        """
        passes: list[Pass] = []
        numbers = iter(pairs)
        for step in self.passes:
            number = next(numbers, 0) if isinstance(step, MixPass) else 0
            if not number:
                passes.append(step.of(table))
                continue
            count = len(table) // (1 + number)
            table = table.rows(np.arange(count))
            rows = np.arange(count, count * (1 + number)).reshape(count, number)
            passes.append(step.of(replace(table, pairs=rows)))
        return tuple(passes)

    def _draw(self, table: ParameterTable, batch: Batch, begin: int, end: int) -> None:
        tensors = (torch.from_numpy(array) for array in (batch.sizes, batch.sample_ids))
        results = torch.from_numpy(table.state), torch.from_numpy(table.words)
        try:
            _draw_rules(self.code, *tensors, batch.seed, batch.epoch, begin, end, *results, batch.frames)
        except ValueError as error:
            fault = _FAULT.fullmatch(str(error))
            if fault is None:
                raise
            raise ValueError(f"{self.labels[int(fault[1])]}: {fault[2]}") from None


def _rules_of(build: Build, passes: Sequence[Pass]) -> tuple[list[Rule], list[tuple[int, Any]]]:
    """The rules in order, with those that begin and end passes, and the stops."""
    stops: list[tuple[int, Any]] = []
    externals, unfinished = deque(build.externals), deque(passes)
    partial_blocks = (block for step in passes for block in step.partial_blocks if block.rows)
    rules = [Rule("clear", (block.offset, block.words)) for block in partial_blocks]
    for index, rule in enumerate(build.rules):
        while externals and externals[0].rule == index:
            stops.append((len(rules), externals.popleft()))
        if not passes and rule.writes_words:
            continue
        while passes and rule.owner is not None and rule.owner is not unfinished[0]:
            rules += unfinished.popleft().end()
        rules.append(rule)
    stops += [(len(rules), external) for external in externals]
    rules += [rule for step in unfinished for rule in step.end()]
    return rules, stops


_draw_rules = operators.draw
_run: Callable[..., Tensor] = operators.run
run_seed: Callable[[Tensor, Tensor, int], Tensor] = operators.run_seed


@register_fake("draw", sizes=2, sample_ids=1)
def _(*arguments: object) -> None:
    return None
