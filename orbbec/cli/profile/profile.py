"""Times a pipeline pass by pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from statistics import median
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np
import torch

from orbbec.bridge.arguments import holds_planes
from orbbec.cli.profile.traffic import bytes_moved, floor_bytes, pixel_bytes
from orbbec.data.loader.report import percent
from orbbec.plan import Plan, read_images, run_passes
from orbbec.plan.batches import Input, Work, device_of
from orbbec.transforms.base.tv_tensors import plain
from orbbec.transforms.compose import Compose

FEWEST_ROUNDS = 7
_BOUND_BY_MEMORY = 0.8  # of the rate of a copy
READ, DRAW, RETURN = "read the images", "draw the plan", "return the results"

Mark: TypeAlias = Any  # seconds, or an event of a CUDA stream


@dataclass(frozen=True)
class Cost:
    """The cost of one part of the work.

    Args:
        name: name of the pass, or of the work before and after the passes.
        holds: names of the transforms that a pass runs.
        why: why the pipeline was split before the pass; empty if it was not.
        read_bytes: bytes of images read.
        written_bytes: bytes of images written.
        seconds: one number per round.
    """

    name: str
    holds: tuple[str, ...]
    why: str
    read_bytes: int
    written_bytes: int
    seconds: tuple[float, ...]

    @property
    def moved_bytes(self) -> int:
        return self.read_bytes + self.written_bytes


@dataclass(frozen=True)
class Profile:
    """The times of a pipeline. `print` shows a table, with advice about the part that takes longest.

    Args:
        images: number of images in the batch.
        device: device of the images.
        threads: number of torch's threads.
        costs: the costs before, in and after the passes, in order.
        wall_seconds: seconds from images to results, one number per round.
        floor_bytes: bytes of the visible parts of images, read once, and of the results, written once.
        copy_seconds: seconds of a copy that moves as many bytes, one number per round.
    """

    images: int
    device: str
    threads: int
    costs: tuple[Cost, ...]
    wall_seconds: tuple[float, ...]
    floor_bytes: int
    copy_seconds: tuple[float, ...]

    @property
    def moved_bytes(self) -> int:
        """The bytes that all passes read and write."""
        return sum(cost.moved_bytes for cost in self.costs)

    @property
    def copy_rate(self) -> float:
        """Bytes per second, read and written, of that copy."""
        return self.floor_bytes / median(self.copy_seconds)

    @property
    def fraction_of_copy(self) -> float:
        """The time of that copy as a fraction of the pipeline's time; 1 is as fast."""
        return median(self.copy_seconds) / median(self.wall_seconds)

    @property
    def advice(self) -> str:
        """The part that takes longest, and how to reduce it."""
        top = max(self.costs, key=lambda cost: median(cost.seconds))
        cost = f"{top.name} takes {percent(median(top.seconds) / median(self.wall_seconds))}"
        if top.name == DRAW:
            return f"{cost}: this cost is per batch, so larger batches spread it"
        if top.name == READ:
            return f"{cost}: a list is copied to one buffer; give an ImageBatch or a tensor"
        if top.name == RETURN:
            return f"{cost}: results are laid out anew; give tensors to get tensors"
        if top.why:
            return f"{cost}. It is a separate pass because {top.why}"
        rate = top.moved_bytes / median(top.seconds) / self.copy_rate
        if rate > _BOUND_BY_MEMORY:
            return f"{cost}, at {percent(rate)} of the rate of a copy: only fewer bytes make it faster"
        return f"{cost}, at {percent(rate)} of the rate of a copy: the rest is arithmetic"

    def to_dict(self) -> dict[str, Any]:
        """All numbers, for JSON."""
        return asdict(self) | {"moved_bytes": self.moved_bytes, "copy_rate": self.copy_rate}

    def __str__(self) -> str:
        wall = median(self.wall_seconds)
        rows: list[tuple[str, ...]] = [("part", "ms", "of all", "read MB", "written MB", "GB/s")]
        for cost in self.costs:
            seconds = median(cost.seconds)
            rate = f"{cost.moved_bytes / seconds / 1e9:.2f}" if cost.moved_bytes else ""
            megabytes = [f"{count / 1e6:.2f}" for count in (cost.read_bytes, cost.written_bytes)]
            rows.append((cost.name, f"{seconds * 1e3:.3f}", percent(seconds / wall), *megabytes, rate))
        clock = "events of the stream" if self.device.startswith("cuda") else "wall time"
        where = f"{self.device}, {self.threads} threads" if self.device == "cpu" else self.device
        images = "1 image" if self.images == 1 else f"{self.images} images"
        lines = [f"{images} on {where}; medians of {len(self.wall_seconds)} rounds, {clock}"]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for name, *cells in rows:
            numbers = (cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))
            lines.append("  ".join([name.ljust(widths[0]), *numbers]).rstrip())
        lines.append(f"all: {wall * 1e3:.3f} ms, {wall / self.images * 1e3:.4f} per image")
        lines.append(
            f"bytes: {self.moved_bytes / 1e6:.2f} MB moved, {self.floor_bytes / 1e6:.2f} MB at least; a copy "
            f"moves those at {self.copy_rate / 1e9:.2f} GB/s, "
            f"the pipeline takes {1 / self.fraction_of_copy:.1f} times as long"
        )
        return "\n".join([*lines, self.advice])


def profile(pipeline: Compose, batch: Any, *, epoch: int = 0, rounds: int = 11) -> Profile:
    """Time each part of a call of a pipeline.

    Parts are timed within whole calls, so that each pass finds the caches as the preceding pass leaves them.
    On CUDA, the marks are events of the stream; this has never been run on a GPU.

    Args:
        pipeline: the pipeline, without targets.
        batch: at least one image, in any form that `pipeline` accepts except `YCbCrBatch`.
        epoch: epoch of the draws, the same in every round.
        rounds: number of rounds, at least 7, after a warm-up.

    Returns:
        Times and bytes of each part.

    Raises:
        TypeError: the batch is a `YCbCrBatch`.
        ValueError: the batch is empty, or a number is too small.

    Example:
        >>> from orbbec.transforms import CenterCrop, GaussianBlur
        >>> pipeline = Compose([CenterCrop(8), GaussianBlur(3)])
        >>> found = profile(pipeline, torch.zeros(2, 3, 16, 16, dtype=torch.uint8))
        >>> [(cost.name, cost.read_bytes, cost.written_bytes) for cost in found.costs[2:4]]
        [('1. augment', 384, 384), ('2. gaussian_blur', 384, 384)]
    """
    if rounds < FEWEST_ROUNDS:
        raise ValueError(f"profile: expected rounds of at least {FEWEST_ROUNDS}, but got {rounds}")
    if holds_planes(batch):
        raise TypeError("profile: expected images, but got planes; ycbcr_to_rgb makes images of them")
    images = read_images(plain(batch))
    if len(images.sizes) == 0:
        raise ValueError("profile: expected at least 1 image")
    device = device_of(images.work)
    _, plan, inputs, works = _call(pipeline, batch, epoch, device)
    kinds = [pixel_bytes(work) for work in (inputs.work, *works)]
    least = floor_bytes(plan, kinds[0], kinds[-1])
    copy = _copier(least // 2, device)
    times, copies = [], []
    for _ in range(rounds):
        times.append(_call(pipeline, batch, epoch, device)[0])
        copies.append(_seconds(copy())[0])
    return Profile(
        images=len(plan),
        device=str(device),
        threads=torch.get_num_threads(),
        costs=tuple(_costs(plan, kinds, list(zip(*times, strict=True)))),
        wall_seconds=tuple(map(sum, times)),
        floor_bytes=least,
        copy_seconds=tuple(copies),
    )


def _call(
    pipeline: Compose, batch: Any, epoch: int, device: torch.device
) -> tuple[list[float], Plan, Input, list[Work]]:
    """Run `pipeline(batch)`; return the seconds of each part, the plan, the images, and each result."""
    works: dict[int, Work] = {}
    passes: list[int] = []
    marks = [_mark(device)]

    def after(number: int, work: Work) -> None:
        marks.append(_mark(device))
        passes.append(number)
        works[number] = work

    inputs = read_images(plain(batch))
    marks.append(_mark(device))
    plan = pipeline.plan(inputs.sizes, epoch=epoch, channels=inputs.channels, dtype=inputs.dtype)
    marks.append(_mark(device))
    run_passes(plan, inputs, after=after)
    marks.append(_mark(device))
    read, drawn, *each, returned = _seconds(marks)
    of_passes = np.bincount(passes, each, len(plan.passes)).tolist()
    return [read, drawn, *of_passes, returned], plan, inputs, [works[n] for n in range(len(plan.passes))]


def _costs(plan: Plan, kinds: Sequence[int], seconds: Sequence[tuple[float, ...]]) -> list[Cost]:
    costs = [Cost(name, (), "", 0, 0, times) for name, times in zip((READ, DRAW), seconds, strict=False)]
    sizes = plan.sizes
    for number, (step, times) in enumerate(zip(plan.passes, seconds[2:], strict=False)):
        read, written = bytes_moved(step, sizes, kinds[number], kinds[number + 1])
        costs.append(Cost(f"{number + 1}. {step.name}", step.holds, step.why, read, written, times))
        sizes = step.sizes
    return [*costs, Cost(RETURN, (), "", 0, 0, seconds[-1])]


def _copier(count: int, device: torch.device) -> Callable[[], list[Mark]]:
    """Copy `count` bytes between two marks."""
    source = torch.zeros(count, dtype=torch.uint8, device=device)
    target = torch.zeros_like(source)

    def copy() -> list[Mark]:
        begin = _mark(device)
        target.copy_(source)
        return [begin, _mark(device)]

    return copy


def _mark(device: torch.device) -> Mark:
    if device.type != "cuda":
        return perf_counter()
    event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
    event.record()
    return event


def _seconds(marks: Sequence[Mark]) -> list[float]:
    """The seconds between marks."""
    if isinstance(marks[0], float):
        return [end - begin for begin, end in pairwise(marks)]
    marks[-1].synchronize()
    return [begin.elapsed_time(end) / 1000 for begin, end in pairwise(marks)]
