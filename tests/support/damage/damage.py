"""Images that are broken in every way that files break, made of good ones."""

from __future__ import annotations

import io
import random
import struct
import zlib
from collections.abc import Callable, Iterator

from PIL import Image

from tests.support.samples import photograph

File = tuple[str, bytes]  # a name with its kind of damage, and what is in it

Size = tuple[int, int]
KILOBYTE = 1024
_ORIENTATION = 0x0112  # tag of EXIF
_BOMB = 60_000  # pixels along each side that a header promises

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
    """Good images of each format, and what damage makes of them.

    Args:
        size: height and width of the images in pixels.
        flips: how many files of each format have 1 to 8 of their bits flipped.
        seed: of the bits.

    Returns:
        Names `format/damage.suffix` and files: whole; cut off at every kilobyte; with flipped bits; with a
        stretch of zeros; empty; under the suffix of another format; of a size that no memory holds; and JPEGs
        that were cut off and given the marker of their end again.
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
    """JPEGs that are whole, and seldom: CMYK, gray, and each orientation of EXIF."""
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
    """The file with 1 to 8 of its bits flipped, half of these among its first 200 bytes."""
    changed = bytearray(data)
    for number in range(chance.randint(1, 8)):
        end = len(changed) if number % 2 else min(200, len(changed))
        changed[chance.randrange(end)] ^= 1 << chance.randrange(8)
    return bytes(changed)


def closed(data: bytes) -> bytes:
    """A JPEG that was cut off, with the marker of its end."""
    return data + b"\xff\xd9"


def with_many_scans(data: bytes, count: int) -> bytes:
    """A progressive JPEG whose last scan comes so many times more."""
    last = data.rindex(b"\xff\xda")
    return data[:-2] + data[last:-2] * count + data[-2:]


def huge(suffix: str, data: bytes, side: int = _BOMB) -> bytes:
    """The file with a header that promises `side` x `side` pixels: WebP as many as its 14 bits hold."""
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
