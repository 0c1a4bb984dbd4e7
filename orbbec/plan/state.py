"""The state of a batch between two transforms, and tables with a row per image."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from orbbec.bridge.arguments import Array

COLOR_COLUMNS = ("code", *(f"a{i}" for i in range(12)))
ERASE_COLUMNS = ("left", "top", "right", "bottom", "fill0", "fill1", "fill2", "fill3")
_IDENTITY = np.eye(3)


@dataclass(frozen=True, eq=False)
class BatchState:
    """The state of a batch between two transforms.

    Args:
        sizes: int64 `[N, 2]`: height and width in pixels.
        channels: number of channels of every image.
        maximum: the maximum value, 255 or 1: the unit of fills and thresholds.
        exact: whether color steps must also be operators.
        chosen: bool `[N]`: the images to which the next steps apply; None: all.
        least: lower bounds of height and width that follow from the pipeline alone.
    """

    sizes: Array
    channels: int = 3
    maximum: float = 255.0
    exact: bool = False
    chosen: Array | None = None
    least: tuple[int, int] = (1, 1)

    @property
    def heights(self) -> Array:
        return self.sizes[:, 0]

    @property
    def widths(self) -> Array:
        return self.sizes[:, 1]

    @property
    def regions(self) -> Array:
        """Whole images as left, top, right, bottom: int64 `[N, 4]`."""
        return np.concatenate([np.zeros_like(self.sizes), self.sizes[:, ::-1]], 1)

    def __len__(self) -> int:
        return len(self.sizes)

    def of_sizes(self, sizes: Array, least: tuple[int, int]) -> BatchState:
        """The state with other sizes."""
        if sizes is self.sizes and least == self.least:
            return self
        return replace(self, sizes=sizes, least=least)

    def only(self, chosen: Array) -> BatchState:
        """The state in which only some images are chosen."""
        return replace(self, chosen=chosen if self.chosen is None else chosen & self.chosen)


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
