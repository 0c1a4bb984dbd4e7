"""Loader: threads read, decode and augment batches ahead of the model."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from functools import partial
from typing import Any, NamedTuple
from weakref import ReferenceType, ref

import torch
from torch import Tensor

from orbbec.batch import YCbCrBatch
from orbbec.batch import collate as default_collate
from orbbec.batch.collate import collate_columns, collate_targets
from orbbec.bridge.plain import shown
from orbbec.data.cache import Cache, CachedSource
from orbbec.data.concat import with_distinct_ids
from orbbec.data.decode.decoding import Decoding
from orbbec.data.device.staging import Staging, arrays_as_tensors, pinned, to_device
from orbbec.data.epochs import with_epochs
from orbbec.data.files import ColumnTargets
from orbbec.data.loader.assemble import ON_ERROR, Assembled
from orbbec.data.loader.by_feed import FeedAssembler, feed_for
from orbbec.data.loader.epoch import Epoch, Progress
from orbbec.data.loader.memory import Job, MemoryBudget, default_limit
from orbbec.data.loader.queues import Crew, Promise, Stop, Worker
from orbbec.data.loader.report import Report, fault_report
from orbbec.data.loader.tasks import IndexTasks, StreamTasks, Task
from orbbec.data.loader.threads import node_cores, thread_budget
from orbbec.data.loader.tune import tuner_for
from orbbec.data.loader.views import applied, in_colors, result_bytes
from orbbec.data.order import Order, position_of
from orbbec.data.sample import Fault
from orbbec.data.sampling.copies import Copies
from orbbec.data.sampling.multi_scale import MultiScale
from orbbec.data.sampling.orders import has_copies, order_for, order_of_rank
from orbbec.data.sampling.sampling import Sampling
from orbbec.transforms import Compose, MultiView, Transform
from orbbec.transforms.base.checks import choice, flag, whole

_WARM_UP = 3  # steps
_IN_LOOP = 4  # stack frames between the warning and the training loop


class Batch(NamedTuple):
    """A batch of a Loader."""

    images: Any
    targets: Any
    sample_ids: Tensor


class Loader:
    """Batches of augmented images on a device, prepared by threads while the model works.

    C++ threads read and decode images; a few Python threads plan batches from the image headers, so that only
    the regions that a plan reads are decoded. On CUDA, a batch is copied once from page-locked memory and
    augmented on a side stream, one batch ahead of the model; on the CPU, the Python threads augment it too.
    The result of a sample depends only on seed, epoch and sample id.

    Memory: at most `threads + prefetch` batches of decoded pixels (on the CPU: of results), and at most
    `memory` bytes, plus two batches of results on CUDA. If the device decodes, the pixels are in its memory.
    A batch of more than half of `memory` is decoded in pieces of at most a quarter of it and at most 256 MiB,
    or of one image. On CUDA it is put together on the device; on the CPU each piece is augmented, unless the
    transforms mix images. Settings of "auto" are tuned during the first steps from queue stalls; batches and
    their order do not change.

    Epochs: each `iter` starts the next epoch, beginning with 0, whether the previous one was finished or left
    by `break`, an exception or `close`. A loop that breaks after N batches therefore sees other samples each
    time. An epoch begins when its first batch is requested; an unused iterator does not count. `set_epoch(n)`
    makes n the next epoch, also if it was used before, and counting continues from there. `state_dict`
    describes the progress of the last epoch, also after `break`, until another epoch begins or is set. After
    `load_state_dict`, the next `iter` yields the rest of that epoch, unless `set_epoch` selects another; the
    epoch after it is complete.

    A copy of a loader (`copy`, `deepcopy`, `pickle`) is a loader with the same arguments that has loaded this
    one's `state_dict`; it begins with its own threads, faults and report.

    Args:
        source: samples by index (see `Source`), or an iterable of samples, which keeps its order and is read
            by a thread of its own. Different images need different sample ids, since those with one id are
            augmented alike; in a `ConcatDataset` of torch they get them, see `orbbec.data.concat`.
        batch_size: images per batch.
        transforms: a `Compose`, or transforms in order, with `seed`; a `MultiScale`, which draws a size per
            batch; or a `MultiView`, whose images and targets are lists, one entry per view, and for which an
            image is decoded once. None: batches are `ImageBatch`es. Of samples of several images (see
            `SeveralImages`), the images of a batch are a dict by name.
        device: device of the batches.
        threads: number of threads that decode; "auto": as many as the model needs, limited by the cores and
            control group of this rank, less one on CUDA, and by OMP_NUM_THREADS unless it is torchrun's 1.
        prefetch: batches that may wait for the model; "auto": 2, or up to 8 if batch times vary.
        seed: seed of the order, and of transforms that are not a `Compose`.
        shuffle: shuffle anew in each epoch; streams are not shuffled.
        drop_last: drop the last samples if `batch_size` or the number of ranks does not divide their number.
            Otherwise ranks with one sample less repeat a first sample of the epoch, so that all ranks have
            equally many batches.
        order: an `Order` of as many samples as `source` has, or one of the following. A sampling, such as
            `Repeats`, `Weights`, `Mixture` or `Buckets`. A sampler of torch or of another program, which
            gives indices or, for each batch, a list of indices, and distributes over ranks itself;
            `set_epoch` is called if it exists. None: the order follows from `seed` and `shuffle`. Orders of a
            sampling, and of None, are over the ranks of the process group or, before it is initialized, of
            torchrun's environment variables.
        on_error: "raise" for a bad sample; "skip" it, which makes the batch smaller; or "substitute" the next
            good sample of the source. Skipped and replaced samples are listed in `faults` and in a warning
            at the end of the epoch, or at the start of the next if the epoch was left early.
        decoding: how images are decoded.
        collate: converts a list of dicts, with numeric arrays as tensors, to the targets of a batch. The
            default gives a dict of tensors and lists; `list` keeps the dicts, as torchvision's detectors
            expect.
        cache: where samples are kept after they were read; None: nowhere. Not for streams, and not for
            sources with `set_epoch`, whose samples may change.
        memory: most bytes of decoded pixels, and on the CPU of results, of batches that the model has not got
            yet. The next batch gets what it needs, even beyond that. None: a quarter of the memory
            of the machine or the control group, shared by the ranks of a launcher, up to 8 GiB.
        numa: NUMA node on whose cores the threads run, ideally that of the GPU; None: no binding.
        pairs: "batch" mixes images of a batch. "source" gives each image of a mix (such as `Mosaic`)
            pair images of its own, drawn from the whole source by seed, epoch and index, as YOLO does. Those
            of a later mix are mixed with pairs of their own before, such as mosaics that `MixUp` mixes. All
            are read in addition, and those that are mixed are decoded and transformed up to the mix; a bad
            one is an error, or with "skip" and "substitute" the next good sample takes its place.

    Example:
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
        transforms: Compose | MultiView | MultiScale | Sequence[Transform] | None = None,
        device: torch.device | str = "cpu",
        *,
        threads: int | str = "auto",
        prefetch: int | str = "auto",
        seed: int = 0,
        shuffle: bool = True,
        drop_last: bool = False,
        order: Order | Sampling | Iterable[Any] | None = None,
        on_error: str = "raise",
        decoding: Decoding | None = None,
        collate: Callable[[list[dict[str, Any]]], Any] = default_collate,
        cache: Cache | None = None,
        memory: int | None = None,
        numa: int | None = None,
        pairs: str = "batch",
    ) -> None:
        arguments = locals()
        self._arguments = {name: value for name, value in arguments.items() if name != "self"}
        choice("Loader", "on_error", on_error, ON_ERROR)
        shuffle, drop_last = flag("Loader", "shuffle", shuffle), flag("Loader", "drop_last", drop_last)
        if isinstance(source, (str, os.PathLike)):
            raise TypeError(f"Loader: expected a source, but got the path {source}: use open_source(path)")
        self._is_indexed = hasattr(source, "__getitem__") and hasattr(source, "__len__")
        if not (hasattr(source, "__iter__") or hasattr(source, "__getitem__")):
            raise TypeError(f"Loader: expected a source or an iterable of samples, but got {shown(source)}")
        if not self._is_indexed and on_error == "substitute":
            raise ValueError("Loader: expected a source with an index for on_error='substitute'")
        self.batch_size = whole("Loader", "batch_size", batch_size, 1)
        of_rank = partial(order_of_rank, seed=seed, shuffle=shuffle, drop_last=drop_last)
        self.order = order_for(order, len(source) if self._is_indexed else None, of_rank, self.batch_size)
        if not callable(collate):
            raise TypeError(f"Loader: expected collate as a function, but got {shown(collate)}")
        self.drop_last, self.collate = drop_last, collate
        try:
            self.device = torch.device(device)
        except RuntimeError as error:
            raise ValueError(f"Loader: expected device as a torch device, but got {shown(device)}") from error
        limit = default_limit() if memory is None else whole("Loader", "memory", memory, 1)
        self._memory = MemoryBudget(limit)
        self._cores = [] if numa is None else node_cores(numa)
        on_cuda = self.device.type == "cuda"
        self._tuner = tuner_for(threads, prefetch, thread_budget(cores=self._cores, on_cuda=on_cuda))
        self._scales = transforms if isinstance(transforms, MultiScale) else None
        if isinstance(transforms, MultiScale):
            transforms = transforms.pipelines[0]
        if transforms is not None and not isinstance(transforms, (Compose, MultiView)):
            transforms = Compose(transforms, seed)
        has_pairs = choice("Loader", "pairs", pairs, ("batch", "source")) == "source"
        has_mixes = isinstance(transforms, Compose) and any(transforms.others(None))
        if has_pairs and not (self._is_indexed and has_mixes):
            raise ValueError(
                "Loader: expected a source with an index, and transforms that mix images, for pairs='source'"
            )
        decoding = Decoding() if decoding is None else decoding
        for name, value, kind in (("decoding", decoding, Decoding), ("cache", cache, Cache | None)):
            if not isinstance(value, kind):
                raise TypeError(f"Loader: expected {name} as a {name.title()}, but got {value!r:.80}")
        decoder = decoding.decoder_on(self.device)
        self._cached = None if cache is None else self._cached_source(source, cache, decoding)
        source = source if self._cached is None else self._cached
        source = Copies(with_distinct_ids(source)) if has_copies(self.order) else source
        feed = feed_for(decoding, self.device, self.threads, self._cores)
        large = self.device if on_cuda and not (decoding.by_nvimgcodec or decoding.by_kernels) else None
        planes_device = self.device if decoding.by_kernels else None
        self._assembler = FeedAssembler(
            *(source, transforms, decoding, on_error, on_cuda, decoder, large, planes_device, has_pairs),
            feed=feed,
        )
        self._assemblers = self._of_scales()
        self._first_step = 0  # of the running epoch
        self._staging = Staging(self.device)
        self._next = self._at = Progress(0)  # for `iter` and for `state_dict`
        self._images = self._warned = 0
        self._synthetic = 0.0
        self._running: ReferenceType[Epoch] | None = None
        self._workers: list[Worker] = []  # threads of the last epoch, which may have been dropped

    def _of_scales(self) -> list[FeedAssembler]:
        """An assembler for each pipeline of a `MultiScale`."""
        pipelines = [self._assembler.transforms] if self._scales is None else self._scales.pipelines
        assemblers = [self._assembler, *(copy(self._assembler) for _ in pipelines[1:])]
        for assembler, pipeline in zip(assemblers, pipelines, strict=True):
            assembler.transforms = pipeline
        return assemblers

    def _cached_source(self, source: Any, cache: Cache, decoding: Decoding) -> CachedSource:
        if not self._is_indexed or with_epochs(source):
            raise ValueError("Loader: expected a source with an index, and without set_epoch, for cache")
        special = decoding.shrink or decoding.makes_planes or decoding.by_nvimgcodec or decoding.is_unchanged
        if cache.decoded and special:
            raise ValueError(
                "Loader: a decoded cache expects decoding without shrink, planes, device and UNCHANGED"
            )
        return CachedSource(with_distinct_ids(source), cache, decoding, decoding.whole)

    @property
    def threads(self) -> int:
        """The current number of threads."""
        return self._tuner.settings.threads

    @property
    def prefetch(self) -> int:
        """The current number of batches that may wait for the model."""
        return self._tuner.settings.prefetch

    @property
    def faults(self) -> list[Fault]:
        """The bad samples that were skipped or replaced, in all epochs."""
        return self._assembler.faults

    @property
    def seconds(self) -> dict[str, float]:
        """Seconds by activity, summed over all threads; "wait" and "step" are the model's.

        On CUDA, "hidden" is the part of "wait" at whose end the device still had work.
        """
        return dict(self._assembler.watch.seconds)

    def report(self) -> Report:
        """A time report since the loader was made. `print` it, or show its `line` in a progress bar."""
        spent = self.seconds
        seconds = spent.get("wait", 0.0) + spent.get("step", 0.0)
        waited = max(spent.get("wait", 0.0) - spent.get("hidden", 0.0), 0.0)
        measured = self._images, seconds, waited, spent, self.threads, self._synthetic, self._tuner.budget
        cached = None if self._cached is None else self._cached.hit_rate
        names = ("device", "host", "pairs", "decoded pairs")
        counts = [self._assembler.watch.counts.get(name, 0) for name in names]
        return Report(*measured, cached, self._memory.most, *counts)

    def synthetic(self, batch: Batch, steps: int = 20) -> Iterator[Batch]:
        """Repeat one batch as fast as the model takes it: an upper bound for any loader.

        Afterwards `report` states the fraction of this bound that is reached.

        Args:
            batch: a batch of this loader.
            steps: number of repetitions; the first three are not timed. On CUDA, timing synchronizes the
                device.
        """
        for step in range(_WARM_UP + whole("Loader.synthetic", "steps", steps, 1)):
            if step == _WARM_UP:
                began = self._staging.time()
            yield batch
        self._synthetic = steps * len(batch.sample_ids) / (self._staging.time() - began)

    def settings(self) -> str:
        """The numbers of threads and batches ahead as JSON, for `Loader(**json.loads(text))`."""
        return json.dumps({"threads": self.threads, "prefetch": self.prefetch})

    def __len__(self) -> int:
        """The number of batches in the current epoch, or in the next one if none is open.

        A resumed epoch counts as a whole. Fewer batches come if all samples of a batch are skipped.
        """
        return self._count(0)

    def _count(self, start: int | None = None) -> int:
        """The number of batches of this epoch from sample `start` on; None: from where it begins."""
        if self.order is None:
            raise TypeError("Loader: a stream has no length")
        running = self._running and self._running()
        at = (running and running.open_progress) or self._next
        first = at.start if start is None else start
        return len(self.order.bounds(at.epoch, first, self.batch_size, self.drop_last)) - 1

    def set_epoch(self, epoch: int) -> None:
        """Set the next epoch; otherwise epochs count up.

        If it is the epoch of `load_state_dict`, that epoch is resumed.
        """
        epoch = whole("Loader", "epoch", epoch, 0)
        if epoch != self._next.epoch:
            self._next = Progress(epoch)
        self._at = self._next

    def state_dict(self) -> dict[str, Any]:
        """The state of the ranks after the batches taken; waiting batches do not count."""
        at = self._at
        if self.order is None:
            return {"epoch": at.epoch, "start": at.start + at.delivered}
        return self.order.state_dict(at.epoch, at.delivered, at.start)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume after the samples that had been taken; a stream reads and skips them.

        Raises:
            TypeError: the state is not a dict, or a number in it is None.
            ValueError: the state belongs to another order, or its position is invalid.
        """
        progress = Progress(*(self.order.resume(state) if self.order else position_of("Loader", state)))
        self.close()
        self._next = self._at = progress

    def close(self) -> None:
        """Stop the threads of an unfinished epoch and wait until they have ended.

        May be called from any thread; a thread waiting for a batch gets none. Do not call it from a
        finalizer, where waiting could deadlock; dropping the iterator is enough to stop the threads.
        """
        if running := self._running and self._running():
            running.close()
        self._wait()

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return _resumed, (type(self), self._arguments, self.state_dict())

    def __iter__(self) -> Iterator[Batch]:
        """The batches of the next epoch.

        Only one epoch is open at a time: an older iterator raises a RuntimeError when asked for more, and so
        does an iterator inherited through a fork.
        """
        return self._begun(Epoch(self, self._prepared, self._finished))

    def planned(self) -> Iterator[Assembled]:
        """Like `iter`, without applying plans: images on the device, the rest on the host, for `sink`."""
        if isinstance(self._assembler.transforms, MultiView):
            raise TypeError("Loader.planned: expected a Compose, but got a MultiView")
        return self._begun(Epoch(self, self._assembled, self._moved))

    def _begun(self, epoch: Epoch) -> Epoch:
        if running := self._running and self._running():
            running.displace()
        self._running = ref(epoch)  # weak: leaving a loop drops its iterator, which stops the threads
        return epoch

    def _begin(
        self, prepare: Callable[[Task, Stop], tuple[int, Assembled]]
    ) -> tuple[Progress, Crew[Task, tuple[int, Assembled]]]:
        """Begin the next epoch after the threads of the last one have ended."""
        self._wait()
        self._warn()
        progress = self._at = self._next
        self._next = Progress(progress.epoch + 1)
        self._tuner.begin()
        self._workers = []
        self._memory = MemoryBudget(self._memory.limit, self._memory.most)
        crew = Crew(
            prepare,
            self._tasks(progress),
            *self._assembler.crew(*self._tuner.settings, self.batch_size),
            resource=self._assembler.feed,
            cores=self._cores,
            watch=self._assembler.watch,
            workers=self._workers,
        )
        return progress, crew

    def _end(self) -> None:
        """Note that an epoch was finished."""
        self._at = self._next
        self._warn()

    def _wait(self) -> None:
        for worker in tuple(self._workers):
            worker.wait()

    def _tasks(self, progress: Progress) -> Iterator[Task]:
        source: Any = self._assembler.source
        epoch, start = progress.epoch, progress.start
        for part in with_epochs(source):
            part.set_epoch(epoch)
        batches = self.batch_size, self.drop_last
        if self.order is None:
            self._first_step = start // self.batch_size
            return StreamTasks(source, epoch, start, *batches, self._workers)
        indices, bounds = self.order.indices(epoch, start), self.order.bounds(epoch, start, *batches)
        self._first_step = self.order.step_of(start, self.batch_size)
        return IndexTasks(indices, epoch, bounds)

    def _prepared(self, task: Task, stopped: Stop) -> tuple[int, Assembled]:
        """A thread's work on a batch: everything on the CPU, everything up to the copy on CUDA."""
        taken, batch = self._assembled(task, stopped, augments=self.device.type != "cuda")
        if self.device.type == "cuda":
            targets, sample_ids = pinned((batch.targets, batch.sample_ids))
            return taken, batch._replace(targets=targets, sample_ids=sample_ids)
        job = Job(stopped, self._memory, task[2])
        pixels, results = _bytes_of(batch.images), _result_bytes(batch)
        job.take(pixels + results)
        batch = self._augmented(batch)
        job.take(results or pixels)
        return taken, batch

    def _assembled(self, task: Task, stopped: Stop, augments: bool = False) -> tuple[int, Assembled]:
        items, epoch, number = task
        scale = 0 if self._scales is None else self._scales.number(epoch, self._first_step + number)
        if isinstance(items, Promise):
            with self._assembler.watch.timing("read"):
                items = items.take()
        with self._staging.on_side_stream():  # for decoding on the device
            batch = self._assemblers[scale](items, epoch, Job(stopped, self._memory, number, augments))
        return len(items), batch._replace(targets=self._collated(batch.targets))

    def _collated(self, targets: Any) -> Any:
        if isinstance(targets, tuple):  # of each view
            return [self._collated(view) for view in targets]
        if isinstance(targets, ColumnTargets) and self.collate is default_collate:
            return collate_columns(targets.columns)
        tensors = arrays_as_tensors(list(targets))
        collate = collate_targets if self.collate is default_collate else self.collate
        return collate(tensors) if tensors else {}

    def _moved(self, batch: Assembled) -> Assembled:
        if isinstance(batch.plan, dict):
            raise TypeError("Loader.planned: expected samples of one image, but got several")
        with self._assembler.watch.timing("copy"):
            batch = batch._replace(images=to_device(batch.images, self.device))
        return self._in_colors(batch)

    def _finished(self, batch: Assembled) -> Batch:
        with self._assembler.watch.timing("copy"):
            batch = to_device(batch, self.device)
        return Batch(*self._augmented(batch)[:3])

    def _augmented(self, batch: Assembled) -> Assembled:
        if batch.plan is None:
            return self._in_colors(batch)
        with self._assembler.watch.timing("augment"):
            images = applied(self._assembler.transforms, batch.plan, batch.images)
            return batch._replace(images=images, plan=None)

    def _in_colors(self, batch: Assembled) -> Assembled:
        """Convert planes to RGB on their device."""
        if not isinstance(batch.images, YCbCrBatch):
            return batch
        with self._assembler.watch.timing("augment"):
            return batch._replace(images=in_colors(batch.images))

    def _warn(self) -> None:
        """Warn of the bad samples since the last warning."""
        faults = self.faults[self._warned :]
        self._warned += len(faults)
        if faults:
            text = fault_report(faults, self._assembler.on_error)
            warnings.warn(text, stacklevel=_IN_LOOP)


def _bytes_of(images: Any) -> int:
    return sum(image.nbytes for image in images) if isinstance(images, list) else int(images.nbytes)


def _result_bytes(batch: Assembled) -> int:
    """The bytes of the results of a batch; 0 if its images stay as they are."""
    images, nbytes = batch.images, result_bytes(batch.plan)
    return nbytes or (images.pixel_bytes if isinstance(images, YCbCrBatch) else 0)


def _resumed(kind: type[Loader], arguments: dict[str, Any], state: dict[str, Any]) -> Loader:
    loader = kind(**arguments)
    loader.load_state_dict(state)
    return loader
