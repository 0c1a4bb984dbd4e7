"""Many training steps in one call; on CUDA one replay of a captured graph, fed with batches.

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

from orbbec.data.assemble import Assembled
from orbbec.data.capture import Capture, CudaCapture
from orbbec.data.loader import Loader
from orbbec.data.slots import Feed, Slots
from orbbec.data.staging import map_tensors

_WARM_UP = 3  # steps outside of a graph, in which libraries choose and allocate
_KEPT = 4  # graphs, each with the memory of its steps


def sink(step: Callable[..., Tensor], batches: Iterable[Any], sink_size: int) -> Sink:
    """Train `sink_size` batches at a time; the host waits for the device only where losses are looked at.

    On the CPU `step` is called for each batch. On CUDA augmentation and step of all batches of a sink are
    captured in one CUDA graph. From then on a sink is a copy of its pixels and tables into the memory that
    the graph reads, and one replay; batches are decoded and sent ahead meanwhile.

    A sink of another structure has a graph of its own: a shorter one, a smaller last batch, another number of
    colour steps, rounded up to fours. It runs as it is when it is met first, then it is captured; the 4 used
    last are kept. Larger images than room was made for are captured anew. Always run as they are: plans
    whose first pass gives images of unlike sizes, a blur by windows of unlike sizes, `MotionBlur`. Noise
    depends on the epoch, and is captured in each.

    A step must make the same calls each time: an optimizer with `capturable=True`, learning rates in tensors,
    no `.item()`.

    Args:
        step: takes the tensors of a batch, in their order, and trains on them; gives the loss, one number.
        batches: a `Loader`, whose augmentation is captured too; or whatever holds tensors on one device, such
            as the batches of a `DevicePrefetcher`. Targets and sample ids are tensors too.
        sink_size: from 1; the last sink of an epoch may be shorter.

    Returns:
        An epoch of losses each time that it is iterated over: of every sink `[sink_size]`, on the device of
        the batches.

    Raises:
        ValueError: a batch has no tensors, or images of unlike sizes.

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
    """What `sink` gives.

    Args:
        step: as for `sink`.
        batches: as for `sink`.
        sink_size: as for `sink`.
        capture: how steps are captured; None: as CUDA does, where batches are there, else not at all.

    Attributes:
        captured: how often a graph was captured.
        replayed: how many sinks were a replay.
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
        for slot, feed in enumerate(feeds):  # what operators make once is not made in the capture
            capture.warm_up(partial(slots.read, slot, feed))
        work = (slots.read(slot, feed) for slot, feed in enumerate(feeds))
        return _Graph(capture, capture.record(lambda: self._trained(work)))

    def _trained(self, work: Iterable[list[Tensor]]) -> Tensor:
        return torch.stack([self._step(*tensors).detach() for tensors in work])


def _feed(batch: Any) -> Feed:
    if isinstance(batch, Assembled) and batch.plan is not None:
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
