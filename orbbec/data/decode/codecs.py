"""Decoding of PNG and WebP without the GIL, by `_png.abi3.so` and `_webp.abi3.so`.

Each library is present if `3rdparty/vendor.py` built the package that it needs: libspng, libwebp. Damaged
files, and files for which Pillow has rules of its own, are left to Pillow: the functions here return None.
"""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from orbbec.data.decode.exif import exif_orientation
from orbbec.data.decode.modes import CHANNELS, Pixels
from orbbec.data.decode.native import MESSAGE_BYTES, RECTANGLE
from orbbec.data.decode.orientation import as_stored, upright_size
from orbbec.data.decode.png_chunks import is_png

_UNREAD_MESSAGE = ctypes.create_string_buffer(MESSAGE_BYTES)  # Pillow says what is wrong


class ImageHeader(ctypes.Structure):
    """As in codec.h: the stored size, the channels that keep all of the file, the position of its EXIF."""

    _fields_ = (
        ("height", ctypes.c_int32),
        ("width", ctypes.c_int32),
        ("channels", ctypes.c_int32),
        ("exif_offset", ctypes.c_uint64),
        ("exif_size", ctypes.c_uint64),
    )


class Codec(NamedTuple):
    """The functions of a library. They return 0 for a file that is decoded; `decode` releases the GIL."""

    header: Any
    decode: Any


@cache
def codec(name: str) -> Codec | None:
    """The library for "png" or "webp"; None if it was not built."""
    path = Path(__file__).with_name(f"_{name}.abi3.so")
    if not path.exists():
        return None
    # A header takes a microsecond; getting the GIL back may take a thousand times as long.
    with_gil, without = ctypes.PyDLL(str(path)), ctypes.CDLL(str(path))
    functions = Codec(with_gil[f"orbbec_{name}_header"], without[f"orbbec_{name}_decode"])
    functions.header.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.POINTER(ImageHeader)]
    functions.decode.argtypes = RECTANGLE
    return functions


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
