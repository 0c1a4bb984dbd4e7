"""Images with the dtype and channels of their file: 16 bits, floats, more than four channels."""

from __future__ import annotations

import io
import math
import zipfile
from importlib import import_module
from typing import Any

import numpy as np

from orbbec.bridge.arguments import Array
from orbbec.data.decode.by_pillow import opened
from orbbec.data.decode.exif import exif_orientation
from orbbec.data.decode.modes import check_pixels, pixels_of, widest_mode
from orbbec.data.decode.orientation import upright
from orbbec.data.decode.png_chunks import is_png
from orbbec.data.decode.pnm import deep_pnm

DTYPES = ("uint8", "uint16", "float16", "float32")
_NPY, _NPZ, _TIFF = b"\x93NUMPY", b"PK\x03\x04", (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
_DEPTH, _COLORS = 24, 25  # offsets of bits per channel, and of the kind of colors, in a PNG
_GRAY = 0
# Markers that begin a codestream, and from there the offset of the bits of the first channel, less one.
_JPEG_2000_SIZE, _JPEG_2000_BITS = b"\xff\x4f\xff\x51", 42
_MOST_BYTES = 64  # per pixel: 16 channels of 32 bits
_BITS, _CHANNELS = 258, 277  # tags of TIFF
_INVERTED_GRAY = 0  # white
_MOST_OF_PILLOW = 4  # channels


def checked_pixels(pixels: Any) -> Array:
    """An image as `[H, W, C]`; ValueError without pixels, or of a dtype that pipelines do not take.

    Example:
        >>> checked_pixels(np.zeros((4, 6), np.uint16)).shape
        (4, 6, 1)
    """
    if pixels.ndim not in (2, 3) or 0 in pixels.shape or pixels.dtype.name not in DTYPES:
        raise ValueError(
            f"expected pixels {', '.join(DTYPES)} [H, W, C], but got {pixels.dtype} {list(pixels.shape)}"
        )
    image = pixels if pixels.ndim == 3 else pixels[:, :, None]
    return np.asarray(image, image.dtype.newbyteorder("="))


def decode_unchanged(data: bytes, max_pixels: int, apply_exif_orientation: bool = True) -> Array:
    """Decode an image file, or an array `[H, W]` or `[H, W, C]` of an `.npy` or `.npz` file, as `[H, W, C]`.

    Its dtype and channels are unchanged: uint8, uint16, float16 or float32.

    Palettes and CMYK become RGB. Colors of more than 8 bits in PNG and JPEG 2000 need OpenCV; AVIF keeps 8
    bits. TIFF needs tifffile, unless it has 1, 3 or 4 channels of 8 bits or one of 16.

    Example:
        >>> file = io.BytesIO()
        >>> np.save(file, np.full((2, 3, 7), 40000, np.uint16))
        >>> decode_unchanged(file.getvalue(), 100).shape
        (2, 3, 7)
    """
    if data.startswith((_NPY, _NPZ)):
        pixels = checked_pixels(_array_of(data if data.startswith(_NPY) else _member_of(data, max_pixels)))
        check_pixels(pixels.shape[0], pixels.shape[1], max_pixels)
        return pixels
    deep = deep_pnm(data, max_pixels)
    if deep is not None:
        return deep[0]
    if data.startswith(_TIFF):
        pixels, orientation = _decoded_tiff(data, max_pixels)
    else:
        with opened("decode_image", data, max_pixels) as (image, orientation):
            pixels = _deep_colors(data) if _has_deep_colors(data, image) else _stored(image)
    return np.ascontiguousarray(upright(checked_pixels(pixels), orientation if apply_exif_orientation else 1))


def _stored(image: Any) -> Array:
    """The pixels of an open image."""
    if image.mode.startswith("I;16") or image.mode == "F":
        return np.asarray(image)
    if image.mode == "I" and image.format == "PNG":
        return np.asarray(image).astype(np.uint16)
    return pixels_of(image, widest_mode(image))


def _has_deep_colors(data: bytes, image: Any) -> bool:
    """Whether a PNG or JPEG 2000 has colors of more than 8 bits, of which Pillow keeps 8."""
    if is_png(data):
        return data[_DEPTH : _DEPTH + 1] == b"\x10" and data[_COLORS] != _GRAY
    if image.format != "JPEG2000" or image.mode not in ("RGB", "RGBA"):
        return False
    at = data.find(_JPEG_2000_SIZE) + _JPEG_2000_BITS
    [bits] = data[at : at + 1] or b"\0"
    return bits >= 8


def _deep_colors(data: bytes) -> Array:
    cv2 = _package("cv2", "opencv-python-headless")
    pixels = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    if pixels is None:
        raise ValueError("OpenCV cannot decode it")
    colors = np.array([2, 1, 0, 3][: pixels.shape[2]])
    return np.asarray(pixels[..., colors])


def _decoded_tiff(data: bytes, max_pixels: int) -> tuple[Array, int]:
    """The pixels of a TIFF as stored, and its orientation."""
    try:
        with opened("decode_image", data, max_pixels) as (image, orientation):
            tags = image.tag_v2
            is_deep = max(tags.get(_BITS, (8,))) > 8 or tags.get(_CHANNELS, 1) > _MOST_OF_PILLOW
            is_float = image.mode == "F" and not data.startswith(b"MM")  # whose bytes Pillow swaps twice
            if not is_deep or image.mode.startswith("I;16") or is_float:
                return _stored(image), orientation
    except ValueError as error:
        if "Pillow knows" not in str(error):
            raise
    tifffile = _package("tifffile", "tifffile")
    try:
        with tifffile.TiffFile(io.BytesIO(data)) as file:
            page = file.pages[0]
            check_pixels(page.imagelength, page.imagewidth, max_pixels)
            if page.nbytes > _MOST_BYTES * max_pixels:
                raise ValueError(f"decode_image: expected at most {_MOST_BYTES} bytes per pixel")
            pixels = np.asarray(page.asarray())
            pixels = np.moveaxis(pixels, 0, -1) if page.axes.startswith("S") else pixels
            if page.photometric == _INVERTED_GRAY and pixels.dtype == np.uint8:
                pixels = 255 - pixels
    except Exception as error:  # of many kinds
        reason = str(error).removeprefix("decode_image: ")
        raise ValueError(f"decode_image: {reason} ({len(data)} bytes)") from error
    return pixels, exif_orientation(data)


def _package(name: str, project: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise ValueError(f"its 16-bit colors or channels need the package {project}") from error


def _array_of(data: bytes) -> Array:
    """The array of an `.npy` file, whose header may not ask for more memory than there are bytes."""
    file = io.BytesIO(data)
    try:
        is_old = np.lib.format.read_magic(file) == (1, 0)
        read = np.lib.format.read_array_header_1_0 if is_old else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read(file)
    except Exception as error:  # its header is a Python literal
        raise ValueError(f"decode_image: the .npy file is damaged: {error}") from error
    begin = file.tell()
    if (
        dtype.hasobject
        or any(side < 0 for side in shape)
        or math.prod(shape) * dtype.itemsize != len(data) - begin
    ):
        raise ValueError(
            f"decode_image: expected {dtype} {list(shape)} as the .npy file says, but got "
            f"{len(data) - begin} bytes"
        )
    return np.frombuffer(bytearray(data), dtype, offset=begin).reshape(shape, order="F" if fortran else "C")


def _member_of(data: bytes, max_pixels: int) -> bytes:
    """The only array of an `.npz` file."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
            if len(members) != 1 or members[0].file_size > _MOST_BYTES * max_pixels:
                sizes = {member.filename: member.file_size for member in members}
                raise ValueError(
                    f"expected one array of at most {_MOST_BYTES * max_pixels} bytes, but got {sizes}"
                )
            return archive.read(members[0])
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        raise ValueError(f"decode_image: the .npz file is damaged: {error}") from error
