"""The features of a `tf.train.Example`, found by C++; unusual messages are left to `protobuf.py`."""

from __future__ import annotations

import ctypes
import struct
from functools import cache
from typing import Any

import numpy as np

from orbbec._library import library_path
from orbbec.bridge.arguments import Array
from orbbec.data.readers.protobuf import example_features

_FEATURES, _VALUES = 256, 4096  # most of an Example; those with more are left to Python
_NONE, _BYTES, _FLOATS = 0, 1, 2  # kinds: as in feed/example.h
_FLOAT = struct.Struct("<f")


@cache
def _function() -> Any:
    """The C++ function. It keeps the GIL: it takes a microsecond, and to get the GIL back takes longer."""
    function = ctypes.PyDLL(str(library_path())).orbbec_example
    pointer, count = ctypes.c_void_p, ctypes.c_int64
    function.argtypes = [ctypes.c_char_p, ctypes.c_size_t, pointer, count, pointer, count]
    function.restype = count
    return function


def features_of(record: bytes, size: int) -> dict[str, Any]:
    """See `example_features`, of `record[:size]`.

    Example:
        >>> features_of(bytes([10, 12, 10, 10, 10, 1, 97, 18, 5, 26, 3, 10, 1, 7]) + b"end", 14)
        {'a': 7}
    """
    size = len(range(len(record))[:size])
    features, values = np.empty((_FEATURES, 6), np.int64), np.empty(_VALUES, np.int64)
    count = _function()(record, size, features.ctypes.data, _FEATURES, values.ctypes.data, _VALUES)
    if count < 0:
        return example_features(memoryview(record)[:size])
    return {
        str(record[offset : offset + length], "utf-8"): _feature(record, values, *rest)
        for offset, length, *rest in features[:count].tolist()
    }


def _feature(record: bytes, values: Array, kind: int, count: int, first: int, size: int) -> Any:
    if count == 1:
        if kind == _BYTES:
            return record[first : first + size]
        return _FLOAT.unpack_from(record, first)[0] if kind == _FLOATS else first
    if kind == _BYTES:
        spans = values[first : first + 2 * count].reshape(-1, 2).tolist()
        return [record[offset : offset + size] for offset, size in spans]
    if kind == _FLOATS:
        return np.frombuffer(record, "<f4", count, first).astype(np.float32)
    return [] if kind == _NONE else values[first : first + count].copy()
