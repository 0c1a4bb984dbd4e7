"""The EXIF orientation of an image. Damaged EXIF is common and never makes an image unreadable."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

EXIF_PREFIX = b"Exif\0\0"
_ORIENTATION = 0x0112  # tag
_SHORT = 3


class _Layout(NamedTuple):
    """The layout of a TIFF block: formats of `struct`, and offsets in bytes."""

    first: str  # offset of the first directory
    first_at: int
    length: str  # number of entries of a directory
    entry_bytes: int
    value_at: int  # in an entry


_LAYOUTS = {
    42: _Layout("I", 4, "H", 12, 8),
    43: _Layout("Q", 8, "Q", 20, 12),  # BigTIFF
}


def exif_orientation(*blocks: bytes) -> int:
    """The orientation, 1 to 8, that the first of some EXIF blocks with an orientation states; else 1.

    A block begins with the prefix `Exif` or without it, and may be a TIFF file.

    It is the 16-bit value of tag 0x0112 of the first directory, whatever type the entry declares, as in
    OpenCV. Anything else, such as the orientation of XMP, is ignored.

    Example:
        >>> exif_orientation(b"damaged", bytes.fromhex("4d4d002a00000008 0001 0112000300000001 00060000"))
        6
    """
    for block in blocks:
        tiff = block.removeprefix(EXIF_PREFIX)
        for order, _, value_at in _orientations(tiff):
            (value,) = struct.unpack_from(f"{order}H", tiff, value_at)
            return value if 1 <= value <= 8 else 1
    return 1


def without_orientation(tiff: bytes) -> bytes:
    """A TIFF file whose first image has orientation 1."""
    entries = list(_orientations(tiff))
    if not entries:
        return tiff
    result = bytearray(tiff)
    for order, entry, value_at in entries:
        count = "I" if value_at - entry == 8 else "Q"
        struct.pack_into(f"{order}HH{count}", result, entry, _ORIENTATION, _SHORT, 1)
        struct.pack_into(f"{order}HH", result, value_at, 1, 0)
    return bytes(result)


def _orientations(tiff: bytes) -> Iterator[tuple[str, int, int]]:
    """Byte order, offset and offset of the value of each orientation in the first directory."""
    order = {b"II": "<", b"MM": ">"}.get(tiff[:2])
    if order is None:
        return
    with suppress(struct.error, OverflowError):  # damaged
        (version,) = struct.unpack_from(f"{order}H", tiff, 2)
        layout = _LAYOUTS.get(version)
        if layout is None:
            return
        (first,) = struct.unpack_from(order + layout.first, tiff, layout.first_at)
        (count,) = struct.unpack_from(order + layout.length, tiff, first)
        begin = first + struct.calcsize(order + layout.length)
        for entry in range(begin, begin + count * layout.entry_bytes, layout.entry_bytes):
            tag, _ = struct.unpack_from(f"{order}HH", tiff, entry)
            struct.unpack_from(f"{order}HH", tiff, entry + layout.value_at)  # the entry is whole
            if tag == _ORIENTATION:
                yield order, entry, entry + layout.value_at
