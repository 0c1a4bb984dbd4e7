"""Loader: batches for the model, read, decoded and augmented by threads ahead of it."""

from __future__ import annotations

import json
import os
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from time import perf_counter
from traceback import format_exception
from typing import Any, NamedTuple, TypeAlias
from weakref import ReferenceType, ref

import torch
from torch import Tensor

from orbbec.batch import PlaneBatch
from orbbec.batch import collate as default_collate
from orbbec.data.assemble import ON_ERROR, Assembled, Assembler, Decoding
from orbbec.data.nvimgcodec import BatchDecoder
from orbbec.data.order import Order, order_of_rank, place_of
from orbbec.data.queues import Crew, Stop, Worker
from orbbec.data.report import Report
from orbbec.data.sample import BadSample, Fault, SourceError
from orbbec.data.staging import Staging, arrays_as_tensors, pinned, to_device
from orbbec.data.threads import node_cores, thread_budget
from orbbec.data.tune import tuner_for
from orbbec.transforms import Compose, Transform
from orbbec.transforms.checks import choice, flag, whole
from orbbec.ycbcr import ycbcr_to_rgb

_WARM_UP = 3  # steps
_LISTED = 10  # bad samples that the warning names
_IN_LOOP = 4  # frames from the warning to the loop that takes batches

_Task: TypeAlias = tuple[list[Any], int]  # what to read, and the epoch


class Batch(NamedTuple):
    """What a Loader gives."""

    images: Any
    targets: Any
    sample_ids: Tensor


@dataclass
class _Place:
    """An epoch, where in the order of all ranks it begins, and how many samples this rank took from there."""

    epoch: int
    start: int = 0
    delivered: int = 0


class _Tasks(Iterator[_Task]):
    """What each batch of an epoch is made of."""

    def __init__(self, items: Iterator[Any], epoch: int, batch_size: int, drop_last: bool) -> None:
        self._items, self._epoch = items, epoch
        self._batch_size, self._fewest = batch_size, batch_size if drop_last else 1

    def __next__(self) -> _Task:
        wanted = list(islice(self._items, self._batch_size))
        if len(wanted) < self._fewest:
            raise StopIteration
        return wanted, self._epoch


class _Epoch(Iterator[Any]):
    """The batches of one epoch, which begins when the first is asked for.

    Where it is dropped, so is its crew, which stops the threads. Neither this nor what it holds is a
    generator, which Python would close wherever the garbage collector runs.
    """

    def __init__(
        self,
        loader: Loader,
        prepare: Callable[[_Task, Stop], tuple[int, Assembled]],
        finish: Callable[[Assembled], Batch | Assembled],
    ) -> None:
        self._loader, self._prepare, self._finish = loader, prepare, finish
        self._crew: Crew[_Task, tuple[int, Assembled]] | None = None  # once it has begun
        self._place, self._process = _Place(0), 0
        self._staged: deque[tuple[int, Any, Any]] = deque()
        self._is_over = self._is_displaced = False
        self._handed = 0.0  # when the model was given its batch

    @property
    def open_place(self) -> _Place | None:
        """What it takes; None before and after."""
        return None if self._crew is None or self._is_over else self._place

    def __next__(self) -> Any:
        if self._is_displaced:
            raise RuntimeError("Loader: expected one epoch at a time, but another was begun and ended it")
        if self._is_over:
            raise StopIteration
        try:
            if self._crew is None:
                self._process = os.getpid()
                self._place, self._crew = self._loader._begin(self._prepare)
            elif self._process != os.getpid():
                raise RuntimeError("Loader: expected an epoch of this process, but it began before the fork")
            else:
                self._loader._assembler.watch.add("step", perf_counter() - self._handed)
            batch = self._taken(self._crew)
        except StopIteration:
            if not self._is_over:
                self._is_over = True
                self._loader._end()
            raise
        except (BadSample, SourceError) as error:
            self.close()
            raise _short(error) from None
        except BaseException:  # Ctrl-C, too
            self.close()
            raise
        self._handed = perf_counter()
        return batch

    def close(self) -> None:
        """Stop the threads; returns when they have ended. No batch comes any more, whoever waits for one."""
        self._is_over, self._staged = True, deque()
        if self._crew is not None:
            self._crew.close()

    def displace(self) -> None:
        """As `close`, but who asks for more is told why there is none."""
        self._is_displaced = not self._is_over
        self.close()

    def _taken(self, crew: Crew[_Task, tuple[int, Assembled]]) -> Any:
        """The next batch for the model; those of which all was skipped are passed over."""
        loader = self._loader
        while True:
            count, batch, event = self._next(crew)
            self._place.delivered += count
            loader._at = self._place
            if len(batch.sample_ids):
                loader._images += len(batch.sample_ids)
                return loader._staging.ready(batch, event)

    def _next(self, crew: Crew[_Task, tuple[int, Assembled]]) -> tuple[int, Any, Any]:
        """The oldest batch on the device; more are sent there as far as they are ready."""
        loader, staged = self._loader, self._staged
        while not staged or (len(staged) < loader._staging.depth and crew.has_next()):
            count, prepared = next(crew)
            if loader._tuner.step(loader.seconds):
                crew.resize(*loader._tuner.settings)
            staged.append((count, *loader._staging.stage(self._finish, prepared)))
        return staged.popleft()


class Loader:
    """Batches of augmented images on a device, prepared by threads while the model works.

    A thread takes a batch at a time: it reads the samples, draws the plan of their augmentation from their
    headers, decodes of each image what the plan looks at, and packs that. On CUDA a batch crosses in one copy
    from page-locked memory and is augmented on a side stream, one batch ahead of the model; elsewhere the
    thread augments it too. What a sample becomes depends on seed, epoch and its id alone.

    Memory: at most `threads + prefetch` batches of decoded pixels (on the CPU: of results), and on CUDA two
    of results; on the device itself where that decodes. What is "auto" of these two changes a few times in
    the first steps, by which side of the queue waits for the other; batches and their order are the same.

    Epochs: each `iter` gives the next epoch, from 0 on, whether the one before was taken to its end or left
    by `break`, an exception or `close`. So a loop that breaks after N batches sees other samples each time.
    An epoch begins when its first batch is asked for; an iterator that was never asked does not count.
    `set_epoch(n)` makes n the next epoch, though it was begun or taken before, and they count up from there.
    `state_dict` says how far the last epoch was taken: after `break`, too, until another begins or is
    chosen. After `load_state_dict` the next `iter` takes what was left of that epoch, unless `set_epoch`
    chooses another; the one after it is the next epoch, whole.

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
            good one of the source. What was skipped or replaced is in `faults`, and in a warning at the end
            of the epoch, or, where that was left, as the next begins.
        decoding: how images are decoded.
        collate: makes the targets of a batch of a list of dicts, whose arrays of numbers are tensors; the
            default gives a dict of tensors and lists, `list` the dicts, as torchvision's detectors take them.
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
        self._tuner = tuner_for(threads, prefetch, thread_budget(cores=self._cores))
        if transforms is not None and not isinstance(transforms, Compose):
            transforms = Compose(transforms, seed)
        on_cuda = self.device.type == "cuda"
        decoding = decoding or Decoding()
        decoder = BatchDecoder(self.device, decoding.mode) if decoding.on_device else None
        self._assembler = Assembler(source, transforms, decoding, on_error, on_cuda, decoder)
        self.order = order or (
            order_of_rank(len(source), seed, shuffle, drop_last) if self._is_indexed else None
        )
        self._staging = Staging(self.device)
        self._next = self._at = _Place(0)  # what `iter` begins, and what `state_dict` tells
        self._images = self._warned = 0
        self._synthetic = 0.0
        self._running: ReferenceType[_Epoch] | None = None
        self._workers: list[Worker] = []  # of the last epoch, which may have been dropped

    @property
    def threads(self) -> int:
        """How many there are now."""
        return self._tuner.settings.threads

    @property
    def prefetch(self) -> int:
        """How many batches may wait for the model now."""
        return self._tuner.settings.prefetch

    @property
    def faults(self) -> list[Fault]:
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
        """How many batches the epoch has that is being taken, or else the next one.

        One that was resumed has those that were left. Fewer come where whole batches are skipped.
        """
        if self.order is None:
            raise TypeError("Loader: a stream has no length")
        running = self._running and self._running()
        place = (running and running.open_place) or self._next
        count = self.order.count(place.start)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch that begins next; without it they count up.

        Where it is the one of `load_state_dict`, that goes on where it was.
        """
        if whole("Loader", "epoch", epoch, 0) != self._next.epoch:
            self._next = _Place(epoch)
        self._at = self._next

    def state_dict(self) -> dict[str, Any]:
        """Where the ranks stand: after the batches that were taken, not those that wait."""
        at = self._at
        if self.order is None:
            return {"epoch": at.epoch, "start": at.start + at.delivered}
        return self.order.state_dict(at.epoch, at.delivered, at.start)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on at the sample after those that had been taken; of a stream they are read and passed over.

        Raises:
            TypeError: the state is no dict, or a number in it is None.
            ValueError: it is of another order, or says no place of this one.
        """
        place = _Place(*(self.order.resume(state) if self.order else place_of("Loader", state)))
        self.close()
        self._next = self._at = place

    def close(self) -> None:
        """Stop the threads of an epoch that was not taken to its end; returns when they have ended.

        From any thread: one that waits for a batch gets no more. Not from a finaliser, where waiting may be a
        deadlock: to drop the iterator is enough to stop the threads.
        """
        if running := self._running and self._running():
            running.close()
        self._wait()

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Batch]:
        """The batches of the next epoch.

        There is one at a time: an iterator that is asked for more after another was begun raises a
        RuntimeError. So does one that a forked process inherits.
        """
        return self._begun(_Epoch(self, self._prepared, self._finished))

    def planned(self) -> Iterator[Assembled]:
        """As `iter`, but pixels and plans: images on the device, all else on the host; what `sink` takes."""
        return self._begun(_Epoch(self, self._assembled, self._moved))

    def _begun(self, epoch: _Epoch) -> _Epoch:
        if running := self._running and self._running():
            running.displace()
        self._running = ref(epoch)  # weak: a loop that is left drops its iterator, which stops the threads
        return epoch

    def _begin(
        self, prepare: Callable[[_Task, Stop], tuple[int, Assembled]]
    ) -> tuple[_Place, Crew[_Task, tuple[int, Assembled]]]:
        """What the next epoch is and who prepares it, once the threads of the last one have ended."""
        self._wait()
        self._warn()
        place = self._at = self._next
        self._next = _Place(place.epoch + 1)
        self._tuner.begin()
        self._workers = []
        crew = Crew(
            prepare,
            self._tasks(place),
            *self._tuner.settings,
            cores=self._cores,
            watch=self._assembler.watch,
            workers=self._workers,
        )
        return place, crew

    def _end(self) -> None:
        """An epoch was taken to its end."""
        self._at = self._next
        self._warn()

    def _wait(self) -> None:
        for worker in tuple(self._workers):
            worker.wait()

    def _tasks(self, place: _Place) -> _Tasks:
        source: Any = self._assembler.source
        if hasattr(source, "set_epoch"):
            source.set_epoch(place.epoch)
        if self.order is None:
            items: Iterator[Any] = iter(source)
            passed = sum(1 for _ in islice(items, place.start))
            if passed < place.start:
                raise ValueError(
                    f"Loader: expected a stream of {place.start} samples or more, but got {passed}"
                )
        else:
            items = iter(self.order.indices(place.epoch, place.start).tolist())
        return _Tasks(items, place.epoch, self.batch_size, self.drop_last)

    def _prepared(self, task: _Task, stopped: Stop) -> tuple[int, Assembled]:
        """What a thread does of a batch: everything on the CPU, all up to the copy on CUDA."""
        taken, batch = self._assembled(task, stopped)
        if self.device.type == "cuda":
            return taken, batch._replace(targets=pinned(batch.targets))
        return taken, self._augmented(batch)

    def _assembled(self, task: _Task, stopped: Stop) -> tuple[int, Assembled]:
        wanted, epoch = task
        with self._staging.beside():  # for what is decoded on the device
            batch = self._assembler(wanted, epoch, stopped)
        targets = arrays_as_tensors(batch.targets)
        return len(wanted), batch._replace(targets=self.collate(targets) if targets else {})

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

    def _warn(self) -> None:
        """Of the bad samples since the last warning."""
        faults = self.faults[self._warned :]
        self._warned += len(faults)
        if faults:
            listed = "".join(f"\n  {fault}" for fault in faults[:_LISTED])
            more = f"\n  and {len(faults) - _LISTED} more; see Loader.faults" if len(faults) > _LISTED else ""
            done = "replaced" if self._assembler.on_error == "substitute" else "skipped"
            text = f"Loader: {len(faults)} bad samples were {done}:{listed}{more}"
            warnings.warn(text, stacklevel=_IN_LOOP)


def _short(error: BadSample | SourceError) -> BadSample | SourceError:
    """The error without frames and causes, which are in its `details` as text."""
    error.details = "".join(format_exception(error))
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)


def _check_length(order: Order, length: int | None) -> None:
    if length is None:
        raise ValueError("Loader: expected a source with an index for order")
    if order.length != length:
        raise ValueError(f"Loader: expected order of length {length}, as source, but got {order.length}")
