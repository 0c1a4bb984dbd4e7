"""Encoded images to arrays, by the fastest decoder that is installed; where it refuses, Pillow decides."""

from __future__ import annotations

import importlib
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from orbbec.data.jpeg_header import JpegHeader, ends_whole, is_jpeg, jpeg_header
from orbbec.data.native import decode_rectangle, has_native
from orbbec.data.orientation import Rectangle, as_stored, stored_rectangle, upright, upright_size
from orbbec.transforms.checks import choice

Pixels: TypeAlias = npt.NDArray[np.uint8]

CHANNELS = {"L": 1, "RGB": 3, "RGBA": 4}
MAX_PIXELS = 100_000_000
_DEEP = ("I;16", "I;16L", "I;16B", "I;16N", "I")  # Pillow's names of gray of more than 8 bits


def decode_image(data: bytes, *, mode: str = "RGB", max_pixels: int = MAX_PIXELS) -> Pixels:
    """Decode an image, turned as EXIF says.

    JPEG is decoded by libjpeg-turbo through simplejpeg, cv2 or Pillow, whichever of these is there, with the
    bytes of `cv2.imdecode`; everything else, CMYK too, by Pillow. 16 bits become the upper 8.

    Args:
        data: a file: JPEG, PNG, WebP, BMP, TIFF, PNM or what else Pillow reads; of several images the first.
        mode: "RGB", "L" (of a JPEG the luma) or "RGBA". Alpha that is not asked for is dropped, not blended.
        max_pixels: larger images are refused before they are decoded.

    Returns:
        uint8 `[H, W, C]`.

    Raises:
        ValueError: the file is damaged, of no known format, or too large.

    Example:
        >>> decode_image(b"P5 2 1 255 " + bytes([7, 9]))[..., 0].tolist()
        [[7, 9]]
    """
    header = usable_header(data, mode, max_pixels)
    if header is not None:
        for decode in _jpeg_decoders():
            stored = decode(data, header, mode)
            if stored is not None:
                return np.ascontiguousarray(upright(stored, header.orientation))
    return _decode_by_pillow(data, mode, max_pixels)


def image_size(data: bytes) -> tuple[int, int]:
    """The size of an image without decoding it: that of `decode_image`'s result.

    Args:
        data: as that of `decode_image`.

    Returns:
        Height and width in pixels, turned as EXIF says.

    Raises:
        ValueError: the file is damaged, or of no known format.

    Example:
        >>> image_size(b"P5 2 1 255 " + bytes([7, 9]))
        (1, 2)
    """
    header = jpeg_header(data)
    if header is not None:
        return upright_size(header.height, header.width, header.orientation)
    with _pillow_image("image_size", data) as image:
        turned = image.format != "TIFF" and image.getexif().get(0x0112, 1) >= 5  # Pillow turns TIFF itself
        width, height = image.size
        return (width, height) if turned else (height, width)


def region_header(data: bytes, mode: str, max_pixels: int) -> JpegHeader | None:
    """The header of a JPEG of which `decode_region` takes parts; None of other files, which take all.

    One that is cut off is none: whether it is bad must not depend on the part that is looked at.
    """
    return usable_header(data, mode, max_pixels) if has_native() and ends_whole(data) else None


def decode_region(
    data: bytes,
    header: JpegHeader,
    part: Rectangle,
    *,
    shrink: int = 1,
    mode: str = "RGB",
    out: Pixels | None = None,
) -> Pixels:
    """Decode part of a JPEG, turned as EXIF says.

    With `shrink` 1 these are the bytes of `decode_image`.

    Args:
        data: the file.
        header: what `region_header` gave.
        part: in pixels of the upright, shrunk image.
        shrink: 1, 2, 4 or 8: only so many coefficients are used that the image is `1 / shrink` as large.
        mode: "RGB" or "L".
        out: where the part is written; None: new memory.

    Returns:
        uint8 `[height, width, C]` of the part: `out`, where that is given.

    Raises:
        ValueError: the file is damaged.
    """
    height, width = -(-header.height // shrink), -(-header.width // shrink)
    stored = stored_rectangle(part, height, width, header.orientation)
    pixels = np.empty((part.height, part.width, CHANNELS[mode]), np.uint8) if out is None else out
    decode_rectangle(
        *(data, stored.left, stored.top, stored.width, stored.height),
        shrink=shrink,
        channels=CHANNELS[mode],
        out=as_stored(pixels, header.orientation),
    )
    return pixels


def usable_header(data: bytes, mode: str, max_pixels: int) -> JpegHeader | None:
    """The header of a JPEG that every decoder here reads alike."""
    choice("decode_image", "mode", mode, tuple(CHANNELS))
    header = jpeg_header(data) if is_jpeg(data) else None
    if header is None or header.channels not in (1, 3) or header.bits != 8 or mode == "RGBA":
        return None
    _check_pixels(header.height, header.width, max_pixels)
    return header


def _check_pixels(height: int, width: int, max_pixels: int) -> None:
    if height * width > max_pixels:
        raise ValueError(
            f"decode_image: expected at most {max_pixels} pixels (max_pixels), but got {height}x{width}"
        )


JpegDecoder: TypeAlias = Callable[[bytes, JpegHeader, str], "Pixels | None"]


@cache
def _jpeg_decoders() -> tuple[JpegDecoder, ...]:
    """The fastest that is there; none where only Pillow is."""
    if has_native():
        return (_by_native,)
    if _installed("simplejpeg"):
        return (_by_simplejpeg,)
    return (_by_cv2,) if _installed("cv2") else ()


def _by_native(data: bytes, header: JpegHeader, mode: str) -> Pixels | None:
    height, width = upright_size(header.height, header.width, header.orientation)
    try:
        pixels = decode_region(data, header, Rectangle(0, 0, width, height), mode=mode)
    except ValueError:
        return None
    return as_stored(pixels, header.orientation)


def _by_simplejpeg(data: bytes, header: JpegHeader, mode: str) -> Pixels | None:
    colorspace = "GRAY" if mode == "L" else mode
    try:
        pixels: Pixels = _installed("simplejpeg").decode_jpeg(data, colorspace)
    except ValueError:
        return None
    return pixels


def _by_cv2(data: bytes, header: JpegHeader, mode: str) -> Pixels | None:
    cv2 = _installed("cv2")
    if not ends_whole(data):  # which cv2 does not tell
        return None
    flag = cv2.IMREAD_GRAYSCALE if mode == "L" else cv2.IMREAD_COLOR_RGB
    pixels: Pixels | None = cv2.imdecode(np.frombuffer(data, np.uint8), flag | cv2.IMREAD_IGNORE_ORIENTATION)
    return None if pixels is None else pixels.reshape(*pixels.shape[:2], CHANNELS[mode])


def _decode_by_pillow(data: bytes, mode: str, max_pixels: int) -> Pixels:
    with _pillow_image("decode_image", data) as image:
        _check_pixels(image.height, image.width, max_pixels)
        if mode == "L" and image.format == "JPEG":
            image.draft("L", image.size)
        turned = importlib.import_module("PIL.ImageOps").exif_transpose(image)
        pixels = np.asarray(with_8_bits(turned).convert(mode))
    return pixels.reshape(*pixels.shape[:2], CHANNELS[mode])


def with_8_bits(image: Any) -> Any:
    """The upper 8 bits of deeper gray, which Pillow itself would clip."""
    if image.mode == "F":
        raise ValueError("pixels of float have no range")
    if image.mode not in _DEEP:
        return image
    deep = np.asarray(image).astype(np.int64)
    return importlib.import_module("PIL.Image").fromarray((deep >> 8).clip(0, 255).astype(np.uint8))


@contextmanager
def _pillow_image(name: str, data: bytes) -> Iterator[Any]:
    """An opened image; whatever goes wrong with it is a ValueError."""
    pillow = _installed("PIL.Image")
    if pillow is None:
        raise ImportError(f"{name}: this image needs Pillow: pip install pillow")
    try:
        with pillow.open(io.BytesIO(data)) as image:
            yield image
    except Exception as error:  # decoders raise what they like
        if str(error).startswith(name):
            raise
        reason = "not an image that Pillow knows" if "cannot identify" in str(error) else str(error)
        raise ValueError(f"{name}: {reason} ({len(data)} bytes)") from error


@cache
def _installed(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None
