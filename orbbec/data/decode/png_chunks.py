"""The chunks of a PNG that decide about its pixels, and its EXIF."""

from __future__ import annotations

import struct
from collections.abc import Iterator

_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def is_png(data: bytes) -> bool:
    return data.startswith(_SIGNATURE)


def png_exif(data: bytes) -> list[bytes]:
    """The EXIF blocks of a PNG, from chunks `eXIf`."""
    return [data[start + 8 : end - 4] for kind, start, end in _chunks(data) if kind == b"eXIf"]


def gray_step(data: bytes) -> int:
    """The 8-bit value of the gray 1 of a PNG of up to 8 bits. Its transparent gray must be scaled by it."""
    bits = data[24]
    return 255 // ((1 << bits) - 1)


def without_metadata(data: bytes) -> bytes:
    """A PNG with its critical chunks and its transparency only, and so the first image of an animation.

    Text, ICC profiles and EXIF may be damaged, or unpack to any size.
    """
    view, end = memoryview(data), len(_SIGNATURE)
    pieces = [view[:end]]
    for kind, start, end in _chunks(data):
        is_ancillary = kind.isalpha() and kind[:1].islower()
        if not is_ancillary or kind == b"tRNS":
            pieces.append(view[start:end])
    pieces.append(view[end:])
    return b"".join(pieces) if sum(map(len, pieces)) < len(data) else data


def _chunks(data: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Kind, offset and end of each chunk, up to the first that is truncated."""
    start = len(_SIGNATURE)
    while start + 12 <= len(data):
        length, kind = struct.unpack_from(">I4s", data, start)
        end = start + 12 + length
        if end > len(data):
            return
        yield kind, start, end
        start = end
