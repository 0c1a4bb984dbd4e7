"""Decoding by Pillow, which is given only what decides about pixels."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from orbbec.data.decode import jpeg_header, png_chunks
from orbbec.data.decode.exif import exif_orientation, without_orientation
from orbbec.data.decode.jpeg_header import is_jpeg
from orbbec.data.decode.modes import Pixels, check_pixels, pixels_of, with_channels
from orbbec.data.decode.orientation import upright, upright_size
from orbbec.data.decode.png_chunks import is_png, png_exif
from orbbec.data.decode.pnm import deep_pnm, upper_bits

# Largest expansion per byte: deflate 1,032, 12-bit LZW 2,731, run lengths 127.5. Other formats are unbounded:
# WebP, AVIF and JPEG 2000 store a single color of any size in a few bytes.
_MAX_PIXELS_OF_BYTE = {"PNG": 8 * 1032, "GIF": 2731, "BMP": 128, "DIB": 128, "PPM": 8}
MAX_PIXELS_OF_SIZE = 1 << 28  # of an image whose size is asked for: an icon is decoded for it
_BITS, _CHANNELS, _PLANAR, _SEPARATE = 258, 277, 284, 2  # tags of TIFF, and a value of the last
# The type of an item, in its `infe` box. libavif refuses files with damaged EXIF.
_AVIF_EXIF = re.compile(rb"(infe(?:\x02.{7}|\x03.{9}))Exif", re.DOTALL)


def decode_by_pillow(data: bytes, mode: str, max_pixels: int, apply_exif_orientation: bool) -> Pixels:
    """Decode an image of any format; see `decode_image`."""
    with opened("decode_image", data, max_pixels) as (image, orientation):
        limit = _MAX_PIXELS_OF_BYTE.get(image.format, max_pixels) * len(data)
        if image.height * image.width > limit:
            raise ValueError(f"too few bytes for {image.height}x{image.width} pixels")
        if image.format == "TIFF" and _is_deep_in_planes(image.tag_v2):
            raise ValueError("Pillow misreads 16-bit colors in separate planes; interleave them")
        if mode == "L" and image.format == "JPEG":
            image.draft("L", image.size)
        deep = deep_pnm(data, max_pixels) if image.format == "PPM" and image.mode == "RGB" else None
        pixels = pixels_of(image, mode) if deep is None else with_channels(upper_bits(*deep), mode)
    return np.ascontiguousarray(upright(pixels, orientation if apply_exif_orientation else 1))


def _is_deep_in_planes(tags: Any) -> bool:
    is_deep = max(tags.get(_BITS, (8,))) > 8 and tags.get(_CHANNELS, 1) > 1
    return bool(is_deep and tags.get(_PLANAR, 1) == _SEPARATE)


def size_by_pillow(data: bytes, apply_exif_orientation: bool) -> tuple[int, int]:
    """The size of an image of any format; see `image_size`."""
    with opened("image_size", data, MAX_PIXELS_OF_SIZE) as (image, orientation):
        return upright_size(image.height, image.width, orientation if apply_exif_orientation else 1)


@contextmanager
def opened(name: str, data: bytes, max_pixels: int) -> Iterator[tuple[Any, int]]:
    """An open image as stored, and its orientation; any error becomes a ValueError."""
    try:
        pillow = import_module("orbbec.data.decode.pillow")
    except ImportError as error:
        raise ImportError(f"{name}: this image needs Pillow: pip install pillow") from error
    check = partial(check_pixels, max_pixels=max_pixels, name=name)
    try:
        with pillow.open_image(_bare(data), check) as image:
            if is_png(data) and image.mode == "L" and "transparency" in image.info:
                image.info["transparency"] *= png_chunks.gray_step(data)
            yield image, _orientation(data, image)
    except Exception as error:  # decoders raise many kinds of errors
        if str(error).startswith(name):
            raise
        reason = "not an image that Pillow knows" if "cannot identify" in str(error) else str(error)
        raise ValueError(f"{name}: {reason} ({len(data)} bytes)") from error


def _bare(data: bytes) -> bytes:
    """The file without what Pillow may stumble over or orients by."""
    if is_jpeg(data):
        return jpeg_header.without_metadata(data)
    if data[4:11] == b"ftypavi":
        return _AVIF_EXIF.sub(rb"\1skip", data)
    return png_chunks.without_metadata(data) if is_png(data) else without_orientation(data)


def _orientation(data: bytes, image: Any) -> int:
    if is_jpeg(data):
        header = jpeg_header.jpeg_header(data)
        return 1 if header is None else header.orientation
    if is_png(data):
        return exif_orientation(*png_exif(data))
    return exif_orientation(data if image.format == "TIFF" else image.info.get("exif", b""))
