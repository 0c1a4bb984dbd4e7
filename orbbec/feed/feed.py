"""The C++ functions of the feed as classes."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from orbbec._library import library_path

GOOD = 1  # status of a row: as in feed.h
JPEG = 0  # format of a row
PLANES, SCANS = 0, -1  # channels of an output
ROW = np.dtype(
    {
        "names": [
            *("data", "size", "status", "height", "width", "components", "orientation", "subsampling"),
            *("format", "padding", "scan_bytes", "blocks"),
        ],
        "formats": ["u8", "u8", *["i4"] * 8, "i8", "i8"],
    }
)
# Milliseconds until the first check whether to stop, and most between two: each check wakes a Python thread,
# and after a long wait some more milliseconds do not matter.
_FIRST_WAIT, _MAX_WAIT = 50, 200
_INT, _LONG, _POINTER = ctypes.c_int32, ctypes.c_int64, ctypes.c_void_p

Array = npt.NDArray[Any]


class Functions(ctypes.Structure):
    """Addresses of the functions that check and decode; see feed.h."""

    _fields_ = tuple(
        (name, _POINTER)
        for name in (
            *("check", "is_known", "planes", "turbo_subsampling", "turbo_region", "turbo_planes"),
            *("scan_size", "pack_scan"),
            *("jpeg_header", "jpeg_region", "png_header", "png_region", "webp_header", "webp_region"),
        )
    )


class _Settings(ctypes.Structure):
    _fields_ = (
        ("threads", _INT),
        ("readers", _INT),
        ("nice", _INT),
        ("core_count", _INT),
        ("cores", _POINTER),
    )


class _Request(ctypes.Structure):
    _fields_ = (
        ("count", _INT),
        ("applies_orientation", _INT),
        ("channels", _INT),
        ("packs_scans", _INT),
        ("max_pixels", _LONG),
        ("paths", ctypes.c_char_p),
        ("spans", _POINTER),
    )


class _Output(ctypes.Structure):
    _fields_ = (
        ("storage", _POINTER),
        ("offsets", _POINTER),
        ("boxes", _POINTER),
        ("shrinks", _POINTER),
        ("channels", _INT),
    )


_SIGNATURES: tuple[tuple[str, Any, list[Any]], ...] = (
    ("begin", _POINTER, [_POINTER, _POINTER]),
    ("resize", None, [_POINTER, ctypes.c_int]),
    ("end", None, [_POINTER]),
    ("read", _POINTER, [_POINTER, _POINTER]),
    ("decode", ctypes.c_int, [_POINTER, _POINTER, _POINTER]),
    ("wait", ctypes.c_int, [_POINTER, _POINTER, ctypes.c_int]),
    ("rows", _POINTER, [_POINTER]),
    ("seconds", _POINTER, [_POINTER]),
    ("free", None, [_POINTER, _POINTER]),
)


def _functions(library: Any) -> Any:
    for name, result, arguments in _SIGNATURES:
        function = getattr(library, f"orbbec_feed_{name}")
        function.restype, function.argtypes = result, arguments
    return library


@cache
def _library() -> Any:
    """The functions, which release the GIL: for those that wait."""
    return _functions(ctypes.CDLL(str(library_path())))


@cache
def _quick() -> Any:
    """The functions, without releasing the GIL: a thread that computes would take it for 5 ms each time."""
    return _functions(ctypes.PyDLL(str(library_path())))


class Limits(NamedTuple):
    """What an ordinary JPEG, PNG or WebP is; all other files are left to the caller.

    Args:
        max_pixels: larger images are not ordinary.
        applies_orientation: whether sizes and pixels are upright.
        channels: see `FeedBatch.decode`. A JPEG is not ordinary for 4; for 0, its row states its subsampling.
            -1: files are only read, and need not be images.
        packs_scans: whether rows of JPEGs have `scan_bytes` and `blocks`, if `jpeg_planes` supports them.
    """

    max_pixels: int
    applies_orientation: bool = True
    channels: int = 3
    packs_scans: bool = False


class Feed:
    """Threads that read and decode the images of batches, and `readers` more that only read.

    `nice` is added to their niceness. They run on `cores`; empty: those of the process.
    """

    def __init__(
        self,
        threads: int,
        functions: Functions,
        *,
        readers: int = 0,
        nice: int = 0,
        cores: Sequence[int] = (),
    ) -> None:
        numbers = np.array(cores, np.int32)
        settings = _Settings(threads, readers, nice, len(numbers), _address(numbers))
        self._pool = _library().orbbec_feed_begin(ctypes.byref(settings), ctypes.byref(functions))
        if not self._pool:
            raise RuntimeError("Feed: can't start new thread")

    def resize(self, threads: int) -> None:
        """Continue with another number of threads."""
        _library().orbbec_feed_resize(self._pool, threads)

    def end(self) -> None:
        """End the threads. Batches must not be in use."""
        pool, self._pool = self._pool, None
        if pool:
            _library().orbbec_feed_end(pool)

    def read_files(self, paths: Sequence[str], spans: Array | None, limits: Limits) -> FeedBatch:
        """Begin to read files.

        Args:
            paths: without null characters.
            spans: int64 `[N, 3]`: offset, bytes and checksum (see files.h) of the part of each file that is
                read; None: the whole files.
            limits: what an ordinary file is.
        """
        names = os.fsencode("\0".join(paths)) + b"\0"
        if names.count(b"\0") != len(paths):
            raise ValueError("Feed: expected paths without null characters")
        return self._read(len(paths), limits, names, spans)

    def read_bytes(self, files: Sequence[bytes], limits: Limits) -> FeedBatch:
        """Begin to read the headers of files in memory."""
        pointers = (ctypes.c_char_p * len(files))(*files)
        spans = np.full((len(files), 3), -1, np.int64)
        spans[:, 0] = np.frombuffer(bytes(pointers), np.int64)
        spans[:, 1] = [len(file) for file in files]
        return self._read(len(files), limits, None, spans, files)

    def _read(
        self, count: int, limits: Limits, paths: bytes | None, spans: Array | None, files: Any = None
    ) -> FeedBatch:
        table = None if spans is None else np.ascontiguousarray(spans, np.int64)
        request = _Request(
            *(count, limits.applies_orientation, limits.channels, limits.packs_scans),
            *(limits.max_pixels, paths, _address(table)),
        )
        handle = _quick().orbbec_feed_read(self._pool, ctypes.byref(request))
        if not handle:
            raise MemoryError("Feed: no memory for a batch")
        return FeedBatch(self._pool, handle, count, files)


class FeedBatch:
    """A batch that threads work on until `close`; a context manager."""

    def __init__(self, pool: int, handle: int, count: int, files: Any) -> None:
        self._pool, self._handle, self._count = pool, handle, count
        self._memory = [files]  # what the threads use
        self._is_done = False

    def rows(self) -> Array:
        """The rows, after `wait`: records `[N]`, see `ROW`."""
        address = _quick().orbbec_feed_rows(self._handle)
        return np.frombuffer(ctypes.string_at(address, ROW.itemsize * self._count), ROW)

    def seconds(self) -> tuple[float, float]:
        """The seconds of all threads for reading and for decoding, after `wait`."""
        read, decode = (ctypes.c_double * 2).from_address(_quick().orbbec_feed_seconds(self._handle))
        return read, decode

    def decode(
        self,
        storage: Array,
        offsets: Array,
        *,
        channels: int,
        boxes: Array | None = None,
        shrinks: Array | None = None,
    ) -> None:
        """Begin to decode the good images, after `wait`.

        Args:
            storage: uint8, flat.
            offsets: int64 `[N]`, of each image in `storage`; -1: the image is not decoded.
            channels: 1, 3 or 4; `PLANES`, which are RGB where a file has none; or `SCANS` for packed scans
                of rows that have `scan_bytes`, which become those written, 0 for a damaged file, and for
                planes of the others.
            boxes: int64 `[N, 4]`: left, top, right and bottom of the part that is decoded, in pixels of the
                upright, shrunk image; None: whole images.
            shrinks: int64 `[N]`: 1, 2, 4 or 8; None: 1.
        """
        self._memory.append(storage)
        self._is_done = False
        tables = [
            None if table is None else np.ascontiguousarray(table, np.int64)
            for table in (offsets, boxes, shrinks)
        ]
        output = _Output(_address(storage), *map(_address, tables), channels)
        if _quick().orbbec_feed_decode(self._pool, self._handle, ctypes.byref(output)):
            raise MemoryError("Feed: no memory for a batch")

    def wait(self, is_stopped: Callable[[], bool]) -> bool:
        """Wait until what was begun is done; returns whether it is, and not stopped."""
        wait, milliseconds = _library().orbbec_feed_wait, _FIRST_WAIT
        while not (self._is_done or is_stopped()):
            self._is_done = bool(wait(self._pool, self._handle, milliseconds))
            milliseconds = min(2 * milliseconds, _MAX_WAIT)
        return self._is_done

    def close(self) -> None:
        """Free the batch, once no thread works on its images."""
        handle, self._handle = self._handle, 0
        if handle:
            (_quick() if self._is_done else _library()).orbbec_feed_free(self._pool, handle)

    def __enter__(self) -> FeedBatch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def bytes_of(row: Any) -> bytes:
    """A copy of the encoded file of a row, before its batch is closed."""
    return ctypes.string_at(int(row["data"]), int(row["size"]))


def _address(table: Array | None) -> int | None:
    return None if table is None else table.ctypes.data
