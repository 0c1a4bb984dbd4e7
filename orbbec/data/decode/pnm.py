"""PGM and PPM files of 16 bits, whose colors Pillow rounds to 8 bits."""

from __future__ import annotations

import re

import numpy as np

from orbbec.bridge.arguments import Array
from orbbec.data.decode.modes import Pixels, check_pixels

_HEADER = re.compile(rb"P([56])" + 3 * rb"(?:\s|#[^\r\n]*[\r\n])+(\d{1,9})" + rb"\s")
_LARGEST_BYTE, _LARGEST = 255, 65535
_CHANNELS = {b"5": 1, b"6": 3}


def deep_pnm(data: bytes, max_pixels: int) -> tuple[Array, int] | None:
    """The numbers of a binary PGM or PPM file of 16 bits, `[H, W, C]`, and the largest that its header names.

    None for a file of another kind, or without pixels; ValueError for one that is too large or truncated.

    Example:
        >>> pixels, largest = deep_pnm(b"P5 2 1 1000 " + bytes([3, 232, 0, 1]), max_pixels=2)
        >>> pixels.tolist(), largest
        ([[[1000], [1]]], 1000)
    """
    header = _HEADER.match(data)
    if header is None or not _LARGEST_BYTE < int(header[4]) <= _LARGEST:
        return None
    width, height, largest = (int(header[n]) for n in (2, 3, 4))
    count = height * width * _CHANNELS[header[1]]
    if count == 0:
        return None
    check_pixels(height, width, max_pixels)
    if len(data) - header.end() < 2 * count:
        raise ValueError(f"decode_image: not enough image data ({len(data)} bytes)")
    stored = np.frombuffer(data, ">u2", count, header.end())
    return stored.astype(np.uint16).reshape(height, width, -1), largest


def upper_bits(pixels: Array, largest: int) -> Pixels:
    """The upper 8 of 16 bits, after `largest` became 65535.

    Example:
        >>> upper_bits(np.array([[[255], [40000]]], np.uint16), largest=65535).tolist()
        [[[0], [156]]]
    """
    full = np.rint(pixels / np.float64(largest) * _LARGEST).clip(0, _LARGEST)
    upper: Pixels = (full.astype(np.uint16) >> 8).astype(np.uint8)
    return upper
