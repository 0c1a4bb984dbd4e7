"""JPEGs decoded on the device: files are copied as they are, and the host decodes what is unusual."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from orbbec.batch import ImageBatch, YCbCrBatch
from orbbec.batch.image_batch import empty_on_host, packed
from orbbec.batch.ycbcr_batch import SAMPLINGS, bytes_of_planes
from orbbec.bridge.arguments import Array
from orbbec.bridge.forked import check_not_forked
from orbbec.color.ycbcr import ycbcr_to_rgb
from orbbec.data.decode.decode import MAX_PIXELS, check_file_rules, planes_header
from orbbec.data.decode.native import feed_functions
from orbbec.data.decode.orientation import swaps_axes
from orbbec.data.decode.planes import FileRules, planes_on_host
from orbbec.feed.feed import GOOD, PLANES, SCANS, Feed, Limits
from orbbec.jpeg.planes import jpeg_planes
from orbbec.jpeg.planes.jpeg_planes import UNIT_BITS

_COLUMNS = 7  # of a row for `jpeg_planes`
MAX_BLOCKS = 1 << 21  # per launch: 256 MiB of coefficients


def decode_planes(
    files: Sequence[bytes],
    *,
    device: torch.device | str = "cpu",
    max_pixels: int = MAX_PIXELS,
    on_damage: str = "raise",
    apply_exif_orientation: bool = True,
) -> YCbCrBatch:
    """Decode images to planes, which `orbbec.ycbcr_to_rgb` converts to RGB on any device.

    Gray JPEGs and YCbCr JPEGs with full or halved chroma become planes if libjpeg-turbo was built in; all
    other files, such as PNG and CMYK, become RGB.

    Args:
        files: encoded files, see `decode_image`.
        device: of the result. On CUDA, kernels decode baseline JPEGs of one scan, with the bytes of the host,
            which decodes all other files: progressive, damaged, of more than 2 MiB.
        max_pixels: larger images are refused before decoding.
        on_damage: see `decode_image`.
        apply_exif_orientation: see `decode_image`.

    Returns:
        A batch on `device`.

    Raises:
        ValueError: a file is damaged, of unknown format, or too large.
        RuntimeError: `device` is CUDA and this process is a forked worker.

    Example:
        >>> batch = decode_planes([b"P5 2 1 255 " + bytes([7, 9])])
        >>> batch
        YCbCrBatch(1 images, rgb, device=cpu)
        >>> batch.planes(0)[0].tolist()
        [[[7, 7, 7], [9, 9, 9]]]
    """
    check_file_rules("decode_planes", max_pixels, apply_exif_orientation)
    rules = FileRules(max_pixels, on_damage, apply_exif_orientation)
    device = torch.device(device)
    if device.type == "cpu":
        return planes_on_host(files, rules)
    check_not_forked("decode_planes")
    return planes_on_device(files, device, rules).batch


def decode_jpeg(
    files: Sequence[bytes],
    *,
    device: torch.device | str = "cuda",
    max_pixels: int = MAX_PIXELS,
    on_damage: str = "raise",
    apply_exif_orientation: bool = True,
) -> ImageBatch:
    """Decode images to RGB on a device, with the bytes of `decode_image`.

    Args:
        files: see `decode_planes`; also of other formats.
        device: see `decode_planes`.
        max_pixels: larger images are refused before decoding.
        on_damage: see `decode_image`.
        apply_exif_orientation: see `decode_image`.

    Returns:
        A batch on `device`.

    Raises:
        ValueError: a file is damaged, of unknown format, or too large.
        RuntimeError: `device` is CUDA and this process is a forked worker.

    Example:
        >>> decode_jpeg([b"P5 2 1 255 " + bytes([7, 9])], device="cpu")[0].tolist()
        [[[7, 7, 7], [9, 9, 9]]]
    """
    check_file_rules("decode_jpeg", max_pixels, apply_exif_orientation)
    planes = decode_planes(
        files,
        device=device,
        max_pixels=max_pixels,
        on_damage=on_damage,
        apply_exif_orientation=apply_exif_orientation,
    )
    images: ImageBatch = ycbcr_to_rgb(planes)
    return images


class Decoded(NamedTuple):
    """A batch, and the indices of the images that the host decoded."""

    batch: YCbCrBatch
    on_host: list[int]


class ScanBuffer:
    """Packed scans, and planes that the host decodes, in memory that is copied to a device at once.

    Args:
        nbytes: int64 `[N]`, the most bytes of each image.
        empty: allocates a flat uint8 tensor of a number of bytes on the CPU.
    """

    def __init__(self, nbytes: Array, empty: Callable[[int], Tensor]) -> None:
        layout, self._end = packed(np.zeros((len(nbytes), 2), np.int64), nbytes)
        self.offsets: Array = layout[:, 0]
        self.storage = empty(self._end + 8 * _COLUMNS * len(nbytes))

    def decode(
        self,
        batch: YCbCrBatch,
        scan_bytes: Array,
        blocks: Array,
        boxes: Array | None = None,
        copied: Sequence[int] = (),
        unit_bits: int = UNIT_BITS,
    ) -> list[int]:
        """Decode the images to a batch on a device.

        Args:
            batch: of N images.
            scan_bytes: int64 `[N]`, of each packed scan; 0 where there is none.
            blocks: int64 `[N]`, of these scans.
            boxes: int64 `[N, 4]`: left, top, right and bottom of the needed part of each upright image; None:
                all of it.
            copied: the images whose planes are in the memory.
            unit_bits: see `jpeg_planes`.

        Returns:
            The indices of the images that are left to the host.
        """
        blocks = np.where(scan_bytes > 0, blocks, 0)
        launches = list(_launches(blocks.tolist()))
        firsts = [np.cumsum(blocks[begin:end]) - blocks[begin:end] for begin, end in launches]
        ranges = np.stack([self.offsets, scan_bytes, np.concatenate([[], *firsts])], 1)
        self._table(self.storage).numpy()[:] = np.concatenate([ranges, _stored_boxes(batch, boxes)], 1)
        storage = self.storage.to(batch.device, non_blocking=True)
        buffers = batch.image_buffers()
        for i in copied:
            buffers[i].copy_(storage[self.offsets[i] :][: len(buffers[i])])
        if not blocks.any():
            return []
        files = self._table(storage)
        flags = [
            jpeg_planes(
                storage[: self._end],
                files[begin:end],
                batch.buffer,
                batch.layout[begin:end],
                batch.forms[begin:end],
                int(blocks[begin:end].sum()),
                unit_bits=unit_bits,
            )
            for begin, end in launches
        ]
        return torch.cat(flags).nonzero().flatten().tolist()

    def _table(self, storage: Tensor) -> Tensor:
        return storage[self._end :].view(torch.int64).view(-1, _COLUMNS)


def _stored_boxes(batch: YCbCrBatch, boxes: Array | None) -> Array:
    """Parts of upright images in pixels of the stored ones, int64 `[N, 4]`; None: whole images."""
    if boxes is not None:
        return batch.stored_boxes(boxes)
    table = batch.host_table.numpy()
    return np.concatenate([np.zeros_like(table[:, :2]), table[:, [2, 1]]], 1)


def planes_on_device(
    files: Sequence[bytes], device: torch.device, rules: FileRules, unit_bits: int = UNIT_BITS
) -> Decoded:
    """Decode to planes by `jpeg_planes`, on a device or the CPU; see `decode_planes`."""
    limits = Limits(rules.max_pixels, rules.apply_exif_orientation, PLANES, packs_scans=True)
    with _threads(len(files)) as feed, feed.read_bytes(files, limits) as reading:
        reading.wait(_never)
        rows = reading.rows()
        is_good = rows["status"] == GOOD
        for i in np.flatnonzero(~is_good).tolist():
            planes_header(files[i], "RGB", *rules)  # the first error
        stored = stored_rows(rows)
        is_scan = rows["scan_bytes"] > 0
        nbytes = np.where(is_scan, rows["scan_bytes"], bytes_of_planes(stored[:, :2], stored[:, 2]))
        scans = ScanBuffer(nbytes, partial(empty_on_host, pin_memory=device.type == "cuda"))
        reading.decode(scans.storage.numpy(), np.where(is_good, scans.offsets, -1), channels=SCANS)
        reading.wait(_never)
        rows = reading.rows()
    is_left = (rows["status"] != GOOD) | (is_scan & (rows["scan_bytes"] == 0))
    left = {i: planes_on_host([files[i]], rules) for i in np.flatnonzero(is_left).tolist()}
    for i, image in left.items():
        stored[i] = _stored_of(image)
    batch = _replaced(empty_batch(stored, _empty_on(device)), left)
    copied = np.flatnonzero(~is_left & ~is_scan).tolist()
    flagged = scans.decode(batch, rows["scan_bytes"], rows["blocks"], copied=copied, unit_bits=unit_bits)
    repeated = {i: planes_on_host([files[i]], rules) for i in flagged}
    return Decoded(_replaced(batch, repeated), sorted([*left, *copied, *repeated]))


@contextmanager
def _threads(files: int) -> Iterator[Feed]:
    """At most one thread per file. They end with the call."""
    feed = Feed(max(min(files, torch.get_num_threads()), 1), feed_functions())
    try:
        yield feed
    finally:
        feed.end()


def _never() -> bool:
    return False


def stored_rows(rows: Array) -> Array:
    """Height, width, sampling and orientation in a batch of the images of a feed, int64 `[N, 4]`."""
    names = ("height", "width", "subsampling", "orientation")
    stored = np.stack([rows[name] for name in names], 1).astype(np.int64)
    is_rgb = stored[:, 2] == 0  # these are upright
    stored[is_rgb, :2], stored[is_rgb, 3] = upright_sizes(rows[is_rgb]), 1
    return stored


def upright_sizes(rows: Array) -> Array:
    """The sizes of the upright images of a feed, int64 `[N, 2]`."""
    sizes = np.stack([rows["height"], rows["width"]], 1).astype(np.int64)
    return np.where(swaps_axes(rows["orientation"])[:, None], sizes[:, ::-1], sizes)


def empty_batch(stored: Array, empty: Callable[[int], Tensor]) -> YCbCrBatch:
    """An uninitialized batch of `stored_rows`."""
    samplings = [SAMPLINGS[sampling] for sampling in stored[:, 2].tolist()]
    sizes: Any = stored[:, :2]
    return YCbCrBatch.of_sizes(sizes, samplings, stored[:, 3].tolist(), empty=empty)


def _stored_of(image: YCbCrBatch) -> Array:
    table: Array = image.host_table.numpy()
    return table[0, 1:5]


def _replaced(batch: YCbCrBatch, images: Mapping[int, YCbCrBatch]) -> YCbCrBatch:
    """A batch with images that the host decoded; damaged files may be other than their headers say."""
    if not images:
        return batch
    before = batch.host_table.numpy()[:, 1:5]
    stored = before.copy()
    for i, image in images.items():
        stored[i] = _stored_of(image)
    result = batch if np.array_equal(stored, before) else empty_batch(stored, _empty_on(batch.device))
    for i, (new, old) in enumerate(zip(result.image_buffers(), batch.image_buffers(), strict=True)):
        if i in images:
            new.copy_(images[i].image_buffers()[0])
        elif result is not batch:
            new.copy_(old)
    return result


def _empty_on(device: torch.device) -> Callable[[int], Tensor]:
    return partial(torch.empty, dtype=torch.uint8, device=device)


def _launches(blocks: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Ranges of images with at most MAX_BLOCKS blocks, or of one image."""
    begin = total = 0
    for i, count in enumerate(blocks):
        if total + count > MAX_BLOCKS and i > begin:
            yield begin, i
            begin = i
            total = 0
        total += count
    if begin < len(blocks):
        yield begin, len(blocks)
