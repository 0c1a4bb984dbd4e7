"""Many training steps in one call; on CUDA, one replay of a captured graph.

::

    Loader --> pixels on the device, plans --> slots --> graph: augment, step, augment, step ... --> losses

The idea is the loop sink of MindSpore.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from orbbec.data.device.capture import Capture, CudaCapture
from orbbec.data.device.slots import Feed, Slots
from orbbec.data.device.staging import map_tensors
from orbbec.data.loader.assemble import Assembled
from orbbec.data.loader.loader import Loader
from orbbec.plan import Plan

_WARM_UP = 3  # steps outside a graph, in which libraries choose algorithms and allocate
_KEPT = 4  # graphs, each with the memory of its steps


def sink(step: Callable[..., Tensor], batches: Iterable[Any], sink_size: int) -> Sink:
    """Train `sink_size` batches at a time; the host waits for the device only when losses are read.

    On the CPU, `step` is called for each batch. On CUDA, augmentation and steps of all batches of a sink are
    captured in one CUDA graph. Afterwards a sink copies its pixels and parameters into the graph's memory and
    replays it; meanwhile, the next batches are decoded and copied.

    A sink of another structure (fewer batches, a smaller last batch) needs its own graph. It runs without a
    graph the first time and is captured the second time; the 4 most recent graphs are kept. Images larger
    than the graph's buffers trigger recapture. Never captured: plans whose first pass gives variable-size
    images, a blur with windows of different sizes, and operators whose parameters the host reads, such as
    `MotionBlur`: see docs/how-to/cuda_graphs.md. Noise depends on the epoch and is captured once per epoch.

    A step must make the same calls each time: use an optimizer with `capturable=True`, learning rates in
    tensors, no `.item()`.

    Args:
        step: takes the tensors of a batch in order, trains on them and returns the loss, one number.
        batches: a `Loader`, whose augmentation is captured too, or any batches of tensors on one device, such
            as those of a `DevicePrefetcher`. Targets and sample ids must be tensors.
        sink_size: batches per sink, at least 1; the last sink of an epoch may be shorter.

    Returns:
        An iterable; each iteration is one epoch and yields the losses `[sink_size]` of every sink, on the
        device of the batches.

    Raises:
        ValueError: a batch has no tensors, or variable-size images.

    Example:
        >>> batches = [(torch.tensor([float(i)]),) for i in range(5)]
        >>> [losses.tolist() for losses in sink(lambda x: x.sum() * 2, batches, sink_size=2)]
        [[0.0, 2.0], [4.0, 6.0], [8.0]]
    """
    return Sink(step, batches, sink_size)


class _Graph(NamedTuple):
    capture: Capture
    losses: Tensor


class Sink:
    """The result of `sink`.

    `capture` says how steps are captured; None: with CUDA graphs for batches on CUDA, otherwise not at all.

    Attributes:
        captured: number of captures.
        replayed: number of sinks that were replays.
    """

    def __init__(
        self,
        step: Callable[..., Tensor],
        batches: Iterable[Any],
        sink_size: int,
        capture: type[Capture] | None = None,
    ) -> None:
        if sink_size < 1:
            raise ValueError(f"sink: expected sink_size from 1, but got {sink_size}")
        self.captured = self.replayed = 0
        self._step, self._batches, self._sink_size, self._capture = step, batches, sink_size, capture
        self._slots: Slots | None = None
        self._graphs: OrderedDict[Hashable, _Graph | None] = OrderedDict()  # None: to be captured next time
        self._warm_steps = 0

    def __iter__(self) -> Iterator[Tensor]:
        feeds: list[Feed] = []
        for batch in self._taken():
            feeds.append(_feed(batch))
            if len(feeds) == self._sink_size:
                yield self._losses(feeds)
                feeds = []
        if feeds:
            yield self._losses(feeds)

    def _taken(self) -> Iterable[Any]:
        if isinstance(self._batches, Loader) and (self._capture or self._batches.device.type == "cuda"):
            return self._batches.planned()
        return self._batches

    def _losses(self, feeds: Sequence[Feed]) -> Tensor:
        device = feeds[0].device
        capture = self._capture or (CudaCapture if device.type == "cuda" else None)
        if capture is None:
            return self._trained(feed.computed() for feed in feeds)
        slots = self._slots = self._slots or Slots(self._sink_size, device)
        if slots.reserve(feeds):
            self._graphs = OrderedDict.fromkeys(self._graphs)
        structures = tuple(feed.structure for feed in feeds)
        if None in structures or not self._is_warm(structures):
            self._warm_steps += len(feeds)
            return capture(device).warm_up(lambda: self._trained(feed.computed() for feed in feeds))
        slots.fill(feeds)
        graph = self._graphs[structures]
        if graph is None:
            self._graphs[structures] = graph = self._graph(capture(device), slots, feeds)
        else:
            graph.capture.replay()
            self.replayed += 1
        return graph.losses.clone()

    def _is_warm(self, structures: Hashable) -> bool:
        known = structures in self._graphs
        self._graphs.setdefault(structures)
        self._graphs.move_to_end(structures)
        if len(self._graphs) > _KEPT:
            self._graphs.popitem(last=False)
        return known and self._warm_steps >= _WARM_UP

    def _graph(self, capture: Capture, slots: Slots, feeds: Sequence[Feed]) -> _Graph:
        self.captured += 1
        for slot, feed in enumerate(feeds):  # operators must create their cached objects before the capture
            capture.warm_up(partial(slots.read, slot, feed))
        work = (slots.read(slot, feed) for slot, feed in enumerate(feeds))
        return _Graph(capture, capture.record(lambda: self._trained(work)))

    def _trained(self, work: Iterable[list[Tensor]]) -> Tensor:
        return torch.stack([self._step(*tensors).detach() for tensors in work])


def _feed(batch: Any) -> Feed:
    if isinstance(batch, Assembled) and isinstance(batch.plan, Plan):
        return Feed(batch.images, batch.plan, _tensors_of((batch.targets, batch.sample_ids)))
    return Feed(None, None, _tensors_of(batch))


def _tensors_of(batch: Any) -> list[Tensor]:
    found: list[Tensor] = []

    def keep(tensor: Any) -> Any:
        if not isinstance(tensor, Tensor):
            raise ValueError("sink: expected tensors, but got an ImageBatch; resize images to one size")
        found.append(tensor)
        return tensor

    map_tensors(batch, keep)
    if not found:
        raise ValueError(f"sink: expected a batch with tensors, but got {type(batch).__name__}")
    return found
