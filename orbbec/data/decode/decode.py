"""Decode images with the fastest installed decoder. Every decoder refuses damaged files."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from orbbec.data.decode.by_pillow import MAX_PIXELS_OF_SIZE, decode_by_pillow, size_by_pillow
from orbbec.data.decode.codecs import decode_by_codec, size_by_codec
from orbbec.data.decode.jpeg_header import JpegHeader, ends_whole, is_jpeg, jpeg_header
from orbbec.data.decode.modes import CHANNELS, Pixels, check_pixels
from orbbec.data.decode.native import check_jpeg, decode_rectangle, decodes_rectangles, has_native
from orbbec.data.decode.orientation import Rectangle, as_stored, stored_rectangle, upright, upright_size
from orbbec.transforms.base.checks import choice, flag, whole

MAX_PIXELS = 100_000_000
_END_OF_IMAGE = b"\xff\xd9"


def decode_image(
    data: bytes,
    *,
    mode: str = "RGB",
    max_pixels: int = MAX_PIXELS,
    on_damage: str = "raise",
    apply_exif_orientation: bool = True,
) -> Pixels:
    """Decode an image, and apply its EXIF orientation unless requested otherwise.

    orbbec decodes baseline JPEG itself. libjpeg-turbo decodes other JPEGs, either built in or from
    simplejpeg, cv2 or Pillow; the bytes are those of `cv2.imdecode`. PNG and WebP are decoded with libspng
    and libwebp, if built in, to the bytes of Pillow, which decodes everything else, CMYK included. 16-bit
    values keep their upper 8 bits.

    Args:
        data: a file: JPEG, PNG, WebP, BMP, TIFF, PNM or any format of Pillow; the first image of several.
        mode: "RGB", "L" (the luma of a JPEG) or "RGBA". Alpha is dropped, not blended, unless requested.
        max_pixels: larger images are refused before decoding.
        on_damage: for a JPEG that is truncated or lacks a scan or a restart marker, and for arithmetic or
            lossless coding, whose damage cannot be detected: "raise", or "keep" what Pillow decodes.
            Damage that leaves valid codes is not detectable.
        apply_exif_orientation: rotate and flip the image as its EXIF orientation says; False: the pixels as
            stored. Damaged EXIF is no orientation.

    Returns:
        uint8 `[H, W, C]`.

    Raises:
        ValueError: the file is damaged, of unknown format, too large, too short for its pixels, or its pixels
            are floats or 32-bit integers, which have no known range.

    Example:
        >>> decode_image(b"P5 2 1 255 " + bytes([7, 9]))[..., 0].tolist()
        [[7, 9]]
    """
    check_file_rules("decode_image", max_pixels, apply_exif_orientation)
    header = usable_header(data, mode, max_pixels, on_damage, apply_exif_orientation)
    if header is not None:
        with suppress(ValueError):
            area = Rectangle(0, 0, *reversed(upright_size(header.height, header.width, header.orientation)))
            return decode_region(data, header, area, mode=mode)
    if is_jpeg(data) and on_damage == "raise":
        check_whole(data)
        if header is not None:
            for decode in _jpeg_decoders():
                stored = decode(data, mode)
                if stored is not None:
                    return np.ascontiguousarray(upright(stored, header.orientation))
    elif is_jpeg(data) and not ends_whole(data):
        data += _END_OF_IMAGE  # Pillow refuses files without it
    pixels = decode_by_codec(data, mode, max_pixels, apply_exif_orientation)
    return decode_by_pillow(data, mode, max_pixels, apply_exif_orientation) if pixels is None else pixels


def check_file_rules(op: str, max_pixels: object, apply_exif_orientation: object) -> None:
    """Check two arguments of the functions that decode."""
    whole(op, "max_pixels", max_pixels, 1)
    flag(op, "apply_exif_orientation", apply_exif_orientation)


def image_size(data: bytes, *, apply_exif_orientation: bool = True) -> tuple[int, int]:
    """The size of `decode_image`'s result, without decoding.

    Args:
        data: see `decode_image`.
        apply_exif_orientation: see `decode_image`.

    Returns:
        Height and width in pixels, after EXIF orientation if it is applied.

    Raises:
        ValueError: the file is damaged or of unknown format.

    Example:
        >>> image_size(b"P5 2 1 255 " + bytes([7, 9]))
        (1, 2)
    """
    flag("image_size", "apply_exif_orientation", apply_exif_orientation)
    header = jpeg_header(data)
    if header is None:
        size = size_by_codec(data, MAX_PIXELS_OF_SIZE, apply_exif_orientation)
        return size_by_pillow(data, apply_exif_orientation) if size is None else size
    return upright_size(header.height, header.width, header.orientation if apply_exif_orientation else 1)


def region_header(
    data: bytes, mode: str, max_pixels: int, on_damage: str = "raise", apply_exif_orientation: bool = True
) -> JpegHeader | None:
    """The header of a JPEG whose regions `decode_region` can decode; None for other files.

    None also for truncated files: whether a file is bad must not depend on the region.
    """
    header = usable_header(data, mode, max_pixels, on_damage, apply_exif_orientation)
    return header if header is not None and ends_whole(data) and decodes_rectangles(data) else None


def planes_header(
    data: bytes, mode: str, max_pixels: int, on_damage: str, apply_exif_orientation: bool
) -> JpegHeader | None:
    """The header of a JPEG whose planes can be decoded; None for other files or without libjpeg-turbo."""
    header = region_header(data, mode, max_pixels, on_damage, apply_exif_orientation)
    return header if has_native() else None


def decode_region(
    data: bytes,
    header: JpegHeader,
    part: Rectangle,
    *,
    shrink: int = 1,
    mode: str = "RGB",
    out: Pixels | None = None,
) -> Pixels:
    """Decode a region of a JPEG and apply the orientation of `header`.

    With `shrink` 1 the bytes equal those of `decode_image`.

    Args:
        data: the file.
        header: the result of `region_header`.
        part: the region, in pixels of the upright, shrunk image.
        shrink: 1, 2, 4 or 8: decode at `1 / shrink` of the resolution, from fewer coefficients.
        mode: "RGB" or "L".
        out: output buffer; None: new memory.

    Returns:
        uint8 `[height, width, C]`; `out` if given.

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


def usable_header(
    data: bytes, mode: str, max_pixels: int, on_damage: str, apply_exif_orientation: bool
) -> JpegHeader | None:
    """The header of a JPEG that all decoders here decode identically.

    Its orientation is 1 if it is not to be applied.

    Raises:
        ValueError: an argument is invalid, the image is too large, or the file is built to exhaust time or
            memory.
    """
    choice("decode_image", "mode", mode, tuple(CHANNELS))
    choice("decode_image", "on_damage", on_damage, ("raise", "keep"))
    if not is_jpeg(data):
        return None
    header = jpeg_header(data)
    if header is not None:
        check_pixels(header.height, header.width, max_pixels)
    kind, reason = check_jpeg(data, walks=False)
    if kind == "bomb" or (kind == "unknown" and on_damage == "raise"):
        raise _refusal(data, kind, reason)
    if header is None or header.channels not in (1, 3) or header.bits != 8 or mode == "RGBA":
        return None
    return header if apply_exif_orientation else header._replace(orientation=1)


def check_whole(data: bytes) -> None:
    """Check that a JPEG is not damaged.

    Raises:
        ValueError: it is damaged, or damage cannot be detected.
    """
    kind, reason = check_jpeg(data, walks=True)
    if kind:
        raise _refusal(data, kind, reason)


def _refusal(data: bytes, kind: str, reason: str) -> ValueError:
    said = {"bomb": reason, "damaged": f"the JPEG is damaged: {reason}"}
    unknown = f"damage of a JPEG {reason} cannot be detected; on_damage='keep' decodes it"
    return ValueError(f"decode_image: {said.get(kind, unknown)} ({len(data)} bytes)")


JpegDecoder: TypeAlias = Callable[[bytes, str], "Pixels | None"]


@cache
def _jpeg_decoders() -> tuple[JpegDecoder, ...]:
    """Fallback decoders of whole JPEGs; empty if only Pillow is installed."""
    if _installed("simplejpeg"):
        return (_by_simplejpeg,)
    return (_by_cv2,) if _installed("cv2") else ()


def _by_simplejpeg(data: bytes, mode: str) -> Pixels | None:
    colorspace = "GRAY" if mode == "L" else mode
    try:
        pixels: Pixels = _installed("simplejpeg").decode_jpeg(data, colorspace)
    except ValueError:
        return None
    return pixels


def _by_cv2(data: bytes, mode: str) -> Pixels | None:
    cv2 = _installed("cv2")
    flag = cv2.IMREAD_GRAYSCALE if mode == "L" else cv2.IMREAD_COLOR_RGB
    pixels: Pixels | None = cv2.imdecode(np.frombuffer(data, np.uint8), flag | cv2.IMREAD_IGNORE_ORIENTATION)
    return None if pixels is None else pixels.reshape(*pixels.shape[:2], CHANNELS[mode])


@cache
def _installed(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None
