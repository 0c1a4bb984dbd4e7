"""The header of a JPEG: size, channels and EXIF orientation."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from orbbec.data.decode.exif import EXIF_PREFIX, exif_orientation

_START_OF_FRAME = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}  # these three define tables or are reserved
_ALONE = {0x01, *range(0xD0, 0xD9)}  # markers without a length
_EXIF, _START_OF_SCAN, _COMMENT = 0xE1, 0xDA, 0xFE
# Least bytes of the segments by which libjpeg knows the color space: JFIF and Adobe.
_COLOR_SPACE = {0xE0: (b"JFIF\0", 14), 0xEE: (b"Adobe", 12)}


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
    """The header of a JPEG; None if it is truncated, malformed, or defers the height to the end of the file.

    Example:
        >>> jpeg_header(b"not a JPEG") is None
        True
    """
    frame: tuple[int, int, int, int] | None = None
    blocks = []
    for marker, _, body, end in _segments(data):
        if marker == _EXIF and data.startswith(EXIF_PREFIX, body, end):
            blocks.append(data[body:end])
        elif marker in _START_OF_FRAME and end - body >= 6 and frame is None:
            frame = struct.unpack_from(">BHHB", data, body)
    if frame is None:
        return None
    bits, height, width, channels = frame
    return JpegHeader(height, width, channels, bits, exif_orientation(*blocks)) if height and width else None


def without_metadata(data: bytes) -> bytes:
    """A JPEG without comments and the segments of applications, except those that define its color space."""
    view, end = memoryview(data), 2
    pieces = [view[:end]]
    for marker, start, body, end in _segments(data):
        name, least = _COLOR_SPACE.get(marker, (b"", 0))
        is_metadata = marker == _COMMENT or 0xE0 <= marker <= 0xEF
        if not is_metadata or (name and data.startswith(name, body) and end - body >= least):
            pieces.append(view[start:end])
    if data[end : end + 1] != b"\xff":
        return data  # bytes between segments, which libjpeg skips, must not follow the first marker
    return b"".join([*pieces, view[end:]])


def _segments(data: bytes) -> Iterator[tuple[int, int, int, int]]:
    """The segments before the first scan, up to the first malformed one.

    Each is its marker, and the offsets of the marker, the content and the end.
    """
    offset, last = 2, len(data) - 4 if is_jpeg(data) else -1
    while offset <= last and data[offset] == 0xFF:
        marker = data[offset + 1]
        if marker == 0xFF or marker in _ALONE:
            offset += 1 if marker == 0xFF else 2
            continue
        length = data[offset + 2] << 8 | data[offset + 3]
        end = offset + 2 + length
        if marker == _START_OF_SCAN or length < 2 or end > len(data):
            return
        yield marker, offset, offset + 4, end
        offset = end
