"""Batches by the feed: C++ threads read and decode the images of ordinary batches, without the GIL.

::

    files of a batch --> feed: headers --> targets, plan --> feed: regions --> one packed batch
                         |                                   |
                         what is unusual is made by `Assembler`, whose decoding the feed does

    records of a batch --> feed: checksums --> images and targets --> as files, from the headers on
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch

from orbbec.batch import ImageBatch, YCbCrBatch
from orbbec.bridge.arguments import Array
from orbbec.data.decode.decoding import Decoding
from orbbec.data.decode.jpeg_header import JpegHeader
from orbbec.data.decode.modes import CHANNELS, Pixels
from orbbec.data.decode.on_device import ScanBuffer, empty_batch, stored_rows, upright_sizes
from orbbec.data.decode.region import Regions
from orbbec.data.files import ImageFiles, files_of
from orbbec.data.loader.assemble import Assembled, Assembler, Group, buffers_of
from orbbec.data.loader.clips import as_images
from orbbec.data.loader.entries import Attempt, Bad, Item, Opened, ids_tensor
from orbbec.data.loader.memory import Job
from orbbec.data.loader.queues import Stopped, until
from orbbec.data.loader.shared_feed import SharedFeed
from orbbec.data.loader.views import Planning
from orbbec.data.placed import are_placed, check_placed
from orbbec.data.sample import BadSample, Sample
from orbbec.feed.feed import GOOD, JPEG, PLANES, SCANS, FeedBatch, Limits, bytes_of

_MAKERS = 3  # least number: one plans, one waits for pixels, one for headers
_MAX_ODD = 0.1  # fraction of the files of a batch that few makers can read
_NICE = 5  # on CUDA: a busy core delays the launches of the training loop
_ONLY_READ = Limits(0, channels=-1)
_BITS = 8  # per value, of ordinary JPEGs


_Known = tuple[JpegHeader | None, Pixels | None]  # one of them


class _Ordinary(NamedTuple):
    """A batch whose files are all ordinary, with targets that belong to them."""

    rows: Array  # see `ROW`
    ids: list[int]
    targets: Sequence[dict[str, Any]]


class _Decoded(NamedTuple):
    """The pixels of a batch of which some files proved damaged, or other than their headers say."""

    batch: ImageBatch | YCbCrBatch
    regions: Regions | None
    rows: list[int]  # of its images in the batch that was read

    def of(self, entries: dict[int, Opened]) -> Attempt:
        """The pixels of some rows."""
        entries = {at: entries[row] for at, row in enumerate(self.rows) if row in entries}
        at, buffers, regions = list(entries), buffers_of(self.batch), self.regions
        if regions is not None:
            regions = Regions(regions.boxes[at], regions.shrinks[at])
        return Attempt(list(entries.values()), self.batch, [buffers[row] for row in at], regions)


@dataclass(kw_only=True)
class FeedAssembler(Assembler):
    """An `Assembler` that gives its work to a feed, with the same results. Its threads enter the feed."""

    feed: SharedFeed

    def __post_init__(self) -> None:
        super().__post_init__()
        self._has_odd_files = self._found_odd_files = False

    def _assemble(self, items: Sequence[Item], epoch: int, job: Job) -> Assembled:
        is_indexed = set(map(type, items)) == {int} and not self.decoding.is_unchanged
        files = files_of(self.source) if is_indexed else None
        batch = None if files is None else self._by_feed(files, items, epoch, job)
        return super()._assemble(items, epoch, job) if batch is None else batch

    def crew(self, threads: int, ahead: int, batch_size: int) -> tuple[int, int]:
        """Set the threads of the feed; returns how many threads make batches, and how many batches may wait.

        Where these threads only plan, a few keep all threads of the feed busy. On the CPU they augment too,
        and they read sources without a `table`, and files that the feed leaves to them, such as TIFF. Their
        number does not change that of the batches begun.
        """
        self.feed.resize(threads)
        if not self.feed.is_on or self._has_odd_files or files_of(self.source) is None:
            return threads, ahead
        least = max(_MAKERS, -(-2 * threads // batch_size)) if self.pin_memory else threads + 1
        makers = min(least, threads + ahead)
        return makers, threads + ahead - makers

    def needs_makers(self) -> bool:
        """Whether more than a tenth of a batch was left to its thread, for the first time."""
        found, self._found_odd_files = self._found_odd_files, False
        return found

    def _by_feed(self, files: ImageFiles, indices: Any, epoch: int, job: Job) -> Assembled | None:
        """The batch; None if the functions of `Assembler` make it."""
        feed = self.feed.running
        try:
            if min(indices) < 0:
                return None
            paths = files.paths_at(indices)
            spans = None if files.spans is None else files.spans[indices]
            limits = _ONLY_READ if files.are_records else self._limits
            reading = None if feed is None else feed.read_files(paths, spans, limits)
        except (IndexError, ValueError):  # `source[index]` says what is wrong
            return None
        if feed is None or reading is None:
            return None
        samples = cache(partial(self._file_samples, files, indices, paths))
        if files.are_records:
            samples = cache(partial(self._record_samples, reading, indices, job))
            images = [_image_of(samples().get(row)) for row in range(len(indices))]
            reading = feed.read_bytes(images, self._limits)
        with reading:
            self._wait(reading, job)
            self.watch.add("read", reading.seconds()[0])
            rows = reading.rows()
            if not self._has_odd_files and (rows["status"] != GOOD).mean() > _MAX_ODD:
                self._has_odd_files = self._found_odd_files = True
            ordinary = _by_columns(files, indices, rows) or self._ordinary(rows, samples(), indices)
            batch = None if ordinary is None else self._decoded(reading, ordinary, epoch, job)
            if isinstance(batch, Assembled):
                return batch
            entries = self._entries(reading, indices, samples(), job)
        rest = {row: index for row, index in enumerate(indices) if row not in entries}
        found = dict(zip(rest, self._open(list(rest.values()), job), strict=True))
        if batch is not None:
            found = {row: [self._by_python(entry) for entry in group] for row, group in found.items()}
        opened: list[Group] = [found.get(row) or [entries[row]] for row in range(len(indices))]
        attempt = None if batch is None else batch.of(entries)
        return self._assembled(self._settled(opened, epoch), attempt, epoch, job)

    def _file_samples(self, files: ImageFiles, indices: list[int], paths: list[str]) -> dict[int, Sample]:
        """What belongs to the files of a batch, by row; without rows whose targets cannot be had."""
        samples = {}
        for row, index in enumerate(indices):
            with suppress(Exception):  # the source raises it again
                [sample_id] = files.ids_at([index])
                size = None if files.sizes is None else files.sizes[index]
                samples[row] = Sample(b"", self.source.targets(index), sample_id, paths[row], size)
        return samples

    def _record_samples(self, reading: FeedBatch, indices: list[int], job: Job) -> dict[int, Sample]:
        """The samples of the records of a batch, by row; without rows whose record is unusual."""
        found = {}
        with reading:
            self._wait(reading, job)
            self.watch.add("read", reading.seconds()[0])
            with self.watch.timing("read"):
                for row, record in enumerate(until(job, list(reading.rows()))):
                    if record["status"] == GOOD:
                        with suppress(Exception):  # the source raises it again
                            found[row] = self.source.record_sample(indices[row], bytes_of(record))
        return {row: sample for row, sample in found.items() if isinstance(sample, Sample)}

    def _entries(
        self, reading: FeedBatch, indices: list[int], samples: dict[int, Sample], job: Job
    ) -> dict[int, Opened]:
        """The samples of a batch, by row; without those about which anything is unusual, to be read again."""
        entries, rows = {}, reading.rows()
        for row, known in self._known(reading, job).items():
            with suppress(Exception):  # the source raises it again
                sample = replace(samples[row], data=bytes_of(rows[row]))
                entries[row] = self._opened(indices[row], sample, *known)
        return entries

    def _by_python(self, entry: Opened | Bad) -> Opened | Bad:
        """A sample whose file the feed could not decode."""
        return self._on_host(entry) if isinstance(entry, Opened) and entry.pixels is None else entry

    @property
    def _limits(self) -> Limits:
        decoding = self.decoding
        channels = PLANES if decoding.makes_planes else CHANNELS[decoding.mode]
        packs_scans = self.planes_device is not None
        return Limits(decoding.max_pixels, decoding.apply_exif_orientation, channels, packs_scans)

    def _wait(self, reading: FeedBatch, job: Job) -> None:
        if not reading.wait(job.is_set):
            raise Stopped

    def _ordinary(self, rows: Array, samples: dict[int, Sample], indices: list[int]) -> _Ordinary | None:
        ids = [sample.sample_id for sample in samples.values()]
        if not _are_ordinary(rows, ids, indices):
            return None
        targets = [sample.targets for sample in samples.values()]
        try:
            if are_placed(targets):
                for sample, size in zip(samples.values(), upright_sizes(rows).tolist(), strict=True):
                    check_placed(sample, tuple(size))
        except Exception:  # raised again, in the order of the rows
            return None
        return _Ordinary(rows, ids, targets)

    def _decoded(
        self, reading: FeedBatch, ordinary: _Ordinary, epoch: int, job: Job
    ) -> Assembled | _Decoded | None:
        """The batch, or the pixels of its good files; None if it has no plan or is decoded in pieces."""
        rows, ids, targets = ordinary
        try:
            channels, pairs = CHANNELS[self.decoding.mode], self._others(epoch)
            planning = Planning(upright_sizes(rows), ids, targets, epoch, channels, pairs=pairs)
            plan, targets, used = planning.by(self.transforms)
        except (TypeError, ValueError):
            return None
        used = np.arange(len(rows)) if used is None else used
        at, is_decoded = np.zeros(len(rows), np.int64), np.zeros(len(rows), bool)
        at[used], is_decoded[used] = np.arange(len(used)), True
        rows = rows[used]
        regions = self._regions(plan, rows["format"] == JPEG)
        if self._is_large(upright_sizes(rows) if regions is None else regions.sizes, job):
            return None
        batch = self._empty(rows, regions, job)
        self._write_by_feed(reading, batch, regions, at, is_decoded, job)
        if (reading.rows()["status"] != GOOD).any():
            return _Decoded(batch, regions, used.tolist())
        self.watch.count("decoded pairs", len(used) - len(targets) if pairs else 0)
        return Assembled(batch, targets, ids_tensor(ids[: len(targets)]), self._plan_for(plan, regions))

    def _empty(self, rows: Array, regions: Regions | None, job: Job) -> ImageBatch | YCbCrBatch:
        """Memory for the pixels of a batch."""
        empty = partial(job.empty, pin_memory=self.pin_memory)
        if not self.decoding.makes_planes:
            sizes: Any = upright_sizes(rows) if regions is None else regions.sizes
            return ImageBatch.of_sizes(sizes, CHANNELS[self.decoding.mode], empty=empty)
        return empty_batch(stored_rows(rows), self._empty_planes or empty)

    def _open(self, items: Sequence[Item], job: Job) -> list[Group]:
        """Read samples in this thread; the feed reads the headers of their files, or decodes them whole."""
        found: list[Sample | Exception] = []
        bounds = [0]  # of the images of each item
        for item in until(job, items):
            try:
                with self.watch.timing("read"):
                    found += as_images(self._read(item))
            except Exception as error:  # raised below, unless the file of a row before it is bad
                found.append(error)
                if self.on_error == "raise" or not isinstance(error, BadSample):
                    break
            finally:
                bounds.append(len(found))
        try:
            known = self._known_of(found, job)
            return [
                [self._open_known(item, found[row], known.get(row)) for row in range(begin, end)]
                for item, (begin, end) in zip(items, pairwise(bounds), strict=False)
            ]
        finally:
            found.clear()  # the traceback of an error refers to this stack frame

    def _open_known(self, item: Any, sample: Sample | Exception, known: Any) -> Opened | Bad:
        if isinstance(sample, BadSample):
            return self._bad(item, sample)
        if isinstance(sample, Exception):
            raise sample
        try:
            header, pixels = known or (self._header(sample), None)
            return self._opened(item, sample, header, pixels)
        except BadSample as error:
            return self._bad(item, error)

    def _known_of(self, found: Sequence[Sample | Exception], job: Job) -> dict[int, _Known]:
        """The headers or the pixels of ordinary files, by row."""
        encoded = {
            row: sample.data
            for row, sample in enumerate(found)
            if isinstance(sample, Sample) and isinstance(sample.data, bytes)
        }
        feed = self.feed.running if encoded else None
        if feed is None:
            return {}
        with feed.read_bytes(list(encoded.values()), self._limits) as reading:
            self._wait(reading, job)
            at = list(encoded)
            return {at[row]: known for row, known in self._known(reading, job).items()}

    def _known(self, reading: FeedBatch, job: Job) -> dict[int, _Known]:
        """Headers of ordinary files that are decoded after planning, and pixels of others.

        Files other than JPEGs are decoded after planning only if the batch may be one of pieces.
        """
        rows = reading.rows()
        is_good = rows["status"] == GOOD
        is_large = not self.decoding.makes_planes and self._is_large(
            upright_sizes(rows) * is_good[:, None], job
        )
        is_later = is_good & (((rows["format"] == JPEG) & self._decodes_later) | is_large)
        later, is_whole = np.flatnonzero(is_later).tolist(), is_good & ~is_later
        known: dict[int, _Known] = {row: (_header(rows[row]), None) for row in later}
        if is_whole.any():
            sizes, empty = upright_sizes(rows) * is_whole[:, None], partial(job.empty, pin_memory=False)
            whole = ImageBatch.of_sizes(sizes, CHANNELS[self.decoding.mode], empty=empty)
            before = reading.seconds()[1]
            _begin_decoding(reading, whole, None, is_decoded=is_whole)
            self._wait(reading, job)
            self.watch.add("decode", reading.seconds()[1] - before)
            done = is_whole & (reading.rows()["status"] == GOOD)
            pixels = whole.numpy()
            known |= {row: (None, pixels[row]) for row in np.flatnonzero(done).tolist()}
        return known

    def _write_all(self, attempt: Attempt, rows: Sequence[int], job: Job) -> list[bool]:
        """The feed decodes what it can, the functions of `Assembler` the rest."""
        done = self._written_by_feed(attempt, rows, job)
        rest = [row for row in rows if row not in done]
        good = dict(zip(rest, super()._write_all(attempt, rest, job), strict=True))
        return [row in done or good[row] for row in rows]

    def _written_by_feed(self, attempt: Attempt, rows: Sequence[int], job: Job) -> set[int]:
        encoded = np.array([row for row in rows if attempt.opened[row].pixels is None], np.int64)
        feed = self.feed.running if len(encoded) else None
        if feed is None:
            return set()
        entries = [attempt.opened[row] for row in encoded.tolist()]
        with feed.read_bytes([entry.sample.data for entry in entries], self._limits) as reading:
            self._wait(reading, job)
            sizes = upright_sizes(reading.rows())
            # A row without a header has no size, and is not decoded.
            is_same = (sizes == [entry.size for entry in entries]).all(1)
            self._write_by_feed(reading, attempt.batch, attempt.regions, encoded, is_same, job)
            return set(encoded[is_same & (reading.rows()["status"] == GOOD)].tolist())

    def _write_by_feed(
        self,
        reading: FeedBatch,
        batch: ImageBatch | YCbCrBatch,
        regions: Regions | None,
        at: Array,
        is_decoded: Array,
        job: Job,
    ) -> None:
        """Decode images that a feed has read to the rows `at` of a batch."""
        if isinstance(batch, YCbCrBatch) and self.planes_device is not None:
            boxes = None if regions is None else regions.boxes
            flagged = self._write_by_kernels(reading, batch, boxes, at, is_decoded, SCANS, job)
            if flagged.any():
                self._write_by_kernels(reading, batch, boxes, at, flagged, PLANES, job)
        else:
            _begin_decoding(reading, batch, regions, at, is_decoded)
            self._wait(reading, job)
        self.watch.add("decode", reading.seconds()[1])

    def _write_by_kernels(
        self,
        reading: FeedBatch,
        batch: YCbCrBatch,
        boxes: Array | None,
        at: Array,
        is_decoded: Array,
        kind: int,
        job: Job,
    ) -> Array:
        """Decode scans by kernels, and planes by the feed; returns which scans are left to the host."""
        rows = reading.rows()
        is_scan = is_decoded & (rows["scan_bytes"] > 0) & (kind == SCANS)
        plane_bytes = np.array([len(buffer) for buffer in batch.image_buffers()], np.int64)[at]
        most_bytes = np.where(is_scan, rows["scan_bytes"], plane_bytes)

        def in_batch(values: Array, where: Array) -> Array:
            result = np.zeros(len(batch), np.int64)
            result[at[where]] = values[where]
            return result

        buffer = ScanBuffer(in_batch(most_bytes, is_decoded), partial(job.empty, pin_memory=self.pin_memory))
        reading.decode(buffer.storage.numpy(), np.where(is_decoded, buffer.offsets[at], -1), channels=kind)
        self._wait(reading, job)
        rows = reading.rows()
        is_good = is_decoded & (rows["status"] == GOOD)
        on_host = is_good & ~is_scan
        scan_bytes, blocks = in_batch(rows["scan_bytes"], is_scan), in_batch(rows["blocks"], is_scan)
        with self.watch.timing("decode"):
            flagged = buffer.decode(batch, scan_bytes, blocks, boxes, at[on_host].tolist())
        is_left: Array = is_scan & ((rows["scan_bytes"] == 0) | np.isin(at, flagged))
        self.watch.count("device", int((is_scan & ~is_left).sum()))
        self.watch.count("host", int(on_host.sum()))
        return is_left


def _are_ordinary(rows: Array, ids: Sequence[int], indices: Sequence[int]) -> bool:
    """Whether all files are, and belong to samples with ids of their own."""
    has_ids = len(ids) == len(rows) and len(set(ids)) == len(set(indices))
    return has_ids and bool((rows["status"] == GOOD).all())


def _by_columns(files: ImageFiles, indices: Sequence[int], rows: Array) -> _Ordinary | None:
    """An ordinary batch of a source with columns, unless they lie on the images."""
    with suppress(Exception):  # the source raises it again
        targets = files.targets_at(indices)
        if targets is not None and not are_placed(targets):
            ids = files.ids_at(indices)
            return _Ordinary(rows, ids, targets) if _are_ordinary(rows, ids, indices) else None
    return None


def _image_of(sample: Sample | None) -> bytes:
    """An encoded image; empty if there is none."""
    return sample.data if sample is not None and isinstance(sample.data, bytes) else b""


def _header(row: Any) -> JpegHeader:
    names = ("height", "width", "components")
    height, width, components = (int(row[name]) for name in names)
    return JpegHeader(height, width, components, _BITS, int(row["orientation"]))


def _begin_decoding(
    reading: FeedBatch,
    batch: ImageBatch | YCbCrBatch,
    regions: Regions | None,
    at: Any = slice(None),
    is_decoded: Any = True,
) -> None:
    """Begin to decode the images that a feed has read to the rows `at` of a batch."""
    if isinstance(batch, YCbCrBatch):
        table, channels = batch.host_table, 0
    else:
        table, channels = batch.host_layout, batch.channels
    reading.decode(
        batch.storage.numpy(),
        np.where(is_decoded, table.numpy()[at, 0], -1),
        channels=channels,
        boxes=None if regions is None else regions.boxes[at],
        shrinks=None if regions is None else regions.shrinks[at],
    )


def feed_for(decoding: Decoding, device: torch.device, threads: int, cores: Sequence[int]) -> SharedFeed:
    """The feed of a loader: none for what it does not decode, or if ORBBEC_FEED is 0."""
    is_on = os.environ.get("ORBBEC_FEED", "1") != "0"
    is_on = is_on and not (decoding.by_nvimgcodec or decoding.is_unchanged)
    return SharedFeed(threads if is_on else 0, _NICE if device.type == "cuda" else 0, cores)
