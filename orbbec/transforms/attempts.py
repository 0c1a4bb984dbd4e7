"""Areas and aspect ratios drawn until they fit, for all images at once."""

from __future__ import annotations

import math

import numpy as np

from orbbec.binding.arguments import Array
from orbbec.plan.stream import Stream
from orbbec.transforms.checks import Range

_TRIES, _DRAWS = 10, 4  # a try draws area, ratio, and a place down and along the image
_FIRST = 2  # tries that are drawn at once for everybody; the others only where both fail


def drawn_areas(
    sizes: Array, scale: Range, ratio: Range, stream: Stream, *, transposed: bool
) -> tuple[Array, Array, Array, Array, Array]:
    """Of ten tries of an area and an aspect ratio, the first that fits into each image.

    Args:
        sizes: int64 `[N, 2]`.
        scale: of the area, as shares of the image's.
        ratio: of the sides.
        stream: takes 40 numbers.
        transposed: the ratio is height to width and the area must be smaller than the image on both sides, as
            RandomErasing has it; else width to height, and may be as large.

    Returns:
        Whether there was one, bool `[N]`; its height and width in whole pixels; and two numbers from 0 to 1
        for its place down and along.
    """
    first = stream.uniforms(_FIRST * _DRAWS).reshape(len(sizes), _FIRST, _DRAWS)
    fits, height, width = _tried(sizes, scale, ratio, first, transposed)
    draws = first
    if not fits.any(1).all():
        rest = stream.uniforms((_TRIES - _FIRST) * _DRAWS).reshape(len(sizes), -1, _DRAWS)
        draws = np.concatenate([first, rest], 1)
        fits, height, width = _tried(sizes, scale, ratio, draws, transposed)
    which, rows = fits.argmax(1), np.arange(len(sizes))
    place = draws[rows, which, 2:]
    found = np.asarray(fits.any(1))
    return found, height[rows, which], width[rows, which], place[:, 0], place[:, 1]


def _tried(
    sizes: Array, scale: Range, ratio: Range, draws: Array, transposed: bool
) -> tuple[Array, Array, Array]:
    rows, columns = sizes[:, :1], sizes[:, 1:]
    area = rows * columns * (scale[0] + draws[..., 0] * (scale[1] - scale[0]))
    low, high = math.log(ratio[0]), math.log(ratio[1])
    aspect = np.exp(low + draws[..., 1] * (high - low))
    first, second = np.rint(np.sqrt(area * aspect)), np.rint(np.sqrt(area / aspect))
    if transposed:
        return (first < rows) & (second < columns), first, second
    fits = (first > 0) & (first <= columns) & (second > 0) & (second <= rows)
    return fits, second, first
