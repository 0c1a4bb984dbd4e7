"""Images damaged in every usual way."""

from __future__ import annotations

import io
import random
import struct
import zlib
from collections.abc import Callable, Iterator

from PIL import Image

from tests.support.samples import photograph

File = tuple[str, bytes]  # a name with its kind of damage, and the contents

Size = tuple[int, int]
KILOBYTE = 1024
_ORIENTATION = 0x0112  # tag of EXIF
_BOMB = 60_000  # pixels per side in a false header

# Pillow's format and its options.
FORMATS: dict[str, tuple[str, dict[str, object]]] = {
    "jpeg": ("JPEG", {"quality": 95}),
    "progressive.jpeg": ("JPEG", {"quality": 95, "progressive": True}),
    "png": ("PNG", {}),
    "webp": ("WEBP", {"lossless": True}),
    "bmp": ("BMP", {}),
    "tiff": ("TIFF", {}),
    "deflated.tiff": ("TIFF", {"compression": "tiff_deflate"}),
    "ppm": ("PPM", {}),
    "gif": ("GIF", {}),
}


def damaged_files(size: Size, flips: int, seed: int = 0) -> Iterator[File]:
    """Good images of each format, and damaged copies.

    Args:
        size: height and width of the images in pixels.
        flips: number of files of each format with 1 to 8 flipped bits.
        seed: seed of the flipped bits.

    Returns:
        Names `format/damage.suffix` and files: intact; truncated at every kilobyte; with flipped bits; with a
        gap of zeros; empty; with the suffix of another format; with a declared size beyond any memory; and
        JPEGs that were truncated and given an end marker.
    """
    chance = random.Random(seed)
    for kind in FORMATS:
        data, suffix = good_file(kind, size), kind.rpartition(".")[2]
        yield f"{kind}/whole.{suffix}", data
        yield f"{kind}/empty.{suffix}", b""
        yield f"{kind}/zeros.{suffix}", bytes(len(data))
        yield f"{kind}/named.{'png' if suffix == 'jpeg' else 'jpeg'}", data
        yield f"{kind}/huge.{suffix}", huge(suffix, data)
        middle = len(data) // 2
        yield f"{kind}/gap.{suffix}", data[:middle] + bytes(100) + data[middle + 100 :]
        for length in range(KILOBYTE, len(data), KILOBYTE):
            yield f"{kind}/cut-{length}.{suffix}", data[:length]
            if suffix == "jpeg":
                yield f"{kind}/closed-{length}.{suffix}", closed(data[:length])
        for number in range(flips):
            yield f"{kind}/flip-{number}.{suffix}", flipped(data, chance)
    yield from odd_jpegs(size)


def odd_jpegs(size: Size) -> Iterator[File]:
    """Rare but intact JPEGs: CMYK, gray, and each EXIF orientation."""
    picture = Image.fromarray(photograph(*size))
    for mode in ("CMYK", "L"):
        yield f"jpeg/{mode}.jpeg", _saved(picture.convert(mode), "JPEG")
    for orientation in range(1, 9):
        yield f"jpeg/exif-{orientation}.jpeg", good_file("jpeg", size, orientation)
        yield f"jpeg/cmyk-exif-{orientation}.jpeg", _saved(picture.convert("CMYK"), "JPEG", orientation)


def good_file(kind: str, size: Size, orientation: int = 1) -> bytes:
    format, options = FORMATS[kind]
    return _saved(Image.fromarray(photograph(*size)), format, orientation, **options)


def flipped(data: bytes, chance: random.Random) -> bytes:
    """The file with 1 to 8 flipped bits, half of them in its first 200 bytes."""
    changed = bytearray(data)
    for number in range(chance.randint(1, 8)):
        end = len(changed) if number % 2 else min(200, len(changed))
        changed[chance.randrange(end)] ^= 1 << chance.randrange(8)
    return bytes(changed)


def closed(data: bytes) -> bytes:
    """A truncated JPEG with an end marker."""
    return data + b"\xff\xd9"


def with_many_scans(data: bytes, count: int) -> bytes:
    """A progressive JPEG whose last scan is repeated."""
    last = data.rindex(b"\xff\xda")
    return data[:-2] + data[last:-2] * count + data[-2:]


def huge(suffix: str, data: bytes, side: int = _BOMB) -> bytes:
    """The file with a header that declares `side` x `side` pixels; WebP's limit is 14 bits."""
    return _HUGE[suffix](data, side)


def _huge_jpeg(data: bytes, side: int) -> bytes:
    frame = max(data.find(b"\xff\xc0"), data.find(b"\xff\xc2"))
    return _written(data, frame + 5, struct.pack(">HH", side, side))


def _huge_png(data: bytes, side: int) -> bytes:
    header = b"IHDR" + struct.pack(">II", side, side) + data[24:29]
    return _written(data, 12, header + struct.pack(">I", zlib.crc32(header)))


def _huge_webp(data: bytes, _: int) -> bytes:
    return _written(data, 21, b"\xff\xff\xff" + bytes([data[24] | 0x0F]))


def _huge_tiff(data: bytes, side: int) -> bytes:
    (first,) = struct.unpack_from("<I", data, 4)
    (count,) = struct.unpack_from("<H", data, first)
    for entry in range(first + 2, first + 2 + 12 * count, 12):
        if struct.unpack_from("<H", data, entry)[0] in (0x100, 0x101):  # width, height
            data = _written(data, entry + 2, struct.pack("<HII", 4, 1, side))
    return data


_HUGE: dict[str, Callable[[bytes, int], bytes]] = {
    "jpeg": _huge_jpeg,
    "png": _huge_png,
    "webp": _huge_webp,
    "bmp": lambda data, side: _written(data, 18, struct.pack("<ii", side, side)),
    "tiff": _huge_tiff,
    "ppm": lambda data, side: b"P6 %d %d 255 " % (side, side) + data[15:],
    "gif": lambda data, side: _written(data, 6, struct.pack("<HH", side, side)),
}


def _written(data: bytes, offset: int, new: bytes) -> bytes:
    return data[:offset] + new + data[offset + len(new) :]


def _saved(picture: Image.Image, format: str, orientation: int = 1, **options: object) -> bytes:
    if orientation != 1:
        options["exif"] = exif = Image.Exif()
        exif[_ORIENTATION] = orientation
    buffer = io.BytesIO()
    picture.save(buffer, format, **options)
    return buffer.getvalue()
