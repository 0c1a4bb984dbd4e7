"""What shared libraries say of JPEGs.

The binary of the operators decodes baseline JPEGs, parts and planes of them. `_jpeg.abi3.so`, there where
`3rdparty/vendor.py` built it, decodes by libjpeg-turbo what that does not: other JPEGs, and smaller images.
`_jpeg_check.abi3.so`, always there, tells damage.
"""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from orbbec._library import library_path
from orbbec.batch.plane_batch import SAMPLINGS

_MESSAGE_BYTES = 200  # what libjpeg-turbo writes at most
_VERDICTS = ("", "damaged", "unknown", "bomb")  # the numbers of jpeg_check.cpp
_INT, _POINTER = ctypes.c_int, ctypes.c_void_p
_RECTANGLE: list[Any] = [
    *(ctypes.c_char_p, ctypes.c_size_t, *[_INT] * 6),
    *(_POINTER, ctypes.c_ssize_t, ctypes.c_ssize_t, ctypes.c_char_p),
]
_PLANES: list[Any] = [ctypes.c_char_p, ctypes.c_size_t, *[_INT] * 3, _POINTER, ctypes.c_char_p]
_UNKNOWN_KIND = 2  # the number of decode_cpu.cpp


@cache
def _decoder() -> Any:
    """The functions of orbbec's own decoder; calls of them release the GIL."""
    library = ctypes.CDLL(str(library_path()))
    library.orbbec_jpeg_is_known.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    library.orbbec_jpeg_decode.argtypes = _RECTANGLE
    library.orbbec_jpeg_decode_planes.argtypes = _PLANES
    return library


@cache
def _library() -> Any:
    """Its functions; calls of them release the GIL. None where it was not built."""
    path = Path(__file__).with_name("_jpeg.abi3.so")
    if not path.exists():
        return None
    library = ctypes.CDLL(str(path))
    text, size = ctypes.c_char_p, ctypes.c_size_t
    library.orbbec_jpeg_region.argtypes = _RECTANGLE
    library.orbbec_jpeg_sampling.argtypes = [text, size]
    library.orbbec_jpeg_planes.argtypes = _PLANES
    return library


@cache
def _checker() -> Any:
    path = Path(__file__).with_name("_jpeg_check.abi3.so")
    if not path.exists():
        raise ImportError(f"orbbec.data: no library at {path}; build it with `python setup.py develop`")
    library = ctypes.CDLL(str(path))
    library.orbbec_jpeg_check.argtypes = [ctypes.c_char_p, ctypes.c_size_t, _INT, ctypes.c_char_p]
    return library


class Verdict(NamedTuple):
    """What is wrong with a JPEG: "" for nothing, "damaged", "unknown" or "bomb"; and the reason."""

    kind: str
    reason: str


def check_jpeg(data: bytes, *, walks: bool) -> Verdict:
    """Check a JPEG without decoding it.

    Args:
        data: the file.
        walks: read the entropy-coded data to their end, which takes three quarters of the time of decoding
            here; a progressive file nearly as long. False: the headers alone, which takes some microseconds.

    Returns:
        "damaged": the data break off, a restart marker or a scan is missing, a table or, in a progressive
        file, a code is bad. "unknown": it is of arithmetic or lossless coding. "bomb": it is shorter than so
        many pixels can be, or has scans without end.

    Example:
        >>> check_jpeg(b"text", walks=True)
        Verdict(kind='damaged', reason='no JPEG')
    """
    message = ctypes.create_string_buffer(_MESSAGE_BYTES)
    kind = _VERDICTS[_checker().orbbec_jpeg_check(data, len(data), walks, message)]
    return Verdict(kind, message.value.decode())


def has_native() -> bool:
    """Whether libjpeg-turbo was built in, which decodes all JPEGs, smaller ones and planes of them."""
    return _library() is not None


def decodes_rectangles(data: bytes) -> bool:
    """Whether rectangles of this JPEG can be decoded here, if it is not damaged."""
    return has_native() or bool(_decoder().orbbec_jpeg_is_known(data, len(data)))


def decode_rectangle(
    data: bytes,
    left: int,
    top: int,
    width: int,
    height: int,
    *,
    shrink: int = 1,
    channels: int = 3,
    out: npt.NDArray[np.uint8] | None = None,
) -> npt.NDArray[np.uint8]:
    """Decode a rectangle of a JPEG as it is stored, which is not turned by EXIF.

    Args:
        data: the file.
        left: of the rectangle, in pixels of the shrunk image, as the three others.
        top: its first row.
        width: from 1.
        height: from 1.
        shrink: 1, 2, 4 or 8: the image is `1 / shrink` as large, rounded up.
        channels: 3, RGB; or 1, the luma.
        out: where to write, of the shape of the result: any view whose channels lie side by side.

    Returns:
        uint8 `[height, width, channels]`; `out` where that is given.

    Raises:
        ValueError: the file is damaged, the rectangle leaves the image, or libjpeg-turbo, which is not
            built in, is needed.
    """
    message = ctypes.create_string_buffer(_MESSAGE_BYTES)
    shape = (max(height, 0), max(width, 0), channels)
    pixels = np.empty(shape, np.uint8) if out is None else out
    is_apart = pixels.size and channels > 1 and pixels.strides[2] != 1
    if pixels.shape != shape or pixels.dtype != np.uint8 or is_apart:
        raise ValueError(f"decode_rectangle: expected out of shape {list(shape)} with contiguous channels")
    down, across, _ = pixels.strides
    arguments = (
        *(data, len(data), shrink, channels, left, top, width, height),
        *(pixels.ctypes.data, down, across, message),
    )
    failed = _decoder().orbbec_jpeg_decode(*arguments)
    if failed and has_native():  # which knows more kinds, and decides on what is damaged
        failed = _library().orbbec_jpeg_region(*arguments)
    if failed == _UNKNOWN_KIND:
        raise ValueError("decode_rectangle: only libjpeg-turbo, which is not built in, decodes this file so")
    if failed:
        raise ValueError(message.value.decode(errors="replace"))
    return pixels


def sampling_of(data: bytes) -> str:
    """How a JPEG holds its pixels: one of `SAMPLINGS`."""
    return SAMPLINGS[_library().orbbec_jpeg_sampling(data, len(data))]


def decode_planes_into(
    data: bytes, height: int, width: int, sampling: str, out: npt.NDArray[np.uint8]
) -> None:
    """Decode the planes of a JPEG as they are stored: luma, and where there is chroma, blueness and redness.

    Args:
        data: the file.
        height: of the stored image.
        width: of the stored image.
        sampling: what `sampling_of` gave, but "rgb".
        out: uint8, flat, contiguous, as long as the planes, which are written there one after the other.

    Raises:
        ValueError: the file is damaged, or another than was said.
    """
    message = ctypes.create_string_buffer(_MESSAGE_BYTES)
    arguments = data, len(data), height, width, SAMPLINGS.index(sampling), out.ctypes.data, message
    if _decoder().orbbec_jpeg_decode_planes(*arguments) and _library().orbbec_jpeg_planes(*arguments):
        raise ValueError(message.value.decode(errors="replace"))
