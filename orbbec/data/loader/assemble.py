"""One task of a Loader: read the samples of a batch, plan, decode the regions that the plan needs, pack.

::

    read --> sizes from the headers --> plan --> regions that it reads, decoded --> one packed ImageBatch
                                                 or planes of whole JPEGs       --> one packed YCbCrBatch
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from traceback import extract_tb
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import torch
from torch import Tensor

from orbbec.batch import ImageBatch, YCbCrBatch
from orbbec.batch.image_batch import empty_on_host
from orbbec.bridge.arguments import Array
from orbbec.data.concat import check_ids, with_distinct_ids
from orbbec.data.decode.decode import (
    decode_region,
    planes_header,
    region_header,
)
from orbbec.data.decode.jpeg_header import JpegHeader
from orbbec.data.decode.modes import CHANNELS, Pixels
from orbbec.data.decode.native import has_native
from orbbec.data.decode.nvimgcodec import BatchDecoder
from orbbec.data.decode.orientation import Rectangle
from orbbec.data.decode.planes import empty_planes, write_planes
from orbbec.data.decode.region import Regions
from orbbec.data.loader.clips import as_images, clip_targets, clips_of, frame_count, groups_of
from orbbec.data.loader.decoding import Decoding
from orbbec.data.loader.entries import Attempt, Bad, Opened
from orbbec.data.loader.memory import Job
from orbbec.data.loader.pieces import Pieces
from orbbec.data.loader.queues import Stopped
from orbbec.data.loader.stopwatch import Stopwatch
from orbbec.data.loader.views import Plans, for_regions, read_by
from orbbec.data.placed import PLACED, check_placed
from orbbec.data.sample import BadSample, Fault, Sample, SourceError
from orbbec.plan import Plan
from orbbec.transforms import Compose, MultiView, transform_targets

ON_ERROR = ("raise", "skip", "substitute")
_TRIES = 100  # substitutes


class Assembled(NamedTuple):
    """A batch on the host whose plan has not been applied yet."""

    images: Any
    targets: Any
    sample_ids: torch.Tensor  # int64 [N]
    plan: Plans


Group: TypeAlias = list[Opened | Bad]  # the images of a sample: one, or the frames of a clip
_Item = TypeVar("_Item")


@dataclass
class Assembler:
    """Makes batches; thread-safe.

    Args:
        source: samples by index. For a stream, the call receives the samples themselves.
        transforms: planned for each batch; None: images are unchanged.
        decoding: how images are decoded.
        on_error: handling of bad samples: "raise", "skip", or "substitute" the next good sample.
        pin_memory: pack into page-locked memory.
        decoder: decodes whole batches on a device; None: images are decoded one by one on the host.
        device: where batches too large for the host are put together; None: nowhere.
    """

    source: Any
    transforms: Compose | MultiView | None
    decoding: Decoding
    on_error: str
    pin_memory: bool
    decoder: BatchDecoder | None = None
    device: torch.device | None = None
    watch: Stopwatch = field(default_factory=Stopwatch)
    faults: list[Fault] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.source = with_distinct_ids(self.source)
        self._known_bad: tuple[int, set[int]] = (0, set())  # epoch, and indices found bad in it

    def __call__(self, wanted: Sequence[int | Sample | BadSample], epoch: int, job: Job) -> Assembled:
        """Make a batch. It is smaller, or empty, if samples are skipped.

        Raises:
            BadSample: a sample is bad, or its image or targets do not fit the transforms, and `on_error` is
                "raise" or there is no substitute.
            ValueError: the samples do not fit the transforms together, or two images have one sample id; the
                message names them.
            SourceError: the source raised another error; the message names the sample.
            Stopped: the event was set.
        """
        return self._assembled(self._settled(self._open(wanted, job), epoch), None, epoch, job)

    def _assembled(self, opened: list[Opened], failed: Attempt | None, epoch: int, job: Job) -> Assembled:
        """A batch of samples, of which some may have been decoded by an attempt that failed for others."""
        while opened:
            samples = [group[0] for group in groups_of(opened)]
            check_ids([entry.position for entry in samples], [entry.sample for entry in samples])
            try:
                plan, targets = self._planned(opened, epoch)
            except ValueError as error:
                opened = self._settled(self._unplanned(opened, epoch, error), epoch)
                continue
            can_shrink = np.array([entry.header is not None for entry in opened])
            regions = self._regions(plan, can_shrink)
            attempt, changed = self._attempted(opened, regions, failed, job)
            if not any(changed):
                plan = for_regions(plan, regions)
                ids = ids_tensor([entry.sample.sample_id for entry in samples])
                return Assembled(clips_of(attempt.batch, opened), targets, ids, plan)
            opened = self._settled(groups_of(opened, changed), epoch)
            failed = attempt if attempt.buffers else None
            del attempt  # of pieces: not two on the device
        return Assembled(ImageBatch.of_sizes([], CHANNELS[self.decoding.mode]), [], ids_tensor([]), None)

    def _open(self, wanted: Sequence[int | Sample | BadSample], job: Job) -> list[Group]:
        """Read samples: their headers if regions can be decoded later, otherwise their pixels."""
        return [self._open_item(item) for item in until(job, wanted)]

    def _open_item(self, item: int | Sample | BadSample) -> Group:
        try:
            with self.watch.timing("read"):
                images = [(image, self._header(image)) for image in as_images(self._read(item))]
            return [self._opened(item, *image) for image in images]
        except BadSample as error:
            return [self._bad(item, error)]

    def _opened(
        self,
        item: int | Sample | BadSample,
        sample: Sample,
        header: JpegHeader | None = None,
        pixels: Pixels | None = None,
    ) -> Opened:
        """A sample with its header or its pixels, to which its targets belong; raises BadSample otherwise."""
        if header is None and pixels is None:
            pixels = self._whole(sample)
        entry = Opened(_position(item), sample, header, pixels)
        with _named(sample):
            check_placed(sample, entry.size)
        return entry

    def _read(self, item: int | Sample | BadSample) -> Sample:
        if isinstance(item, BadSample):  # streams yield it and continue
            raise item
        return self._of_source(item) if isinstance(item, int) else item

    def _of_source(self, index: int) -> Sample:
        try:
            sample = self.source[index]
        except BadSample:
            raise
        except Exception as error:
            where = _raised_in(error)
            text = f"Loader: sample {index} raised {type(error).__name__}: {error}{where}"
            raise SourceError(text) from error
        if not isinstance(sample, Sample):
            kind = type(sample).__name__
            raise TypeError(
                f"Loader: expected a Sample, but sample {index} is a {kind}: use as_source or open_source"
            )
        return sample

    def _header(self, sample: Sample) -> JpegHeader | None:
        wanted = self.decoding
        if not isinstance(sample.data, bytes):
            return None
        with _named(sample):
            if self.decoder is not None:
                return self.decoder.header(sample.data, wanted.max_pixels, wanted.on_damage)
            if not self._decodes_later:
                return None
            header_of = planes_header if wanted.planes else region_header
            return header_of(
                sample.data,
                wanted.mode,
                wanted.max_pixels,
                wanted.on_damage,
                wanted.apply_exif_orientation,
            )

    @property
    def _decodes_later(self) -> bool:
        """Whether JPEGs are decoded after planning."""
        has_regions = self.decoding.roi and self.transforms is not None
        return has_regions or self.decoding.planes or self.device is not None

    def _whole(self, sample: Sample) -> Pixels:
        assert not isinstance(sample.data, tuple)
        with _named(sample), self.watch.timing("decode"):
            return self.decoding.whole(sample.data)

    def _attempted(
        self, opened: list[Opened], regions: Regions | None, failed: Attempt | None, job: Job
    ) -> tuple[Attempt, list[Opened | Bad | None]]:
        """Decode a batch; returns also what proved other than its header says, by row."""
        sizes: Any = [entry.size for entry in opened] if regions is None else regions.sizes
        if self._is_large(sizes, job):
            pieces = Pieces(sizes, CHANNELS[self.decoding.mode], self.device, job)
            return self._attempted_in_pieces(opened, regions, pieces, job)
        attempt = self._attempt(opened, regions, partial(job.empty, pin_memory=self.pin_memory))
        done = attempt.copy_from(failed) if failed and failed.buffers else set()
        return attempt, self._decode(attempt, done, job)

    def _is_large(self, sizes: Any, job: Job) -> bool:
        """Whether a batch is put together on its device."""
        nbytes = CHANNELS[self.decoding.mode] * int(np.prod(sizes, axis=1).sum())
        return self.device is not None and job.is_large(nbytes)

    def _attempted_in_pieces(
        self, opened: list[Opened], regions: Regions | None, pieces: Pieces, job: Job
    ) -> tuple[Attempt, list[Opened | Bad | None]]:
        changed = []
        for images in pieces.slices():
            part = regions and regions.rows(images)
            attempt = self._attempt(opened[images], part, partial(empty_on_host, pin_memory=self.pin_memory))
            changed += self._decode(attempt, set(), job)
            pieces.copy(images, attempt.batch.storage)
        return Attempt(opened, pieces.batch, [], regions), changed

    def _attempt(
        self, opened: list[Opened], regions: Regions | None, empty: Callable[[int], Tensor]
    ) -> Attempt:
        """Memory for the pixels of a batch."""
        if self.decoding.planes:
            planes = empty_planes([entry.stored for entry in opened], empty)
            return Attempt(opened, planes, buffers_of(planes), None)
        sizes: Any = [entry.size for entry in opened] if regions is None else regions.sizes
        if self.decoder is not None:
            empty = self.decoder.empty_bytes
        batch = ImageBatch.of_sizes(sizes, CHANNELS[self.decoding.mode], empty=empty)
        return Attempt(opened, batch, buffers_of(batch) if self.decoder is None else batch.images(), regions)

    def _decode(self, attempt: Attempt, done: set[int], job: Job) -> list[Opened | Bad | None]:
        """Write the pixels of all rows but those `done`; returns what proved other than its header says."""
        rows = [row for row in range(len(attempt.opened)) if row not in done]
        result: list[Opened | Bad | None] = [None] * len(attempt.opened)
        if self.decoder is not None:
            good = self._decode_on_device(self.decoder, attempt, rows)
        else:
            good = self._write_all(attempt, rows, job)
        for row, is_good in zip(rows, good, strict=True):
            result[row] = None if is_good else self._on_host(attempt.opened[row])
        return result

    def _decode_on_device(self, decoder: BatchDecoder, attempt: Attempt, rows: Sequence[int]) -> list[bool]:
        pairs = [(attempt.opened[row], attempt.buffers[row]) for row in rows]
        for entry, buffer in pairs:
            if entry.pixels is not None:
                buffer.copy_(torch.from_numpy(np.require(entry.pixels, requirements="W")))
        encoded: list[Any] = [(entry.sample.data, buffer) for entry, buffer in pairs if entry.pixels is None]
        with self.watch.timing("decode"):
            done = iter(decoder.decode_into(encoded))
        return [entry.pixels is not None or next(done) for entry, _ in pairs]

    def _write_all(self, attempt: Attempt, rows: Sequence[int], job: Job) -> list[bool]:
        """Write the pixels of some rows; returns which could be decoded."""
        if not isinstance(attempt.batch, YCbCrBatch):
            return [self._write(attempt, row) for row in until(job, rows)]
        samplings = attempt.batch.samplings
        return [self._write_planes(attempt, row, samplings[row]) for row in until(job, rows)]

    def _write_planes(self, attempt: Attempt, row: int, sampling: str) -> bool:
        with self.watch.timing("decode"):
            return write_planes(attempt.opened[row].stored, sampling, attempt.buffers[row])

    def _write(self, attempt: Attempt, row: int) -> bool:
        """Write the region of an image that the plan reads; returns whether it could be decoded."""
        entry, pixels, (part, shrink) = attempt.opened[row], attempt.buffers[row], attempt.region(row)
        if entry.pixels is not None:
            pixels[...] = entry.pixels if part is None else part.of(entry.pixels)
            return True
        assert entry.header is not None
        whole = Rectangle(0, 0, pixels.shape[1], pixels.shape[0])
        data: Any = entry.sample.data
        try:
            with self.watch.timing("decode"):
                mode = self.decoding.mode
                decode_region(data, entry.header, part or whole, shrink=shrink, mode=mode, out=pixels)
            return True
        except ValueError:
            return False

    def _on_host(self, entry: Opened) -> Opened | Bad:
        """An entry that the fast path could not decode; Pillow decides whether it is bad."""
        try:
            return self._opened(entry.position, entry.sample)
        except BadSample as error:
            return self._bad(entry.position, error)

    def _bad(self, item: int | Sample | BadSample, error: BadSample) -> Bad:
        """The record of a bad sample, for policies that continue after it."""
        if self.on_error == "raise":
            raise error
        return Bad(_position(item), Fault.of(error))

    def _settled(self, groups: Sequence[Group], epoch: int) -> list[Opened]:
        """Apply the error policy; a clip of which a frame is bad is a bad sample."""
        known = self._bad_indices(epoch)
        known.update(entry.position for group in groups for entry in group if isinstance(entry, Bad))
        result: list[Opened] = []
        for group in groups:
            good = [entry for entry in group if isinstance(entry, Opened)]
            bad = next((entry for entry in group if isinstance(entry, Bad)), None)
            if bad is None:
                result += good
                continue
            self.faults.append(bad.fault)
            if self.on_error == "substitute":
                result += self._substitute(bad, epoch, known)
        return result

    def _bad_indices(self, epoch: int) -> set[int]:
        """The indices found bad in this epoch: no substitutes, and not worth another read."""
        if self._known_bad[0] != epoch:
            self._known_bad = epoch, set()
        return self._known_bad[1]

    def _substitute(self, bad: Bad, epoch: int, known: set[int]) -> Sequence[Opened]:
        """The next good sample of the source, whole."""
        for step in range(1, min(_TRIES, len(self.source))):
            index = (bad.position + step) % len(self.source)
            if index in known:
                continue
            try:
                images = as_images(self._read(index))
                return self._alone([self._opened(index, image) for image in images], epoch)
            except BadSample:
                known.add(index)
        raise BadSample(bad.fault.sample_id, bad.fault.path, bad.fault.reason)

    def _unplanned(self, opened: Sequence[Opened], epoch: int, error: ValueError) -> list[Group]:
        """Replace samples that cannot be augmented even alone by faults."""
        groups = groups_of(opened)
        misfits = self._misfits(groups, epoch)
        if not misfits:
            ids = ", ".join(str(entry.sample.sample_id) for entry, *_ in groups)
            raise ValueError(f"Loader: samples {ids}: {error}") from None
        return [
            [self._bad(group[0].position, misfits[row])] if row in misfits else [*group]
            for row, group in enumerate(groups)
        ]

    def _misfits(
        self, groups: Sequence[Sequence[Opened]], epoch: int, start: int = 0
    ) -> dict[int, BadSample]:
        """The samples that cannot be augmented even alone, by row from `start` on; found by halving."""
        if len(groups) == 1:
            try:
                self._alone(groups[0], epoch)
                return {}
            except BadSample as bad:
                return {start: bad}
        with suppress(ValueError):
            self._planned([entry for group in groups for entry in group], epoch)
            return {}
        middle = len(groups) // 2
        first = self._misfits(groups[:middle], epoch, start)
        return first | self._misfits(groups[middle:], epoch, start + middle)

    def _alone(self, group: Sequence[Opened], epoch: int) -> Sequence[Opened]:
        """A sample if it can be augmented in a batch of its own; raises BadSample otherwise."""
        with _named(group[0].sample, "its image and targets"):
            self._planned(group, epoch)
        return group

    def _planned(self, opened: Sequence[Opened], epoch: int) -> tuple[Plans, Any]:
        """The plan of a batch, and the transformed targets."""
        frames = frame_count(opened)
        targets = [entry.sample.targets for entry in opened]
        ids = [entry.sample.sample_id for entry in opened[::frames]]
        plan, targets = self._plan([entry.size for entry in opened], ids, targets, epoch, frames)
        if isinstance(targets, tuple):
            return plan, tuple(clip_targets(opened, view) for view in targets)
        return plan, clip_targets(opened, targets)

    def _plan(
        self, sizes: Any, ids: Sequence[int], targets: list[dict[str, Any]], epoch: int, frames: int = 1
    ) -> tuple[Plans, Any]:
        """The plan of a batch and its targets; of a MultiView tuples, of each view."""
        known = sizes, ids, targets, epoch, frames
        if isinstance(self.transforms, MultiView):
            plans, moved = zip(
                *(self._plan_by(view, *known) for view in self.transforms.pipelines), strict=True
            )
            return plans, moved
        return (None, targets) if self.transforms is None else self._plan_by(self.transforms, *known)

    def _plan_by(
        self,
        compose: Compose,
        sizes: Any,
        ids: Sequence[int],
        targets: list[dict[str, Any]],
        epoch: int,
        frames: int,
    ) -> tuple[Plan, list[dict[str, Any]]]:
        channels = CHANNELS[self.decoding.mode]
        plan = compose.plan(sizes, ids, epoch, channels=channels, targets=targets, frames=frames)
        if _moves(plan, targets):
            targets = transform_targets(plan, targets, compose.target_options)
        return plan, targets

    def _regions(self, plan: Plans, can_shrink: Array) -> Regions | None:
        decodes_whole = self.decoder is not None or self.decoding.planes or not self.decoding.roi
        if plan is None or decodes_whole:
            return None
        return read_by(plan, can_shrink & (self.decoding.shrink and has_native()))


def _position(item: int | Sample | BadSample) -> int:
    """The index of a sample in its source; -1 for a stream."""
    return item if isinstance(item, int) else -1


def _raised_in(error: Exception) -> str:
    """The location in a source's code that raised an error; empty if there is none."""
    at = extract_tb(error.__traceback__)[-1]
    return "" if at.filename == __file__ else f" (in {at.name}, {at.filename}:{at.lineno})"


def ids_tensor(sample_ids: Sequence[int]) -> torch.Tensor:
    """Sample ids as int64 `[N]`."""
    return torch.from_numpy(np.array(sample_ids, np.int64))


def buffers_of(batch: ImageBatch | YCbCrBatch) -> list[Pixels]:
    """The memory of each image of a batch on the host."""
    if isinstance(batch, ImageBatch):
        return batch.numpy()
    return [buffer.numpy() for buffer in batch.image_buffers()]


def _moves(plan: Plan, targets: Sequence[dict[str, Any]]) -> bool:
    """Whether a plan changes targets; it does not change plain labels unless it mixes images."""
    return bool(plan.mixes) or not all(map(PLACED.isdisjoint, targets))


def until(job: Job, items: Sequence[_Item]) -> Iterator[_Item]:
    """The items, until the event is set; then it raises Stopped."""
    for item in items:
        if job.is_set():
            raise Stopped
        yield item


@contextmanager
def _named(sample: Sample, part: str = "its image") -> Iterator[None]:
    """Convert an error about this sample into its BadSample; `part` is named if its path is not known."""
    try:
        yield
    except ValueError as error:
        raise BadSample(sample.sample_id, sample.path or part, str(error)) from error
