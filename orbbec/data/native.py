"""Rectangles of JPEGs, by `_jpeg.abi3.so`: built where `3rdparty/vendor.py` has fetched libjpeg-turbo."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

_MESSAGE_BYTES = 200  # what libjpeg-turbo writes at most
_INT, _POINTER = ctypes.c_int, ctypes.c_void_p


@cache
def _function() -> Any:
    path = Path(__file__).with_name("_jpeg.abi3.so")
    if not path.exists():
        return None
    function = ctypes.CDLL(str(path)).orbbec_jpeg_region  # calls of it release the GIL
    text, step = ctypes.c_char_p, ctypes.c_ssize_t
    function.argtypes = [text, ctypes.c_size_t, *[_INT] * 6, _POINTER, step, step, text]
    function.restype = _INT
    return function


def has_native() -> bool:
    """Whether rectangles of JPEGs can be decoded here."""
    return _function() is not None


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
        ValueError: the file is damaged, or the rectangle leaves the image.
    """
    message = ctypes.create_string_buffer(_MESSAGE_BYTES)
    shape = (max(height, 0), max(width, 0), channels)
    pixels = np.empty(shape, np.uint8) if out is None else out
    is_apart = pixels.size and channels > 1 and pixels.strides[2] != 1
    if pixels.shape != shape or pixels.dtype != np.uint8 or is_apart:
        raise ValueError(f"decode_rectangle: expected out of shape {list(shape)} with contiguous channels")
    down, across, _ = pixels.strides
    failed = _function()(
        *(data, len(data), shrink, channels, left, top, width, height),
        *(pixels.ctypes.data, down, across, message),
    )
    if failed:
        raise ValueError(message.value.decode(errors="replace"))
    return pixels
