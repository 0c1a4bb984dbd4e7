"""Decoding of PNG and WebP without the GIL, by `_png.abi3.so` and `_webp.abi3.so`.

Each library is present if `3rdparty/vendor.py` built the package that it needs: libspng, libwebp. Damaged
files, and files for which Pillow has rules of its own, are left to Pillow: the functions here return None.
"""

from __future__ import annotations

import ctypes

import numpy as np

from orbbec.data.decode.exif import exif_orientation
from orbbec.data.decode.modes import CHANNELS, Pixels
from orbbec.data.decode.native import MESSAGE_BYTES, Codec, ImageHeader, codec
from orbbec.data.decode.orientation import as_stored, upright_size
from orbbec.data.decode.png_chunks import is_png

_UNREAD_MESSAGE = ctypes.create_string_buffer(MESSAGE_BYTES)  # Pillow says what is wrong


def decode_by_codec(data: bytes, mode: str, max_pixels: int, apply_exif_orientation: bool) -> Pixels | None:
    """The pixels of a PNG or WebP; see `decode_image`."""
    known = _known(data, max_pixels)
    if known is None:
        return None
    functions, header = known
    orientation = _orientation(data, header, apply_exif_orientation)
    pixels = np.empty((*upright_size(header.height, header.width, orientation), CHANNELS[mode]), np.uint8)
    stored = pixels if orientation == 1 else as_stored(pixels, orientation)
    row_stride, column_stride, _ = stored.strides
    failed = functions.decode(
        *(data, len(data), 1, CHANNELS[mode], 0, 0, header.width, header.height),
        *(stored.ctypes.data, row_stride, column_stride, _UNREAD_MESSAGE),
    )
    return None if failed else pixels


def size_by_codec(data: bytes, max_pixels: int, apply_exif_orientation: bool) -> tuple[int, int] | None:
    """The size of a PNG or WebP; see `image_size`."""
    known = _known(data, max_pixels)
    if known is None:
        return None
    _, header = known
    return upright_size(header.height, header.width, _orientation(data, header, apply_exif_orientation))


def _known(data: bytes, max_pixels: int) -> tuple[Codec, ImageHeader] | None:
    """The library that decodes a file, and the file's header."""
    functions = codec("png") if is_png(data) else codec("webp") if data[8:12] == b"WEBP" else None
    header = ImageHeader()
    if functions is None or functions.header(data, len(data), header):
        return None
    return (functions, header) if header.height * header.width <= max_pixels else None


def _orientation(data: bytes, header: ImageHeader, is_applied: bool) -> int:
    if not is_applied or not header.exif_size:
        return 1
    return exif_orientation(data[header.exif_offset : header.exif_offset + header.exif_size])
