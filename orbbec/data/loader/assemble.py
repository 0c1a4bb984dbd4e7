"""One task of a Loader: read the samples of a batch, plan, decode the regions that the plan needs, pack.

::

    read --> sizes from the headers --> plan --> regions that it reads, decoded --> one packed ImageBatch
                                                 or planes of whole JPEGs       --> one packed YCbCrBatch
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor

from orbbec.batch import ImageBatch, YCbCrBatch
from orbbec.batch.image_batch import empty_on_host
from orbbec.bridge.arguments import Array
from orbbec.data.concat import check_ids, with_distinct_ids
from orbbec.data.decode.decode import decode_region, planes_header, region_header
from orbbec.data.decode.decoding import Decoding
from orbbec.data.decode.jpeg_header import JpegHeader
from orbbec.data.decode.modes import CHANNELS, Pixels
from orbbec.data.decode.native import has_native
from orbbec.data.decode.nvimgcodec import BatchDecoder
from orbbec.data.decode.orientation import Rectangle
from orbbec.data.decode.planes import empty_planes, write_planes
from orbbec.data.decode.region import Regions
from orbbec.data.loader.clips import as_clips, as_images, clip_targets, frame_count, groups_of, is_clip
from orbbec.data.loader.entries import (
    Attempt,
    Bad,
    Item,
    Opened,
    ids_tensor,
    named,
    position_of,
    sample_of,
)
from orbbec.data.loader.memory import Job
from orbbec.data.loader.pairs import owner_of, with_pairs
from orbbec.data.loader.pieces import AugmentedPieces, Pieces
from orbbec.data.loader.queues import until
from orbbec.data.loader.several import check_names, in_order, names_in, planned_by_name
from orbbec.data.loader.stopwatch import Stopwatch
from orbbec.data.loader.unchanged import alike, kind_of, tensors_of
from orbbec.data.loader.views import Planned, Planning, Plans, for_regions, read_by
from orbbec.data.placed import check_placed
from orbbec.data.sample import BadSample, Fault, Sample
from orbbec.plan import Plan
from orbbec.transforms import Compose, MultiView

ON_ERROR = ("raise", "skip", "substitute")
_TRIES = 100  # substitutes


class Assembled(NamedTuple):
    """A batch on the host whose plan, if any, has not been applied yet."""

    images: Any
    targets: Any
    sample_ids: torch.Tensor  # int64 [N]
    plan: Plans


Group: TypeAlias = list[Opened | Bad]  # the images of a sample: one, or the frames of a clip


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
        planes_device: where kernels decode planes; None: the host decodes.
        has_pairs: whether mixes read pair images from the source, which follow those of a batch.
    """

    source: Any
    transforms: Compose | MultiView | None
    decoding: Decoding
    on_error: str
    pin_memory: bool
    decoder: BatchDecoder | None = None
    device: torch.device | None = None
    planes_device: torch.device | None = None
    has_pairs: bool = False
    watch: Stopwatch = field(default_factory=Stopwatch)
    faults: list[Fault] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.source = with_distinct_ids(self.source)
        self._known_bad: tuple[int, set[int]] = (0, set())  # epoch, and indices found bad in it

    def __call__(self, items: Sequence[Item], epoch: int, job: Job) -> Assembled:
        """Make a batch. It is smaller, or empty, if samples are skipped.

        Raises:
            BadSample: a sample is bad, or its image or targets do not fit the transforms, and `on_error` is
                "raise" or there is no substitute.
            ValueError: the samples do not fit the transforms together, or two images have one sample id; the
                message names them.
            SourceError: the source raised another error; the message names the sample.
            Stopped: the event was set.
        """
        pairs = self._others(epoch)
        if pairs and isinstance(self.transforms, Compose):
            indices: Any = items
            items = with_pairs(indices, pairs, len(self.source), self.transforms.seed, epoch)
            self.watch.count("pairs", len(items) - len(indices))
        return self._assemble(items, epoch, job)

    def _assemble(self, items: Sequence[Item], epoch: int, job: Job) -> Assembled:
        groups = self._open(items, job)
        groups = alike(groups, self._bad) if self.decoding.is_unchanged else groups
        return self._assembled(self._settled(groups, epoch), None, epoch, job)

    def _others(self, epoch: int) -> tuple[int, ...]:
        """The number of pair images of each sample for each mix; empty if there are none."""
        compose = self.transforms
        pairs = compose.others(epoch) if isinstance(compose, Compose) and self.has_pairs else ()
        return pairs if any(pairs) else ()

    def _assembled(self, opened: list[Opened], failed: Attempt | None, epoch: int, job: Job) -> Assembled:
        """A batch of samples, of which some may have been decoded by an attempt that failed for others."""
        while opened:
            samples = [group[0] for group in groups_of(opened)]
            check_ids([entry.position for entry in samples], [entry.sample for entry in samples])
            try:
                plan, targets, rows = self._planned(opened, epoch, self._others(epoch))
            except (TypeError, ValueError) as error:
                opened = self._settled(self._unplanned(opened, epoch, error), epoch)
                continue
            used = opened if rows is None else [opened[row] for row in rows.tolist()]
            can_shrink = np.array([entry.can_shrink for entry in used])
            regions = self._regions(plan, can_shrink)
            plan = self._plan_for(plan, regions)
            attempt, changed = self._attempted(used, (plan, regions), failed, job)
            if not any(changed):
                ids = [entry.sample.sample_id for entry in samples]
                count = len(ids) // prod(1 + number for number in self._others(epoch))
                self.watch.count("decoded pairs", len(samples if rows is None else rows) - count)
                batch, rest = as_clips(attempt.batch, opened), None if attempt.is_augmented else plan
                return Assembled(batch, targets, ids_tensor(ids[:count]), rest)
            if rows is not None:
                by_row = dict(zip(rows.tolist(), changed, strict=True))
                changed = [by_row.get(row) for row in range(len(opened))]
            opened = self._settled(groups_of(opened, changed), epoch)
            failed = attempt if attempt.buffers else None
            del attempt  # of pieces: not two on the device
        none: Any = (
            [] if self.decoding.is_unchanged else ImageBatch.of_sizes([], CHANNELS[self.decoding.mode])
        )
        return Assembled(none, [], ids_tensor([]), None)

    def _open(self, items: Sequence[Item], job: Job) -> list[Group]:
        """Read samples: their headers if regions can be decoded later, otherwise their pixels."""
        return [self._open_item(item) for item in until(job, items)]

    def _open_item(self, item: Item) -> Group:
        try:
            with self.watch.timing("read"):
                images = [(image, self._header(image)) for image in as_images(self._read(item))]
            return [self._opened(item, *image) for image in images]
        except BadSample as error:
            return [self._bad(item, error)]

    def _opened(
        self, item: Item, sample: Sample, header: JpegHeader | None = None, pixels: Pixels | None = None
    ) -> Opened:
        """A sample with its header or its pixels, to which its targets belong; raises BadSample otherwise."""
        if header is None and pixels is None:
            pixels = self._whole(sample)
        entry = Opened(position_of(item), sample, header, pixels)
        with named(sample):
            check_placed(sample, entry.size)
        return entry

    def _read(self, item: Item) -> Sample:
        if isinstance(item, BadSample):  # streams yield it and continue
            raise item
        return sample_of(self.source, item) if isinstance(item, int) else item

    def _header(self, sample: Sample) -> JpegHeader | None:
        if not isinstance(sample.data, bytes):
            return None
        decoding = self.decoding
        rules = decoding.max_pixels, decoding.on_damage
        with named(sample):
            if self.decoder is not None:
                return self.decoder.header(sample.data, *rules)
            if decoding.is_unchanged or not self._decodes_later:
                return None
            header_of = planes_header if decoding.makes_planes else region_header
            return header_of(sample.data, decoding.mode, *rules, decoding.apply_exif_orientation)

    @property
    def _decodes_later(self) -> bool:
        """Whether JPEGs are decoded after planning."""
        has_regions = self.decoding.roi and self.transforms is not None
        return has_regions or self.decoding.makes_planes or self.device is not None

    def _whole(self, sample: Sample) -> Pixels:
        assert not isinstance(sample.data, (tuple, dict))
        with named(sample), self.watch.timing("decode"):
            return self.decoding.whole(sample.data)

    def _attempted(
        self,
        opened: list[Opened],
        planned: tuple[Plans, Regions | None],
        failed: Attempt | None,
        job: Job,
    ) -> tuple[Attempt, list[Opened | Bad | None]]:
        """Decode a batch; returns also what proved other than its header says, by row."""
        if self.decoding.is_unchanged:
            tensors = tensors_of(opened, job, self.pin_memory)
            return Attempt(opened, tensors, [], None), [None] * len(opened)
        regions = planned[1]
        pieces = self._pieces(opened, planned, job)
        if pieces is not None:
            return self._attempted_in_pieces(opened, regions, pieces, job)
        attempt = self._attempt(opened, regions, partial(job.empty, pin_memory=self.pin_memory))
        done = attempt.copy_from(failed) if failed and failed.buffers else set()
        return attempt, self._decode(attempt, done, job)

    def _pieces(
        self, opened: list[Opened], planned: tuple[Plans, Regions | None], job: Job
    ) -> Pieces | AugmentedPieces | None:
        """The pieces of a large batch; None if it is decoded at once."""
        plan, regions = planned
        if not self._is_large([entry.size for entry in opened] if regions is None else regions.sizes, job):
            return None
        if self.device is not None:
            return Pieces(partial(self._batch_of, opened, regions), self.device, job)
        if not isinstance(plan, Plan) or not plan.passes or plan.mixes or is_clip(opened[0]):
            return None
        return AugmentedPieces(plan, self._augmented, job)

    def _augmented(self, plan: Plan, images: ImageBatch | YCbCrBatch) -> Any:
        assert isinstance(self.transforms, Compose)
        with self.watch.timing("augment"):
            return self.transforms.apply(plan, images)

    def _is_large(self, sizes: Any, job: Job) -> bool:
        """Whether a batch is decoded in pieces, unless its plan mixes images."""
        nbytes = CHANNELS[self.decoding.mode] * int(np.prod(sizes, axis=1).sum())
        is_split = self.device is not None or (job.augments and self.transforms is not None)
        decodes_there = self.decoder is not None or self.planes_device is not None
        return is_split and not decodes_there and job.is_large(nbytes)

    def _attempted_in_pieces(
        self, opened: list[Opened], regions: Regions | None, pieces: Pieces | AugmentedPieces, job: Job
    ) -> tuple[Attempt, list[Opened | Bad | None]]:
        changed = []
        for images in pieces.slices():
            part = regions and regions.rows(images)
            attempt = self._attempt(opened[images], part, partial(empty_on_host, pin_memory=self.pin_memory))
            changed += self._decode(attempt, set(), job)
            pieces.add(images, attempt.batch)
        return Attempt(opened, pieces.batch, [], regions, isinstance(pieces, AugmentedPieces)), changed

    def _attempt(
        self, opened: list[Opened], regions: Regions | None, empty: Callable[[int], Tensor]
    ) -> Attempt:
        """Memory for the pixels of a batch on the host, or where the decoder of whole batches decodes."""
        if self.decoder is None:
            batch = self._batch_of(opened, regions, empty)
            return Attempt(opened, batch, buffers_of(batch), regions)
        on_device = ImageBatch.of_sizes(
            [entry.size for entry in opened], CHANNELS[self.decoding.mode], empty=self.decoder.empty_bytes
        )
        return Attempt(opened, on_device, on_device.images(), regions)

    def _batch_of(
        self, opened: list[Opened], regions: Regions | None, empty: Callable[[int], Tensor]
    ) -> ImageBatch | YCbCrBatch:
        if self.decoding.makes_planes:
            return empty_planes([entry.stored for entry in opened], self._empty_planes or empty)
        sizes: Any = [entry.size for entry in opened] if regions is None else regions.sizes
        return ImageBatch.of_sizes(sizes, CHANNELS[self.decoding.mode], empty=empty)

    @property
    def _empty_planes(self) -> Callable[[int], Tensor] | None:
        """Allocates memory on the device where kernels decode planes; None if the host decodes."""
        where = self.planes_device
        return None if where is None else partial(torch.empty, dtype=torch.uint8, device=where)

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
        good = [self._write_planes(attempt, row, samplings[row]) for row in until(job, rows)]
        if self.planes_device is not None:
            self.watch.count("host", sum(good))
        return good

    def _write_planes(self, attempt: Attempt, row: int, sampling: str) -> bool:
        stored, buffer = attempt.opened[row].stored, attempt.buffers[row]
        with self.watch.timing("decode"):
            planes = torch.empty_like(buffer, device="cpu") if buffer.is_cuda else buffer
            is_good = write_planes(stored, sampling, planes.numpy())
            if planes is not buffer:
                buffer.copy_(planes)
            return is_good

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

    def _bad(self, item: Item, error: BadSample) -> Bad:
        """The record of a bad sample, for policies that continue after it."""
        if self.on_error == "raise":
            raise error
        return Bad(position_of(item), Fault.of(error))

    def _settled(self, groups: Sequence[Group], epoch: int) -> list[Opened]:
        """Apply the error policy; a clip of which a frame is bad is a bad sample."""
        known = self._bad_indices(epoch)
        every_bad = [next((entry for entry in group if isinstance(entry, Bad)), None) for group in groups]
        known.update(bad.position for bad in every_bad if bad is not None)
        self.faults.extend(bad.fault for bad in every_bad if bad is not None)
        pairs = self._others(epoch)
        count = len(groups) // prod(1 + number for number in pairs)
        result: list[list[Opened]] = []
        skipped = set()
        for row, (group, bad) in enumerate(zip(groups, every_bad, strict=True)):
            owner = owner_of(row, count, pairs)
            if owner in skipped:
                continue
            if bad is None:
                result.append([entry for entry in group if isinstance(entry, Opened)])
            elif row >= count or self.on_error == "substitute":
                result.append([*self._substitute(bad, epoch, known)])
            else:
                skipped.add(owner)
        return in_order(result)

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

    def _unplanned(self, opened: Sequence[Opened], epoch: int, error: Exception) -> list[Group]:
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

    def _misfits(self, groups: Sequence[list[Opened]], epoch: int, start: int = 0) -> dict[int, BadSample]:
        """The samples that cannot be augmented even alone, by row from `start` on; found by halving."""
        if len(groups) == 1:
            try:
                self._alone(groups[0], epoch)
                return {}
            except BadSample as bad:
                return {start: bad}
        with suppress(TypeError, ValueError):
            self._planned(in_order(groups), epoch)
            return {}
        middle = len(groups) // 2
        first = self._misfits(groups[:middle], epoch, start)
        return first | self._misfits(groups[middle:], epoch, start + middle)

    def _alone(self, group: Sequence[Opened], epoch: int) -> Sequence[Opened]:
        """A sample if it can be augmented in a batch of its own; raises BadSample otherwise."""
        with named(group[0].sample, "its image and targets"):
            self._planned(group, epoch)
        return group

    def _planned(
        self, opened: Sequence[Opened], epoch: int, pairs: Sequence[int] = (), seen: Any = None
    ) -> Planned:
        """The plan of a batch, or a plan per name of its images, and the transformed targets."""
        names = names_in(opened)
        if names and seen is None:
            check_names(self.transforms, names)
            plan = partial(self._planned, epoch=epoch, pairs=pairs)
            return Planned(*planned_by_name(opened, names, plan))
        frames = 1 if names else frame_count(opened)
        targets = [entry.sample.targets for entry in opened]
        ids = [entry.sample.sample_id for entry in opened[::frames]]
        channels, dtype = CHANNELS.get(self.decoding.mode, 0), "uint8"
        if self.decoding.is_unchanged:
            channels, dtype = kind_of(opened[0])
        sizes = [entry.size for entry in opened]
        planning = Planning(sizes, ids, targets, epoch, channels, frames, pairs, dtype, seen)
        planned = planning.by(self.transforms)
        if isinstance(planned.targets, tuple):
            views = tuple(clip_targets(opened, view) for view in planned.targets)
            return planned._replace(targets=views)
        return planned._replace(targets=clip_targets(opened, planned.targets))

    def _regions(self, plan: Plans, can_shrink: Array) -> Regions | None:
        makes_planes = self.decoding.makes_planes
        decodes_whole = self.decoder is not None or (makes_planes and self.planes_device is None)
        if plan is None or decodes_whole or self.decoding.is_unchanged or not self.decoding.roi:
            return None
        return read_by(plan, can_shrink & (self.decoding.shrink and not makes_planes and has_native()))

    def _plan_for(self, plan: Plans, regions: Regions | None) -> Plans:
        """The plan for what was decoded; planes have their whole size."""
        return plan if self.decoding.makes_planes else for_regions(plan, regions)


def buffers_of(batch: ImageBatch | YCbCrBatch) -> list[Any]:
    """The memory of each image of a batch: arrays, or tensors of planes."""
    return batch.numpy() if isinstance(batch, ImageBatch) else batch.image_buffers()
