"""Masks from run lengths of COCO: columns from top to bottom, one after the other, the first run of zeros."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from orbbec.bridge.arguments import Array

Mask = npt.NDArray[np.uint8]

_MOST_BITS = 60  # per run length


def are_runs(value: Any) -> bool:
    """Whether a value is a list of run lengths, one for each object."""
    return isinstance(value, (list, tuple)) and all(isinstance(runs, dict) for runs in value)


def masks_of_runs(objects: Sequence[Any], size: tuple[int, int]) -> Mask:
    """The masks of several objects, uint8 `[K, height, width]`; see `mask_of_runs`."""
    masks = np.zeros((len(objects), *size), np.uint8)
    for mask, runs in zip(masks, objects, strict=True):
        mask[:] = mask_of_runs(runs, size)
    return masks


def mask_of_runs(runs: dict[str, Any], size: tuple[int, int]) -> Mask:
    """The mask of one object.

    Args:
        runs: `{"size": [height, width], "counts": ...}`, with counts as numbers or compressed text.
        size: (height, width) of the image.

    Returns:
        uint8 `[height, width]` of 0 and 1.

    Raises:
        ValueError: the run lengths are malformed or of another size.

    Source:
        pycocotools; the masks are identical.

    Example:
        >>> mask_of_runs({"size": [2, 3], "counts": [1, 2, 3]}, (2, 3)).tolist()
        [[0, 1, 0], [1, 0, 0]]
    """
    if list(runs.get("size") or ()) != list(size):
        raise ValueError(f"expected run lengths of size {list(size)}, but got {runs.get('size')}")
    counts = runs.get("counts", [])
    lengths = np.asarray(_decompressed(counts) if isinstance(counts, (str, bytes)) else counts)
    pixels = size[0] * size[1]
    # Check each count too: the sum of large counts could wrap around.
    if (
        lengths.dtype.kind not in "iu"
        or not ((lengths >= 0) & (lengths <= pixels)).all()
        or lengths.sum() != pixels
    ):
        raise ValueError(f"expected run lengths that add up to {pixels} pixels, but got {counts!r:.60}")
    values = np.arange(len(lengths), dtype=np.uint8) & 1
    return by_columns(np.repeat(values, lengths), size)


def by_columns(pixels: Array, size: tuple[int, int]) -> Mask:
    """The mask `[height, width]` of pixels in the order of its columns."""
    height, width = size
    return np.ascontiguousarray(pixels.reshape(width, height).T)


def _decompressed(text: str | bytes) -> list[int]:
    """Run lengths from text: each character holds 5 bits, lowest first, and a continuation flag.

    From the fourth on, a length is stored as its difference from the length two before it.
    """
    lengths: list[int] = []
    value = shift = 0
    for code in text.encode() if isinstance(text, str) else text:
        bits = code - 48
        value |= (bits & 31) << shift
        shift += 5
        if shift > _MOST_BITS:
            raise ValueError(f"expected compressed run lengths, but {text!r:.60} has one of {shift} bits")
        if bits & 32:
            continue
        value -= (bits & 16) << (shift - 4)  # the sign is the highest bit of the last character
        lengths.append(value + (lengths[-2] if len(lengths) > 2 else 0))
        value = shift = 0
    if shift:
        raise ValueError(f"expected compressed run lengths, but {text!r:.60} is truncated")
    return lengths
