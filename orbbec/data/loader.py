"""Loader: batches for the model, read, decoded and augmented by threads ahead of it."""

from __future__ import annotations

import json
import os
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from inspect import GEN_CLOSED, getgeneratorstate
from itertools import islice
from threading import Event
from typing import Any, NamedTuple, TypeAlias
from weakref import ReferenceType, ref

import torch
from torch import Tensor

from orbbec.batch import PlaneBatch
from orbbec.batch import collate as default_collate
from orbbec.data.assemble import ON_ERROR, Assembled, Assembler, Decoding
from orbbec.data.nvimgcodec import BatchDecoder
from orbbec.data.order import Order
from orbbec.data.queues import Crew
from orbbec.data.report import Report
from orbbec.data.sample import BadSample
from orbbec.data.staging import Staging, pinned, to_device
from orbbec.data.threads import node_cores, thread_budget
from orbbec.data.tune import Settings, Tuner
from orbbec.transforms import Compose, Transform
from orbbec.transforms.checks import choice, flag, whole
from orbbec.ycbcr import ycbcr_to_rgb

_PREFETCH = 2
_WARM_UP = 3  # steps
_LISTED = 10  # bad samples that the warning names

_Task: TypeAlias = tuple[list[Any], int]  # what to read, and the epoch


class Batch(NamedTuple):
    """What a Loader gives."""

    images: Any
    targets: Any
    sample_ids: Tensor


class _Epoch(Iterator[Any]):
    """The batches of an epoch; asked for more after another was begun, it says so."""

    def __init__(self, batches: Generator[Any, None, None]) -> None:
        self._batches, self._is_displaced = batches, False

    def __next__(self) -> Any:
        if self._is_displaced:
            raise RuntimeError("Loader: expected one epoch at a time, but another was begun and ended it")
        return next(self._batches)

    def close(self) -> None:
        self._batches.close()

    def displace(self) -> None:
        self._is_displaced = getgeneratorstate(self._batches) != GEN_CLOSED
        self.close()


class Loader:
    """Batches of augmented images on a device, prepared by threads while the model works.

    A thread takes a batch at a time: it reads the samples, draws the plan of their augmentation from their
    headers, decodes of each image what the plan looks at, and packs that. On CUDA a batch crosses in one copy
    from page-locked memory and is augmented on a side stream, one batch ahead of the model; elsewhere the
    thread augments it too. What a sample becomes depends on seed, epoch and its id alone.

    Memory: at most `threads + prefetch` batches of decoded pixels (on the CPU: of results), and on CUDA two
    of results; on the device itself where that decodes. What is "auto" of these two changes a few times in
    the first steps, by which side of the queue waits for the other; batches and their order are the same.

    Args:
        source: samples by index (see `Source`), or an iterable of samples, which is then taken in its order.
        batch_size: images a batch.
        transforms: a `Compose`, or transforms in order, with `seed`; None: batches are `ImageBatch`es.
        device: of the batches.
        threads: how many; "auto": as many as the model needs, of those that may run at once by cores, control
            group and OMP_NUM_THREADS.
        prefetch: batches that may wait for the model; "auto": 2, or up to 8 where batches take unlike times.
        seed: of the order, and of transforms that are no `Compose`.
        shuffle: anew in each epoch; a stream is not shuffled.
        drop_last: leave out the last samples where `batch_size`, or the number of ranks, does not divide
            their number; else ranks that have one less take a first sample of the epoch again, so that all
            have equally many batches.
        order: of as many samples as `source` has, instead of that of `seed` and `shuffle` over the ranks of
            the process group, or, before there is one, those that torchrun names in the environment.
        on_error: "raise" for a bad sample; "skip" it, which makes a batch smaller; or "substitute" the next
            good one of the source. What was skipped or replaced is in `faults`, and in a warning at the end.
        decoding: how images are decoded.
        collate: makes targets of a batch of a list of dicts; the default gives a dict of tensors and lists.
        numa: the node on whose cores the threads run, best that of the GPU; None: wherever the system likes.

    Example:
        >>> import numpy as np
        >>> from orbbec.data import Sample
        >>> from orbbec.transforms import RandomResizedCrop
        >>> source = [Sample(np.full((8, 8, 3), i, np.uint8), {"label": i}, i) for i in range(5)]
        >>> with Loader(source, 2, [RandomResizedCrop(4)], seed=1) as loader:
        ...     for images, targets, sample_ids in loader:
        ...         print(list(images.shape), targets["label"].tolist(), sample_ids.tolist())
        [2, 3, 4, 4] [1, 4] [1, 4]
        [2, 3, 4, 4] [2, 3] [2, 3]
        [1, 3, 4, 4] [0] [0]
    """

    def __init__(
        self,
        source: Any,
        batch_size: int,
        transforms: Compose | Sequence[Transform] | None = None,
        device: torch.device | str = "cpu",
        *,
        threads: int | str = "auto",
        prefetch: int | str = "auto",
        seed: int = 0,
        shuffle: bool = True,
        drop_last: bool = False,
        order: Order | None = None,
        on_error: str = "raise",
        decoding: Decoding | None = None,
        collate: Callable[[list[dict[str, Any]]], Any] = default_collate,
        numa: int | None = None,
    ) -> None:
        whole("Loader", "batch_size", batch_size, 1)
        choice("Loader", "on_error", on_error, ON_ERROR)
        flag("Loader", "shuffle", shuffle)
        flag("Loader", "drop_last", drop_last)
        self._is_indexed = hasattr(source, "__getitem__") and hasattr(source, "__len__")
        if not self._is_indexed and on_error == "substitute":
            raise ValueError("Loader: expected a source with an index for on_error='substitute'")
        if order is not None:
            _check_length(order, len(source) if self._is_indexed else None)
        self.batch_size, self.drop_last, self.collate = batch_size, drop_last, collate
        self.device = torch.device(device)
        self._cores = [] if numa is None else node_cores(numa)
        self._tuner = _tuner(threads, prefetch, thread_budget(cores=self._cores))
        if transforms is not None and not isinstance(transforms, Compose):
            transforms = Compose(transforms, seed)
        on_cuda = self.device.type == "cuda"
        decoding = decoding or Decoding()
        decoder = BatchDecoder(self.device, decoding.mode) if decoding.on_device else None
        self._assembler = Assembler(source, transforms, decoding, on_error, on_cuda, decoder)
        self.order = order or (_order(len(source), seed, shuffle, drop_last) if self._is_indexed else None)
        self._staging = Staging(self.device)
        self._epoch = self._start = self._delivered = self._images = 0
        self._synthetic = 0.0
        self._running: ReferenceType[_Epoch] | None = None

    @property
    def threads(self) -> int:
        """How many there are now."""
        return self._tuner.settings.threads

    @property
    def prefetch(self) -> int:
        """How many batches may wait for the model now."""
        return self._tuner.settings.prefetch

    @property
    def faults(self) -> list[BadSample]:
        """The bad samples that were skipped or replaced, of all epochs."""
        return self._assembler.faults

    @property
    def seconds(self) -> dict[str, float]:
        """What time was spent on, by all threads together; "wait" and "step" are the model's."""
        return dict(self._assembler.watch.seconds)

    def report(self) -> Report:
        """Where time went since the loader was made; `print` it, or show its `line` in a progress bar."""
        spent = self.seconds
        waited = spent.get("wait", 0.0)
        seconds = waited + spent.get("step", 0.0)
        return Report(self._images, seconds, waited, spent, self.threads, self._synthetic)

    def synthetic(self, batch: Batch, steps: int = 20) -> Iterator[Batch]:
        """One batch again and again, as fast as the model takes it: the bound that no loader exceeds.

        From then on `report` says which share of it is reached.

        Args:
            batch: one that this loader gave.
            steps: how often; the first three are not timed, and on CUDA the device is waited for.
        """
        for step in range(_WARM_UP + whole("Loader.synthetic", "steps", steps, 1)):
            if step == _WARM_UP:
                began = self._staging.time()
            yield batch
        self._synthetic = steps * len(batch.sample_ids) / (self._staging.time() - began)

    def settings(self) -> str:
        """The numbers of threads and of batches ahead as JSON, for `Loader(**json.loads(text))`."""
        return json.dumps({"threads": self.threads, "prefetch": self.prefetch})

    def __len__(self) -> int:
        """How many batches are left of this epoch; fewer come where whole batches are skipped."""
        if self.order is None:
            raise TypeError("Loader: a stream has no length")
        count = self.order.count(self._start)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch that begins next; without it they count up. The one that was resumed goes on."""
        if whole("Loader", "epoch", epoch, 0) != self._epoch:
            self._epoch, self._start = epoch, 0
        self._delivered = 0

    def state_dict(self) -> dict[str, Any]:
        """Where the ranks stand: after the batches that were taken, not those that wait."""
        if self.order is None:
            return {"epoch": self._epoch, "start": self._start + self._delivered}
        return self.order.state_dict(self._epoch, self._delivered, self._start)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on at the sample after those that had been taken; of a stream they are read and passed over.

        Raises:
            ValueError: the state is of another order.
        """
        self.close()
        self._delivered = 0
        self._epoch, self._start = (
            self.order.resume(state) if self.order else (state["epoch"], state["start"])
        )

    def close(self) -> None:
        """Stop the threads of an epoch that was not taken to its end; returns when they have ended."""
        if running := self._running and self._running():
            running.close()

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Batch]:
        """The batches of an epoch; one that was broken off begins again.

        There is one at a time: an iterator that is asked for more after another was begun raises a
        RuntimeError.
        """
        return self._begun(self._batches(self._prepared, self._finished))

    def planned(self) -> Iterator[Assembled]:
        """As `iter`, but pixels and plans: images on the device, all else on the host; what `sink` takes."""
        return self._begun(self._batches(self._assembled, self._moved))

    def _begun(self, batches: Generator[Any, None, None]) -> Iterator[Any]:
        if running := self._running and self._running():
            running.displace()
        self._delivered = 0
        epoch = _Epoch(batches)
        self._running = ref(epoch)  # weak: a loop that is left drops its iterator, which stops the threads
        return epoch

    def _batches(
        self,
        prepare: Callable[[_Task, Event], tuple[int, Assembled]],
        finish: Callable[[Assembled], Batch | Assembled],
    ) -> Generator[Any, None, None]:
        known = len(self.faults)
        staged: deque[tuple[int, Any, Any]] = deque()
        watch, settings = self._assembler.watch, self._tuner.settings
        self._tuner.begin()
        with Crew(prepare, self._tasks(), *settings, cores=self._cores, watch=watch) as crew:
            for taken, prepared in crew:
                if self._tuner.step(self.seconds):
                    crew.resize(*self._tuner.settings)
                staged.append((taken, *self._staging.stage(finish, prepared)))
                if len(staged) == self._staging.depth or not crew.has_next():
                    yield from self._taken(*staged.popleft())
            while staged:
                yield from self._taken(*staged.popleft())
        self._warn(self.faults[known:])
        self._epoch, self._start, self._delivered = self._epoch + 1, 0, 0

    def _tasks(self) -> Iterator[_Task]:
        source: Any = self._assembler.source
        if hasattr(source, "set_epoch"):
            source.set_epoch(self._epoch)
        if self.order is None:
            items: Iterator[Any] = islice(iter(source), self._start, None)
        else:
            items = iter(self.order.indices(self._epoch, self._start).tolist())
        while wanted := list(islice(items, self.batch_size)):
            if len(wanted) == self.batch_size or not self.drop_last:
                yield wanted, self._epoch

    def _prepared(self, task: _Task, stopped: Event) -> tuple[int, Assembled]:
        """What a thread does of a batch: everything on the CPU, all up to the copy on CUDA."""
        taken, batch = self._assembled(task, stopped)
        if self.device.type == "cuda":
            return taken, batch._replace(targets=pinned(batch.targets))
        return taken, self._augmented(batch)

    def _assembled(self, task: _Task, stopped: Event) -> tuple[int, Assembled]:
        wanted, epoch = task
        with self._staging.beside():  # for what is decoded on the device
            batch = self._assembler(wanted, epoch, stopped)
        return len(wanted), batch._replace(targets=self.collate(batch.targets) if batch.targets else {})

    def _moved(self, batch: Assembled) -> Assembled:
        with self._assembler.watch.timing("copy"):
            batch = batch._replace(images=to_device(batch.images, self.device))
        return self._in_colors(batch)

    def _finished(self, batch: Assembled) -> Batch:
        with self._assembler.watch.timing("copy"):
            batch = to_device(batch, self.device)
        return Batch(*self._augmented(batch)[:3])

    def _augmented(self, batch: Assembled) -> Assembled:
        compose = self._assembler.transforms
        if batch.plan is None or compose is None:
            return self._in_colors(batch)
        with self._assembler.watch.timing("augment"):
            return batch._replace(images=compose.apply(batch.plan, batch.images), plan=None)

    def _in_colors(self, batch: Assembled) -> Assembled:
        """Planes become RGB where they are."""
        if not isinstance(batch.images, PlaneBatch):
            return batch
        with self._assembler.watch.timing("augment"):
            return batch._replace(images=ycbcr_to_rgb(batch.images))

    def _taken(self, taken: int, batch: Any, event: Any) -> Iterator[Any]:
        """The batch for the model; none where all of it was skipped."""
        self._delivered += taken
        if len(batch.sample_ids):
            self._images += len(batch.sample_ids)
            with self._assembler.watch.timing("step"):
                yield self._staging.ready(batch, event)

    def _warn(self, faults: list[BadSample]) -> None:
        if faults:
            listed = "".join(f"\n  {fault}" for fault in faults[:_LISTED])
            more = f"\n  and {len(faults) - _LISTED} more; see Loader.faults" if len(faults) > _LISTED else ""
            done = "replaced" if self._assembler.on_error == "substitute" else "skipped"
            warnings.warn(f"Loader: {len(faults)} bad samples were {done}:{listed}{more}", stacklevel=2)


def _tuner(threads: int | str, prefetch: int | str, budget: int) -> Tuner:
    given = {"threads": threads, "prefetch": prefetch}
    settings = Settings(
        budget if threads == "auto" else whole("Loader", "threads", threads, 1),
        _PREFETCH if prefetch == "auto" else whole("Loader", "prefetch", prefetch, 0),
    )
    return Tuner(settings, budget, frozenset(name for name, value in given.items() if value == "auto"))


def _check_length(order: Order, length: int | None) -> None:
    if length is None:
        raise ValueError("Loader: expected a source with an index for order")
    if order.length != length:
        raise ValueError(f"Loader: expected order of length {length}, as source, but got {order.length}")


def _order(length: int, seed: int, shuffle: bool, drop_last: bool) -> Order:
    """The order of this rank; all ranks have equally many samples, and so none waits for another."""
    rank, world_size = _rank_and_world_size()
    return Order(length, seed, shuffle, rank, world_size, tail="drop" if drop_last else "pad")


def _rank_and_world_size() -> tuple[int, int]:
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_rank(), torch.distributed.get_world_size()
    named = [os.environ.get(name) for name in ("RANK", "WORLD_SIZE")]  # by torchrun
    return (int(named[0]), int(named[1])) if named[0] and named[1] else (0, 1)
