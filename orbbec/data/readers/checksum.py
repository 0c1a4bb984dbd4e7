"""CRC-32 as in zlib, at four times its speed, and CRC-32C as in TFRecord."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from orbbec._library import library_path


@cache
def _function(name: str) -> Any:
    """A function of orbbec's library; calls release the GIL."""
    function = ctypes.CDLL(str(library_path()))[f"orbbec_{name}"]
    function.argtypes = [ctypes.c_uint32, ctypes.c_char_p, ctypes.c_size_t]
    function.restype = ctypes.c_uint32
    return function


def crc32(data: bytes, crc: int = 0) -> int:
    """The checksum of bytes that follow others of the checksum `crc`.

    Example:
        >>> import zlib
        >>> crc32(b"5678", crc32(b"1234")) == zlib.crc32(b"12345678")
        True
    """
    checksum: int = _function("crc32")(crc, data, len(data))
    return checksum


def crc32c(data: bytes) -> int:
    """The checksum of bytes by Castagnoli's polynomial.

    Example:
        >>> hex(crc32c(b"123456789"))
        '0xe3069283'
    """
    checksum: int = _function("crc32c")(0, data, len(data))
    return checksum
