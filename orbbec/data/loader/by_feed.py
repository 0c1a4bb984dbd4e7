"""Batches by the feed: C++ threads read and decode the images of ordinary batches, without the GIL.

::

    files of a batch --> feed: headers --> targets, plan --> feed: regions --> one packed batch
                         |                                   |
                         what is unusual is made by `Assembler`, whose decoding the feed does
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch

from orbbec.batch import ImageBatch, YCbCrBatch
from orbbec.batch.ycbcr_batch import SAMPLINGS
from orbbec.bridge.arguments import Array
from orbbec.data.decode.jpeg_header import JpegHeader
from orbbec.data.decode.modes import CHANNELS, Pixels
from orbbec.data.decode.region import Regions, plan_for
from orbbec.data.files import ImageFiles, files_of
from orbbec.data.loader.assemble import Assembled, Assembler, Decoding, buffers_of, ids_tensor, until
from orbbec.data.loader.entries import Attempt, Bad, Opened
from orbbec.data.loader.memory import Job
from orbbec.data.loader.queues import Stopped
from orbbec.data.loader.shared_feed import SharedFeed
from orbbec.data.placed import PLACED, check_placed
from orbbec.data.sample import BadSample, Sample
from orbbec.feed.feed import GOOD, FeedBatch, Limits

_MAKERS = 3  # least number: one plans, one waits for pixels, one for headers
_MAX_ODD = 0.1  # fraction of the files of a batch that few makers can read
_NICE = 5  # on CUDA: a busy core delays the launches of the training loop
_BITS = 8  # per value, of ordinary JPEGs
_TRANSPOSED = 5  # from this orientation on, rows and columns are swapped


class _Ordinary(NamedTuple):
    """A batch whose files are all ordinary JPEGs, with targets that belong to them."""

    rows: Array  # see `ROW`
    ids: list[int]
    targets: list[dict[str, Any]]


@dataclass(kw_only=True)
class FeedAssembler(Assembler):
    """An `Assembler` that gives its work to a feed, with the same results.

    Args:
        feed: its threads; entered by the threads that call this.
    """

    feed: SharedFeed

    def __post_init__(self) -> None:
        super().__post_init__()
        self._has_odd_files = self._found_odd_files = False

    def __call__(self, wanted: Sequence[int | Sample | BadSample], epoch: int, job: Job) -> Assembled:
        """See `Assembler`."""
        files = files_of(self.source) if set(map(type, wanted)) == {int} else None
        batch = None if files is None else self._by_feed(files, wanted, epoch, job)
        return super().__call__(wanted, epoch, job) if batch is None else batch

    def crew(self, threads: int, ahead: int, batch_size: int) -> tuple[int, int]:
        """Set the threads of the feed; returns how many threads make batches, and how many batches may wait.

        Where these threads only plan, a few keep all threads of the feed busy. On the CPU they augment too,
        and they read sources without a `table`, and files that the feed leaves to them, such as PNG. Their
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
            paths = [os.fspath(files.paths[index]) for index in indices]
            if files.root:
                paths = [os.path.join(files.root, path) for path in paths]
            spans = None if files.spans is None else files.spans[indices]
            reading = None if feed is None else feed.read_files(paths, spans, self._limits)
        except (IndexError, ValueError):  # `source[index]` says what is wrong
            return None
        if reading is None:
            return None
        with reading:
            self._wait(reading, job)
            rows = reading.rows()
            if not self._has_odd_files and (rows["status"] != GOOD).mean() > _MAX_ODD:
                self._has_odd_files = self._found_odd_files = True
            ordinary = self._ordinary(rows, files, indices)
            if ordinary is not None:
                return self._decoded(reading, ordinary, indices, epoch, job)
            if not self._decodes_later or spans is not None:
                return None
            samples = zip(indices, rows, reading.files(), paths, strict=True)
            entries = [self._entry(files, *sample) for sample in samples]
        pairs = list(zip(indices, entries, strict=True))
        rest = iter(self._open([index for index, entry in pairs if entry is None], job))
        found = [next(rest) if entry is None else entry for entry in entries]
        return self._assembled(self._settled(found, epoch), None, epoch, job)

    def _entry(self, files: ImageFiles, index: int, row: Any, data: bytes, path: str) -> Opened | None:
        """A sample whose file was read; None if anything about it is unusual, so that it is read again."""
        if _is_good(row):
            sample_id = index if files.sample_ids is None else int(files.sample_ids[index])
            size = None if files.sizes is None else files.sizes[index]
            with suppress(Exception):  # the source raises it again
                sample = Sample(data, self.source.targets(index), sample_id, path, size)
                return self._opened(index, sample, _header(row))
        return None

    @property
    def _limits(self) -> Limits:
        decoding = self.decoding
        return Limits(decoding.max_pixels, decoding.apply_exif_orientation, decoding.planes)

    def _wait(self, reading: FeedBatch, job: Job) -> None:
        if not reading.wait(job.is_set):
            raise Stopped

    def _ordinary(self, rows: Array, files: ImageFiles, indices: list[int]) -> _Ordinary | None:
        if (rows["status"] != GOOD).any():
            return None
        ids = indices if files.sample_ids is None else [files.sample_ids[index] for index in indices]
        if len(set(ids)) < len(ids):
            return None
        try:
            targets = [self.source.targets(index) for index in indices]
            if not all(map(PLACED.isdisjoint, targets)):
                declared = [None if files.sizes is None else files.sizes[index] for index in indices]
                for target, stated, (height, width) in zip(targets, declared, _upright(rows), strict=True):
                    check_placed(Sample(b"", target, size=stated), (int(height), int(width)))
        except Exception:  # `source[index]` raises it again, in the order of the rows
            return None
        return _Ordinary(rows, ids, targets)

    def _decoded(
        self, reading: FeedBatch, ordinary: _Ordinary, indices: list[int], epoch: int, job: Job
    ) -> Assembled | None:
        rows, ids, targets = ordinary
        try:
            plan, targets = self._plan(_upright(rows), ids, targets, epoch)
        except ValueError:
            return None
        regions = self._regions(plan, np.ones(len(rows), bool))
        if self._is_large(_upright(rows) if regions is None else regions.sizes, job):
            return None
        batch = self._empty(rows, regions, job)
        _begin_decoding(reading, batch, regions)
        self._wait(reading, job)
        for name, seconds in zip(("read", "decode"), reading.seconds(), strict=True):
            self.watch.add(name, seconds)
        is_good = reading.rows()["status"] == GOOD
        if is_good.all():
            plan = plan if plan is None or regions is None else plan_for(plan, regions)
            return Assembled(batch, targets, ids_tensor(ids), plan)
        found = self._open(indices, job)
        opened = [entry for entry in found if isinstance(entry, Opened) and entry.header is not None]
        if len(opened) < len(found):  # files of which no part can be decoded alone, or that have changed
            return self._assembled(self._settled(found, epoch), None, epoch, job)
        attempt = Attempt(opened, batch, buffers_of(batch), regions)
        pairs = zip(opened, is_good, strict=True)
        found = [entry if good else self._on_host(entry) for entry, good in pairs]
        return self._assembled(self._settled(found, epoch), attempt, epoch, job)

    def _empty(self, rows: Array, regions: Regions | None, job: Job) -> ImageBatch | YCbCrBatch:
        """Memory for the pixels of a batch."""
        empty = partial(job.empty, pin_memory=self.pin_memory)
        if not self.decoding.planes:
            sizes: Any = _upright(rows) if regions is None else regions.sizes
            return ImageBatch.of_sizes(sizes, CHANNELS[self.decoding.mode], empty=empty)
        is_rgb = rows["subsampling"] == 0  # these are upright
        stored: Any = np.where(is_rgb[:, None], _upright(rows), _stored(rows))
        samplings = [SAMPLINGS[number] for number in rows["subsampling"].tolist()]
        return YCbCrBatch.of_sizes(
            stored, samplings, np.where(is_rgb, 1, rows["orientation"]).tolist(), empty=empty
        )

    def _open(self, wanted: Sequence[int | Sample | BadSample], job: Job) -> list[Opened | Bad]:
        """Read samples in this thread; the feed reads the headers of their files, or decodes them whole."""
        found: list[Sample | Exception] = []
        for item in until(job, wanted):
            try:
                with self.watch.timing("read"):
                    found.append(self._read(item))
            except Exception as error:  # raised below, unless the file of a row before it is bad
                found.append(error)
                if self.on_error == "raise" or not isinstance(error, BadSample):
                    break
        try:
            known = self._known(found, job)
            return [
                self._open_known(item, sample, known.get(row))
                for row, (item, sample) in enumerate(zip(wanted, found, strict=False))
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

    def _known(
        self, found: Sequence[Sample | Exception], job: Job
    ) -> dict[int, tuple[JpegHeader | None, Pixels | None]]:
        """The headers, or the pixels, of ordinary JPEGs, by row."""
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
            rows = reading.rows()
            if self._decodes_later:
                return {
                    at: (_header(row), None) for at, row in zip(encoded, rows, strict=True) if _is_good(row)
                }
            sizes: Any = _upright(rows)  # 0 by 0 for the others
            whole = ImageBatch.of_sizes(sizes, CHANNELS[self.decoding.mode])
            _begin_decoding(reading, whole, None)
            self._wait(reading, job)
            self.watch.add("decode", reading.seconds()[1])
            done = zip(encoded, whole.numpy(), reading.rows(), strict=True)
            return {at: (None, pixels) for at, pixels, row in done if _is_good(row)}

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
            sizes = _upright(reading.rows())
            # A row without a header has no size, and is not decoded.
            is_same = (sizes == [entry.size for entry in entries]).all(1)
            _begin_decoding(reading, attempt.batch, attempt.regions, encoded, is_same)
            self._wait(reading, job)
            self.watch.add("decode", reading.seconds()[1])
            return set(encoded[is_same & (reading.rows()["status"] == GOOD)].tolist())


def _is_good(row: Any) -> bool:
    return bool(row["status"] == GOOD)


def _header(row: Any) -> JpegHeader:
    names = ("height", "width", "components")
    height, width, components = (int(row[name]) for name in names)
    return JpegHeader(height, width, components, _BITS, int(row["orientation"]))


def _stored(rows: Array) -> Array:
    """The sizes of stored images: int64 `[N, 2]`."""
    return np.stack([rows["height"], rows["width"]], 1).astype(np.int64)


def _upright(rows: Array) -> Array:
    """The sizes of upright images: int64 `[N, 2]`."""
    sizes = _stored(rows)
    is_transposed = rows["orientation"] >= _TRANSPOSED
    sizes[is_transposed] = sizes[is_transposed, ::-1]
    return sizes


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
    is_on = os.environ.get("ORBBEC_FEED", "1") != "0" and not decoding.on_device and decoding.mode != "RGBA"
    return SharedFeed(threads if is_on else 0, _NICE if device.type == "cuda" else 0, cores)
