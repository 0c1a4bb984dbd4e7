"""Bindings of the shared libraries that decode.

The operators' library decodes baseline JPEGs, whole, by region, or as planes. `_jpeg.abi3.so`, present if
`3rdparty/vendor.py` built it, uses libjpeg-turbo for other JPEGs and for reduced resolutions.
`_jpeg_check.abi3.so`, always present, detects damage. `_png.abi3.so` and `_webp.abi3.so` decode PNG and WebP.
"""

from __future__ import annotations

import ctypes
import threading
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from orbbec._library import library_path
from orbbec.batch.ycbcr_batch import SAMPLINGS
from orbbec.feed.feed import Functions

MESSAGE_BYTES = 200  # longest message of libjpeg-turbo
_VERDICTS = ("", "damaged", "unknown", "bomb")  # as numbered in jpeg_check.cpp
_INT, _POINTER = ctypes.c_int, ctypes.c_void_p
_RECTANGLE: list[Any] = [
    *(ctypes.c_char_p, ctypes.c_size_t, *[_INT] * 6),
    *(_POINTER, ctypes.c_ssize_t, ctypes.c_ssize_t, ctypes.c_char_p),
]
_PLANES: list[Any] = [ctypes.c_char_p, ctypes.c_size_t, *[_INT] * 3, _POINTER, ctypes.c_char_p]
_UNKNOWN_KIND = 2  # as in decode_cpu.cpp


class _Message(threading.local):
    """The buffer of each thread for the message of a call that fails."""

    def __init__(self) -> None:
        self.buffer = ctypes.create_string_buffer(MESSAGE_BYTES)


_MESSAGE = _Message()


@cache
def _decoder() -> Any:
    """The functions of orbbec's own decoder; calls release the GIL."""
    library = ctypes.CDLL(str(library_path()))
    library.orbbec_jpeg_is_known.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    library.orbbec_jpeg_decode.argtypes = _RECTANGLE
    library.orbbec_jpeg_decode_planes.argtypes = _PLANES
    library.orbbec_jpeg_scan_size.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.POINTER(ScanSize)]
    library.orbbec_jpeg_pack_scan.argtypes = [ctypes.c_char_p, ctypes.c_size_t, _POINTER]
    library.orbbec_jpeg_pack_scan.restype = ctypes.c_int64
    return library


@cache
def _library() -> Any:
    """The functions of the libjpeg-turbo library; calls release the GIL. None if it was not built."""
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


class ImageHeader(ctypes.Structure):
    """As in feed.h: the stored size, the channels that keep all of the file, the position of its EXIF."""

    _fields_ = (
        ("height", ctypes.c_int32),
        ("width", ctypes.c_int32),
        ("channels", ctypes.c_int32),
        ("exif_offset", ctypes.c_uint64),
        ("exif_size", ctypes.c_uint64),
    )


class ScanSize(ctypes.Structure):
    """As in feed.h: the most bytes of a packed scan, its blocks, the stored image."""

    _fields_ = (
        ("most_bytes", ctypes.c_int64),
        ("blocks", ctypes.c_int64),
        ("height", ctypes.c_int32),
        ("width", ctypes.c_int32),
        ("subsampling", ctypes.c_int32),
    )


class Codec(NamedTuple):
    """The functions of a library. They return 0 for a file that is decoded; `decode` releases the GIL."""

    header: Any
    decode: Any


@cache
def codec(name: str) -> Codec | None:
    """The library for "png" or "webp"; None if it was not built."""
    path = Path(__file__).with_name(f"_{name}.abi3.so")
    if not path.exists():
        return None
    # A header takes a microsecond; getting the GIL back may take a thousand times as long.
    with_gil, without = ctypes.PyDLL(str(path)), ctypes.CDLL(str(path))
    functions = Codec(with_gil[f"orbbec_{name}_header"], without[f"orbbec_{name}_decode"])
    functions.header.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.POINTER(ImageHeader)]
    functions.decode.argtypes = _RECTANGLE
    return functions


class Verdict(NamedTuple):
    """The state of a JPEG: "" if sound, "damaged", "unknown" or "bomb"; and the reason."""

    kind: str
    reason: str


def check_jpeg(data: bytes, *, walks: bool) -> Verdict:
    """Check a JPEG without decoding it.

    Args:
        data: the file.
        walks: read all entropy-coded data, in three quarters of the decoding time, or nearly all of it for a
            progressive file. False: check only the headers, in a few microseconds.

    Returns:
        "damaged": the data are truncated, a restart marker or a scan is missing, a table is bad, or, in a
        progressive file, a code is bad. "unknown": arithmetic or lossless coding. "bomb": the file is too
        short for its pixels, or has too many scans.

    Example:
        >>> check_jpeg(b"text", walks=True)
        Verdict(kind='damaged', reason='no JPEG')
    """
    message = _MESSAGE.buffer
    kind = _VERDICTS[_checker().orbbec_jpeg_check(data, len(data), walks, message)]
    return Verdict(kind, message.value.decode() if kind else "")


def has_native() -> bool:
    """Whether libjpeg-turbo was built in. It decodes all JPEGs, reduced resolutions and planes."""
    return _library() is not None


def decodes_rectangles(data: bytes) -> bool:
    """Whether rectangles of this JPEG can be decoded, unless it is damaged."""
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
    """Decode a rectangle of a JPEG as stored, without applying EXIF orientation.

    The rectangle is in pixels of the shrunk image: `1 / shrink` as large, rounded up, with `shrink` 1, 2, 4
    or 8. `channels` is 3, RGB, or 1, the luma. `out` may be any view with contiguous channels.

    Returns:
        uint8 `[height, width, channels]`; `out` if given.
    """
    message = _MESSAGE.buffer
    shape = (max(height, 0), max(width, 0), channels)
    pixels = np.empty(shape, np.uint8) if out is None else out
    has_gaps = pixels.size and channels > 1 and pixels.strides[2] != 1
    if pixels.shape != shape or pixels.dtype != np.uint8 or has_gaps:
        raise ValueError(f"decode_rectangle: expected out of shape {list(shape)} with contiguous channels")
    row_stride, column_stride, _ = pixels.strides
    arguments = (
        *(data, len(data), shrink, channels, left, top, width, height),
        *(pixels.ctypes.data, row_stride, column_stride, message),
    )
    failed = _decoder().orbbec_jpeg_decode(*arguments)
    if failed and has_native():  # libjpeg-turbo supports more kinds, and decides about damage
        failed = _library().orbbec_jpeg_region(*arguments)
    if failed == _UNKNOWN_KIND:
        raise ValueError("decode_rectangle: this file needs libjpeg-turbo, which is not built in")
    if failed:
        raise ValueError(message.value.decode(errors="replace"))
    return pixels


def sampling_of(data: bytes) -> str:
    """The chroma subsampling of a JPEG: one of `SAMPLINGS`."""
    return SAMPLINGS[_library().orbbec_jpeg_sampling(data, len(data))]


def decode_planes_into(
    data: bytes, height: int, width: int, sampling: str, out: npt.NDArray[np.uint8]
) -> None:
    """Decode the planes of a JPEG as stored: luma, and Cb and Cr if there is chroma.

    `sampling` is the result of `sampling_of`, except "rgb". The planes are written in order to `out`: uint8,
    flat, contiguous, as long as all of them together.
    """
    message = _MESSAGE.buffer
    arguments = data, len(data), height, width, SAMPLINGS.index(sampling), out.ctypes.data, message
    if _decoder().orbbec_jpeg_decode_planes(*arguments) and _library().orbbec_jpeg_planes(*arguments):
        raise ValueError(message.value.decode(errors="replace"))


def scan_size(data: bytes) -> ScanSize | None:
    """What `jpeg_planes` needs to know of a JPEG; None if it does not support the file."""
    size = ScanSize()
    return size if _decoder().orbbec_jpeg_scan_size(data, len(data), ctypes.byref(size)) else None


def pack_scan(data: bytes, address: int) -> int:
    """Pack the scan of a JPEG for `jpeg_planes`, to memory of its `most_bytes` at a multiple of 16.

    Returns:
        The number of bytes that were written; 0 if the file is damaged.
    """
    return int(_decoder().orbbec_jpeg_pack_scan(data, len(data), address))


def feed_functions() -> Functions:
    """The functions of the libraries, for a `Feed`."""
    checker, decoder, turbo = _checker(), _decoder(), _library()
    functions = [
        *(checker.orbbec_jpeg_check, decoder.orbbec_jpeg_is_known, decoder.orbbec_jpeg_decode_planes),
        *(getattr(turbo, f"orbbec_jpeg_{name}", None) for name in ("sampling", "region", "planes")),
        *(decoder.orbbec_jpeg_scan_size, decoder.orbbec_jpeg_pack_scan),
        *(None, decoder.orbbec_jpeg_decode),
        *(function for name in ("png", "webp") for function in codec(name) or (None, None)),
    ]
    return Functions(*map(_address, functions))


def _address(function: Any) -> int | None:
    return None if function is None else ctypes.cast(function, ctypes.c_void_p).value
