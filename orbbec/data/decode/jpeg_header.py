"""The header of a JPEG: size, channels and EXIF orientation."""

from __future__ import annotations

import struct
from typing import NamedTuple

_START_OF_FRAME = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}  # these three define tables or are reserved
_ALONE = {0x01, *range(0xD0, 0xD9)}  # markers without a length
_EXIF, _START_OF_SCAN = 0xE1, 0xDA
_ORIENTATION_TAG = 0x0112


class JpegHeader(NamedTuple):
    """Size and channels of a JPEG as stored, and its EXIF `orientation` from 1 to 8."""

    height: int
    width: int
    channels: int
    bits: int
    orientation: int


def is_jpeg(data: bytes) -> bool:
    return data[:3] == b"\xff\xd8\xff"


def ends_whole(data: bytes) -> bool:
    """Whether a JPEG has its end marker; a truncated file has none."""
    return data.rstrip(b"\0").endswith(b"\xff\xd9")


def jpeg_header(data: bytes) -> JpegHeader | None:
    """Read the header of a JPEG.

    Args:
        data: the file.

    Returns:
        The header; None if it is truncated, malformed, or defers the height to the end of the file.

    Example:
        >>> jpeg_header(b"not a JPEG") is None
        True
    """
    orientation, offset = 1, 2
    while is_jpeg(data) and offset + 4 <= len(data):
        if data[offset] != 0xFF:
            return None
        marker = data[offset + 1]
        if marker == 0xFF or marker in _ALONE:
            offset += 1 if marker == 0xFF else 2
            continue
        (length,) = struct.unpack_from(">H", data, offset + 2)
        body = offset + 4
        offset += 2 + length
        if marker == _START_OF_SCAN or offset > len(data):
            return None
        if marker == _EXIF and data[body : body + 6] == b"Exif\0\0":
            orientation = _exif_orientation(data[body + 6 : offset])
        elif marker in _START_OF_FRAME and length >= 8:
            bits, height, width, channels = struct.unpack_from(">BHHB", data, body)
            return JpegHeader(height, width, channels, bits, orientation) if height and width else None
    return None


def _exif_orientation(block: bytes) -> int:
    """The orientation of a TIFF block; 1 if there is none or it is unknown."""
    order = {b"II": "<", b"MM": ">"}.get(block[:2])
    try:
        (first,) = struct.unpack_from(f"{order}I", block, 4)
        (count,) = struct.unpack_from(f"{order}H", block, first)
        for entry in range(count):
            tag, _, _, value = struct.unpack_from(f"{order}HHIH", block, first + 2 + 12 * entry)
            if tag == _ORIENTATION_TAG:
                return value if 1 <= value <= 8 else 1
    except struct.error:
        pass  # EXIF is often damaged and never essential
    return 1
