"""One batch: samples read, planned, decoded where the plan looks, and packed; what one task of a Loader does.

::

    read --> sizes from the headers --> plan --> the parts that it reads, decoded --> one packed ImageBatch
                                                 or whole JPEGs, as planes         --> one packed PlaneBatch
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from traceback import extract_tb
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor

from orbbec.batch import ImageBatch, PlaneBatch
from orbbec.batch.image_batch import empty_on_host
from orbbec.data.decode import (
    CHANNELS,
    MAX_PIXELS,
    Pixels,
    decode_image,
    decode_region,
    planes_header,
    region_header,
)
from orbbec.data.jpeg_header import JpegHeader
from orbbec.data.native import has_native
from orbbec.data.nvimgcodec import MODES, BatchDecoder
from orbbec.data.orientation import Rectangle, upright_size
from orbbec.data.planes import Encoded, empty_planes, write_planes
from orbbec.data.queues import Stop, Stopped
from orbbec.data.region import Regions, plan_for, regions_of
from orbbec.data.sample import BadSample, Fault, Sample, SourceError
from orbbec.data.stopwatch import Stopwatch
from orbbec.plan import Plan
from orbbec.transforms import Compose, transform_targets
from orbbec.transforms.checks import choice

ON_ERROR = ("raise", "skip", "substitute")
_TRIES = 100  # of a substitute
_PLACED = {"boxes", "masks", "mask", "keypoints", "landmarks", "polygons"}  # targets that follow pixels


@dataclass(frozen=True)
class Decoding:
    """How images are decoded.

    Args:
        mode: "RGB", "L" or "RGBA".
        roi: decode only the part of a JPEG that the plan looks at, with the bytes of the whole image: of
            baseline JPEGs, and of all where libjpeg-turbo was built in.
        shrink: with `roi` and libjpeg-turbo, decode JPEGs smaller where the plan shrinks them to half or
            less, which changes the pixels: the picture is smoother than that of the whole image.
        max_pixels: larger images are bad samples.
        on_damage: as that of `decode_image`: "raise" makes bad samples of damaged JPEGs, "keep" keeps them.
        on_device: decode whole JPEGs on the device, a batch at a time, by nvImageCodec
            (`nvidia-nvimgcodec-cu13`), and on the host what that cannot take. On a GPU its pixels are not
            those of the host to the last bit. For "RGB" and "L"; `roi` and `shrink` then mean nothing.
        planes: decode whole JPEGs as far as planes, half the bytes of RGB where chroma is halved twice, and
            make RGB of them on the device, with the bytes of the host. For "RGB", where libjpeg-turbo was
            built in; `roi` and `shrink` then mean nothing.

    Raises:
        ValueError: another mode or `on_damage`, or both `on_device` and `planes`.
    """

    mode: str = "RGB"
    roi: bool = True
    shrink: bool = False
    max_pixels: int = MAX_PIXELS
    on_device: bool = False
    planes: bool = False
    on_damage: str = "raise"

    def __post_init__(self) -> None:
        if self.on_device and self.planes:
            raise ValueError("Decoding: expected one of on_device and planes, but got both")
        modes = MODES if self.on_device else ("RGB",) if self.planes else tuple(CHANNELS)
        choice("Decoding", "mode", self.mode, modes)
        choice("Decoding", "on_damage", self.on_damage, ("raise", "keep"))


class Assembled(NamedTuple):
    """A batch on the host; its plan is still to be applied."""

    images: Any
    targets: Any
    sample_ids: torch.Tensor  # int64 [N]
    plan: Plan | None


_Item = TypeVar("_Item")


class _Bad(NamedTuple):
    """A sample that is bad, and its place in the source; -1: in none."""

    place: int
    fault: Fault


class _Opened(NamedTuple):
    """A sample that was decoded, or the header of a JPEG of which a part will be."""

    place: int  # in the source; -1: in none
    sample: Sample
    header: JpegHeader | None
    pixels: Pixels | None

    @property
    def size(self) -> tuple[int, int]:
        if self.pixels is not None:
            return self.pixels.shape[0], self.pixels.shape[1]
        assert self.header is not None
        return upright_size(self.header.height, self.header.width, self.header.orientation)

    @property
    def stored(self) -> Encoded | Pixels:
        """For a PlaneBatch."""
        if self.pixels is not None:
            return self.pixels
        assert self.header is not None
        assert isinstance(self.sample.data, bytes)
        return Encoded(self.sample.data, self.header)


@dataclass
class Assembler:
    """Makes batches, in several threads at once.

    Args:
        source: samples by their index; of a stream, the samples themselves are given to the call.
        transforms: planned for each batch; None: images as they are.
        decoding: how.
        on_error: what becomes of bad samples: "raise", "skip", or "substitute" the next good one.
        pin_memory: pack into page-locked memory.
        decoder: of whole batches on a device, where they then are; None: images are decoded one by one.
    """

    source: Any
    transforms: Compose | None
    decoding: Decoding
    on_error: str
    pin_memory: bool
    decoder: BatchDecoder | None = None
    watch: Stopwatch = field(default_factory=Stopwatch)
    faults: list[Fault] = field(default_factory=list)

    def __call__(self, wanted: Sequence[int | Sample | BadSample], epoch: int, stopped: Stop) -> Assembled:
        """Make a batch; smaller, or empty, where samples are skipped.

        Raises:
            BadSample: a sample is bad, or its image or targets do not fit the transforms, and `on_error` is
                "raise" or there is no substitute.
            ValueError: samples do not fit the transforms together; names them.
            SourceError: the source raised something else; says what, and at which sample.
            Stopped: the event was set.
        """
        opened = self._settled([self._open(item) for item in _until(stopped, wanted)], epoch)
        while opened:
            try:
                plan, targets = self._planned(opened, epoch)
            except ValueError as error:
                opened = self._settled(self._unplanned(opened, epoch, error), epoch)
                continue
            regions = self._regions(plan, opened)
            batch = self._empty_batch(opened, regions)
            changed = self._decode(opened, batch, regions, stopped)
            if not any(changed):
                plan = plan if plan is None or regions is None else plan_for(plan, regions)
                return Assembled(batch, targets, _ids([entry.sample.sample_id for entry in opened]), plan)
            pairs = zip(opened, changed, strict=True)
            opened = self._settled([new or old for old, new in pairs], epoch)
        return Assembled(ImageBatch.of_sizes([], CHANNELS[self.decoding.mode]), [], _ids([]), None)

    def _open(self, item: int | Sample | BadSample) -> _Opened | _Bad:
        """Read a sample: the header where a part of it can be decoded later, else its pixels."""
        if isinstance(item, BadSample):  # streams give it, since they go on after it
            return self._bad(-1, item)
        place = item if isinstance(item, int) else -1
        try:
            with self.watch.timing("read"):
                sample = self._read(item) if isinstance(item, int) else item
                header = self._header(sample)
            return _Opened(place, sample, header, None if header else self._whole(sample))
        except BadSample as error:
            return self._bad(place, error)

    def _read(self, place: int) -> Sample:
        try:
            sample = self.source[place]
        except BadSample:
            raise
        except Exception as error:
            where = _raised_in(error)
            text = f"Loader: sample {place} raised {type(error).__name__}: {error}{where}"
            raise SourceError(text) from error
        if not isinstance(sample, Sample):
            kind = type(sample).__name__
            raise TypeError(f"Loader: expected a Sample, but sample {place} is a {kind}; see as_source")
        return sample

    def _header(self, sample: Sample) -> JpegHeader | None:
        wanted = self.decoding
        if not isinstance(sample.data, bytes):
            return None
        with _named(sample):
            if self.decoder is not None:
                return self.decoder.header(sample.data, wanted.max_pixels, wanted.on_damage)
            if not (wanted.planes or (wanted.roi and self.transforms)):
                return None
            header_of = planes_header if wanted.planes else region_header
            return header_of(sample.data, wanted.mode, wanted.max_pixels, wanted.on_damage)

    def _whole(self, sample: Sample) -> Pixels:
        data, wanted = sample.data, self.decoding
        with _named(sample):
            if isinstance(data, bytes):
                with self.watch.timing("decode"):
                    return decode_image(
                        data, mode=wanted.mode, max_pixels=wanted.max_pixels, on_damage=wanted.on_damage
                    )
            pixels = data.numpy() if isinstance(data, torch.Tensor) else data
            return _with_channels(pixels, CHANNELS[wanted.mode])

    def _empty_batch(self, opened: Sequence[_Opened], regions: Regions | None) -> ImageBatch | PlaneBatch:
        empty: Callable[[int], Tensor] = partial(empty_on_host, pin_memory=self.pin_memory)
        if self.decoding.planes:
            return empty_planes([entry.stored for entry in opened], empty)
        sizes = [entry.size for entry in opened] if regions is None else regions.sizes
        if self.decoder is not None:
            empty = self.decoder.empty_bytes
        return ImageBatch.of_sizes(sizes, CHANNELS[self.decoding.mode], empty=empty)

    def _decode(
        self,
        opened: Sequence[_Opened],
        batch: ImageBatch | PlaneBatch,
        regions: Regions | None,
        stopped: Stop,
    ) -> list[_Opened | _Bad | None]:
        """Write the pixels of a batch; gives what replaces each entry that was not as it seemed."""
        if isinstance(batch, PlaneBatch):
            places = zip(_until(stopped, opened), batch.samplings, batch.places(), strict=True)
            return [self._write_planes(entry, sampling, place.numpy()) for entry, sampling, place in places]
        if self.decoder is not None:
            return self._decode_on_device(self.decoder, opened, batch)
        rows = enumerate(zip(_until(stopped, opened), batch.numpy(), strict=True))
        return [self._write(entry, pixels, row, regions) for row, (entry, pixels) in rows]

    def _decode_on_device(
        self, decoder: BatchDecoder, opened: Sequence[_Opened], batch: ImageBatch
    ) -> list[_Opened | _Bad | None]:
        pairs = list(zip(opened, batch.images(), strict=True))
        for entry, place in pairs:
            if entry.pixels is not None:
                place.copy_(torch.from_numpy(np.require(entry.pixels, requirements="W")))
        encoded: list[Any] = [(entry.sample.data, place) for entry, place in pairs if entry.pixels is None]
        with self.watch.timing("decode"):
            done = iter(decoder.decode_into(encoded))
        is_whole = [entry.pixels is not None or next(done) for entry in opened]
        return [None if good else self._on_host(entry) for entry, good in zip(opened, is_whole, strict=True)]

    def _write_planes(self, entry: _Opened, sampling: str, place: Pixels) -> _Opened | _Bad | None:
        with self.watch.timing("decode"):
            is_whole = write_planes(entry.stored, sampling, place)
        return None if is_whole else self._on_host(entry)

    def _write(
        self, entry: _Opened, pixels: Pixels, row: int, regions: Regions | None
    ) -> _Opened | _Bad | None:
        """Write what the plan reads of an image; gives what replaces an entry that was not as it seemed."""
        part, shrink = (None, 1) if regions is None else regions[row]
        if entry.pixels is not None:
            pixels[...] = entry.pixels if part is None else part.of(entry.pixels)
            return None
        assert entry.header is not None
        whole = Rectangle(0, 0, pixels.shape[1], pixels.shape[0])
        data: Any = entry.sample.data
        try:
            with self.watch.timing("decode"):
                mode = self.decoding.mode
                decode_region(data, entry.header, part or whole, shrink=shrink, mode=mode, out=pixels)
            return None
        except ValueError:
            return self._on_host(entry)

    def _on_host(self, entry: _Opened) -> _Opened | _Bad:
        """An entry that was not decoded as others are: Pillow decides whether it is bad."""
        try:
            return entry._replace(header=None, pixels=self._whole(entry.sample))
        except BadSample as error:
            return self._bad(entry.place, error)

    def _bad(self, place: int, error: BadSample) -> _Bad:
        """The record of a bad sample, for the policies that go on after it."""
        if self.on_error == "raise":
            raise error
        return _Bad(place, Fault.of(error))

    def _settled(self, found: Sequence[_Opened | _Bad], epoch: int) -> list[_Opened]:
        """The policy applied to faults."""
        result = []
        for entry in found:
            if isinstance(entry, _Opened):
                result.append(entry)
                continue
            self.faults.append(entry.fault)
            if self.on_error == "substitute":
                result.append(self._substitute(entry, epoch))
        return result

    def _substitute(self, bad: _Bad, epoch: int) -> _Opened:
        """The next good sample of the source, whole."""
        for step in range(1, min(_TRIES, len(self.source))):
            place = (bad.place + step) % len(self.source)
            with suppress(BadSample):
                sample = self._read(place)
                return self._alone(_Opened(place, sample, None, self._whole(sample)), epoch)
        raise BadSample(bad.fault.sample_id, bad.fault.path, bad.fault.reason)

    def _unplanned(self, opened: Sequence[_Opened], epoch: int, error: ValueError) -> list[_Opened | _Bad]:
        """Faults in place of the samples of a batch that cannot be augmented alone either."""
        found: list[_Opened | _Bad] = []
        for entry in opened:
            try:
                found.append(self._alone(entry, epoch))
            except BadSample as bad:
                found.append(self._bad(entry.place, bad))
        if not any(isinstance(entry, _Bad) for entry in found):
            ids = ", ".join(str(entry.sample.sample_id) for entry in opened)
            raise ValueError(f"Loader: samples {ids}: {error}") from None
        return found

    def _alone(self, entry: _Opened, epoch: int) -> _Opened:
        """An entry that can be augmented in a batch of its own, else a BadSample."""
        with _named(entry.sample, "its image and targets"):
            self._planned([entry], epoch)
        return entry

    def _planned(self, opened: Sequence[_Opened], epoch: int) -> tuple[Plan | None, list[dict[str, Any]]]:
        """The plan of a batch, and where targets come to be by it."""
        targets = [entry.sample.targets for entry in opened]
        if self.transforms is None:
            return None, targets
        plan = self.transforms.plan(
            [entry.size for entry in opened],
            [entry.sample.sample_id for entry in opened],
            epoch,
            channels=CHANNELS[self.decoding.mode],
            targets=targets,
        )
        if _moves(plan, targets):
            targets = transform_targets(plan, targets, self.transforms.target_options)
        return plan, targets

    def _regions(self, plan: Plan | None, opened: Sequence[_Opened]) -> Regions | None:
        decodes_whole = self.decoder is not None or self.decoding.planes or not self.decoding.roi
        if plan is None or decodes_whole:
            return None
        shrinks = self.decoding.shrink and has_native()
        can_shrink = np.array([shrinks and entry.header is not None for entry in opened])
        return regions_of(plan, can_shrink)


def _raised_in(error: Exception) -> str:
    """Where the code of a source raised an error; nothing where it has no code."""
    place = extract_tb(error.__traceback__)[-1]
    return "" if place.filename == __file__ else f" (in {place.name}, {place.filename}:{place.lineno})"


def _ids(sample_ids: Sequence[int]) -> torch.Tensor:
    return torch.tensor(sample_ids, dtype=torch.int64)


def _moves(plan: Plan, targets: Sequence[dict[str, Any]]) -> bool:
    """Whether a plan changes anything of targets; it does not where they are labels alone, and unmixed."""
    return bool(plan.mixes) or any(_PLACED & target.keys() for target in targets)


def _until(stopped: Stop, items: Sequence[_Item]) -> Iterator[_Item]:
    for item in items:
        if stopped.is_set():
            raise Stopped
        yield item


@contextmanager
def _named(sample: Sample, part: str = "its image") -> Iterator[None]:
    """Turn a complaint about a part of this sample into its BadSample."""
    try:
        yield
    except ValueError as error:
        raise BadSample(sample.sample_id, part, str(error)) from error


def _with_channels(pixels: Any, channels: int) -> Pixels:
    """An array `[H, W]` or `[H, W, C]` with the channels of the batch; gray becomes any of them."""
    if pixels.dtype != np.uint8 or pixels.ndim not in (2, 3) or 0 in pixels.shape:
        raise ValueError(f"expected pixels uint8 [H, W, C], but got {pixels.dtype} {list(pixels.shape)}")
    image: Pixels = pixels if pixels.ndim == 3 else pixels[:, :, None]
    if image.shape[2] == 1 < channels <= 3:
        return np.repeat(image, channels, axis=2)
    if image.shape[2] != channels:
        raise ValueError(f"expected {channels} channels, but got {image.shape[2]}")
    return image
