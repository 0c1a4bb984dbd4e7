"""Tables with a row per image."""

from __future__ import annotations

from typing import Any

import numpy as np

from orbbec.bridge.arguments import Array

COLOR_COLUMNS = ("code", *(f"a{i}" for i in range(12)))
ERASE_COLUMNS = ("left", "top", "right", "bottom", "fill0", "fill1", "fill2", "fill3")
_IDENTITY = np.eye(3)


def identities(count: int) -> Array:
    """Identity matrices: float64 `[count, 3, 3]`."""
    matrices = np.empty((count, 3, 3))
    matrices[:] = _IDENTITY
    return matrices


def same_rows(row: Any, count: int) -> Array:
    """The same row of whole numbers for every image: int64 `[count, len(row)]`."""
    rows = np.empty((count, len(row)), np.int64)
    rows[:] = row
    return rows


def common_size(sizes: Array) -> tuple[int, int] | None:
    """The common size of `[N, 2]` sizes, N at least 1; None if they differ.

    Example:
        >>> common_size(np.array([[4, 5], [4, 5]]))
        (4, 5)
    """
    if len(sizes) == 0 or (len(sizes) > 1 and (sizes != sizes[0]).any()):
        return None
    height, width = sizes[0].tolist()
    return height, width
