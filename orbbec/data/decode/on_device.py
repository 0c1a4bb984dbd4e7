"""JPEGs decoded on the device: files are copied as they are, and the host decodes what is unusual."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import accumulate
from typing import Any, NamedTuple

import torch
from torch import Tensor

from orbbec.batch import ImageBatch, YCbCrBatch
from orbbec.batch.image_batch import rounded_up
from orbbec.batch.ycbcr_batch import SAMPLINGS
from orbbec.bridge.forked import check_not_forked
from orbbec.color.ycbcr import ycbcr_to_rgb
from orbbec.data.decode.decode import MAX_PIXELS, region_header
from orbbec.data.decode.native import ScanSize, pack_scan, scan_size
from orbbec.data.decode.planes import FileRules, planes_on_host
from orbbec.jpeg.planes import jpeg_planes
from orbbec.jpeg.planes.jpeg_planes import UNIT_BITS

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


class Packed(NamedTuple):
    """The scans of files: on the device, with the offset and bytes of each; 0 bytes for the host's files."""

    scans: Tensor
    ranges: list[tuple[int, int]]


def planes_on_device(
    files: Sequence[bytes], device: torch.device, rules: FileRules, unit_bits: int = UNIT_BITS
) -> Decoded:
    """Decode to planes by `jpeg_planes`, on a device or the CPU; see `decode_planes`."""
    headers = [region_header(data, "RGB", *rules) for data in files]
    sizes = [header and scan_size(data) for data, header in zip(files, headers, strict=True)]
    packed = packed_scans(files, sizes, device)
    flagged = [i for i, (_, count) in enumerate(packed.ranges) if count == 0]
    on_host: dict[int, YCbCrBatch] = {}
    while True:
        on_host |= {i: planes_on_host([files[i]], rules) for i in flagged}
        stored = [
            on_host[i].host_table[0, 1:5].tolist() if i in on_host else _stored(size, header)
            for i, (size, header) in enumerate(zip(sizes, headers, strict=True))
        ]
        batch = _empty(stored, device)
        buffers = batch.image_buffers()
        for i, image in on_host.items():
            buffers[i].copy_(image.image_buffers()[0])
        blocks = [0 if size is None or i in on_host else size.blocks for i, size in enumerate(sizes)]
        flagged = _run(packed, batch, blocks, unit_bits)
        if not flagged:
            return Decoded(batch, sorted(on_host))


def _stored(size: ScanSize | None, header: Any) -> list[int]:
    """Height, width, sampling and orientation of an image in a batch."""
    assert size is not None
    return [size.height, size.width, size.subsampling, header.orientation]


def _empty(stored: Sequence[Sequence[int]], device: torch.device) -> YCbCrBatch:
    return YCbCrBatch.of_sizes(
        [(height, width) for height, width, _, _ in stored],
        [SAMPLINGS[sampling] for _, _, sampling, _ in stored],
        [orientation for _, _, _, orientation in stored],
        empty=partial(torch.empty, dtype=torch.uint8, device=device),
    )


def packed_scans(files: Sequence[bytes], sizes: Sequence[ScanSize | None], device: torch.device) -> Packed:
    """Packs the scans and copies them at once."""
    most = [0 if size is None else rounded_up(size.most_bytes) for size in sizes]
    offsets = [0, *accumulate(most)]
    scans = torch.empty(offsets[-1], dtype=torch.uint8, device="cpu", pin_memory=device.type == "cuda")
    first = scans.data_ptr()
    ranges = [
        (offset, 0 if size is None else pack_scan(data, first + offset))
        for data, size, offset in zip(files, sizes, offsets, strict=False)
    ]
    return Packed(scans.to(device, non_blocking=True), ranges)


def _run(packed: Packed, batch: YCbCrBatch, blocks: Sequence[int], unit_bits: int) -> list[int]:
    """Decodes the images that have blocks; returns the indices of those that the host must decode."""
    flags = []
    for begin, end in _launches(blocks):
        firsts = accumulate(blocks[begin:end], initial=0)
        rows = [
            (offset, count if blocks[begin + i] else 0, first)
            for i, ((offset, count), first) in enumerate(zip(packed.ranges[begin:end], firsts, strict=False))
        ]
        table = torch.tensor(rows, dtype=torch.int64, device="cpu").to(batch.device)
        tables = batch.layout[begin:end], batch.forms[begin:end]
        total = sum(blocks[begin:end])
        flags.append(jpeg_planes(packed.scans, table, batch.buffer, *tables, total, unit_bits=unit_bits))
    return torch.cat(flags).nonzero().flatten().tolist() if flags else []


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
