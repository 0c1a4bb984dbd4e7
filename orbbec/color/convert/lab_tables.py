"""Lookup tables of OpenCV's integer LAB, for orbbec/color/convert/convert_lab.h."""

import functools

import numpy as np
import torch
from torch import Tensor

from orbbec.bridge.arguments import Array

# OpenCV computes cube roots in float32, which rounds two of them differently.
_CUBE_ROOT_CORRECTIONS = {49: -1, 628: 1}


@functools.cache
def lab_tables(device: torch.device) -> Tensor:
    """All tables, concatenated, int32, on a device.

    Example:
        >>> len(lab_tables(torch.device("cpu")))
        7936
    """
    parts = (_linear(), _cube_roots(), *_lightness(), _encoded())
    return torch.from_numpy(np.concatenate(parts).astype(np.int32)).to(device)


def _linear() -> Array:
    """Linear light in 2040ths of the maximum, by sRGB byte."""
    level = np.arange(256) / 255
    light = np.where(level <= 0.04045, level / 12.92, ((level + 0.055) / 1.055) ** 2.4)
    return np.asarray(np.rint(2040 * light))


def _cube_roots() -> Array:
    """Cube root in 32768ths, by light in 2040ths; linear near zero."""
    light = np.arange(3072) / 2040
    roots = np.rint(32768 * np.where(light < 216 / 24389, light * 841 / 108 + 16 / 116, np.cbrt(light)))
    for entry, correction in _CUBE_ROOT_CORRECTIONS.items():
        roots[entry] += correction
    return np.asarray(roots)


def _lightness() -> tuple[Array, Array]:
    """Luminance and its cube root in 16384ths, by byte of L."""
    l_byte = np.arange(256)
    root = np.where(
        l_byte <= 20,
        16384 * (16 / 116 + l_byte * 5 / (3 * 17 * 29)),
        l_byte * 100 * 16384 / (255 * 116) + 16 * 16384 / 116,
    )
    light = np.where(l_byte <= 20, l_byte * 16384 * 180 / (17 * 29**3), root**3 / 16384**2)
    return np.asarray(np.rint(light)), np.asarray(np.rint(root))


def _encoded() -> Array:
    """Byte of sRGB, by light in 4096ths."""
    light = np.arange(4096) / 4096
    level = np.where(light <= 0.0031308, light * 12.92, 1.055 * light ** (1 / 2.4) - 0.055)
    return np.asarray(np.rint(255 * level))
