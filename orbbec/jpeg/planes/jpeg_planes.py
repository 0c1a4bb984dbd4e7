"""Planes of JPEGs from their packed scans."""

import torch
from torch import Tensor

from orbbec._library import operators
from orbbec.bridge.fakes import register_fake

UNIT_BITS = 2048  # the fastest on an H200; of 200 photographs, all synchronize in at most 7 rounds


def jpeg_planes(
    scans: Tensor,
    files: Tensor,
    planes: Tensor,
    layout: Tensor,
    forms: Tensor,
    blocks: int,
    *,
    unit_bits: int = UNIT_BITS,
) -> Tensor:
    """Decode packed scans of JPEGs to planes, with libjpeg-turbo's bytes.

    A scan is cut into units that threads decode at once: each starts from a guess, and again from the state
    in which the unit before it ended, until all agree.

    Args:
        scans: uint8, flat, on the device of `planes`: the scans that `pack_scan` packed, at multiples of 16.
        files: int64 `[N, 7]` on that device: offset and bytes in `scans`, the index of the first block, and
            left, top, right and bottom of the part that is needed, in pixels of the stored image: the MCUs
            that it touches are written, with those of neighbors that chroma upsampling reads. An image of 0
            bytes is left out.
        planes: uint8, flat: the planes of a `YCbCrBatch`, which are written.
        layout: int64 `[N, 3]`: the offset, height and width of each image in `planes`.
        forms: int64 `[N, 2]`: the sampling and orientation of each image.
        blocks: the number of blocks of all images; each takes 128 bytes during the call.
        unit_bits: the least bits of a unit, at least 128; a scan has at most 512 units.

    Returns:
        int32 `[N]` on that device: 0 where the planes are libjpeg-turbo's; elsewhere the host must decode,
        because the file is damaged or unusual.

    Raises:
        ValueError: a shape, dtype or number is invalid.

    Source:
        A. Weissenberger, B. Schmidt, "Accelerating JPEG decompression on GPUs", arXiv 2111.09219.
    """
    flags: Tensor = operators.jpeg_planes(scans, files, planes, layout, forms, blocks, unit_bits)
    return flags


@register_fake("jpeg_planes", files=2)
def _(
    scans: Tensor, files: Tensor, planes: Tensor, layout: Tensor, forms: Tensor, blocks: int, unit_bits: int
) -> Tensor:
    return planes.new_empty(files.shape[0], dtype=torch.int32)
