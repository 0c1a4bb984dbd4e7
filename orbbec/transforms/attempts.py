"""Areas and aspect ratios drawn until they fit, for all images at once."""

from __future__ import annotations

import math

import numpy as np

from orbbec.binding.arguments import Array
from orbbec.plan.stream import Stream
from orbbec.transforms.checks import Range

_TRIES, _DRAWS = 10, 4  # a try draws area, ratio, and a place down and along the image
_FIRST = 2  # tries that are drawn at once for all images; the others only for those where both fail


def drawn_areas(
    sizes: Array, scale: Range, ratio: Range, stream: Stream, *, transposed: bool
) -> tuple[Array, Array, Array]:
    """Of ten tries of an area and an aspect ratio, the first that fits into each image.

    Args:
        sizes: int64 `[N, 2]`.
        scale: of the area, as shares of the image's.
        ratio: of the sides.
        stream: takes 40 numbers.
        transposed: the ratio is height to width and the area must be smaller than the image on both sides, as
            RandomErasing has it; else width to height, and may be as large.

    Returns:
        Whether there was one, bool `[N]`; and where there was, in whole pixels, float64 `[N, 2]`: its height
        and width, and where it begins, down and along.
    """
    found, side, place = _first_fit(sizes, scale, ratio, stream.uniforms(_FIRST * _DRAWS), transposed)
    if not found.all():
        rows = ~found
        later = stream.uniforms_of(np.flatnonzero(rows), (_TRIES - _FIRST) * _DRAWS)
        found[rows], side[rows], place[rows] = _first_fit(sizes[rows], scale, ratio, later, transposed)
    return found, side, np.floor(place * (sizes - side + 1))


def _first_fit(
    sizes: Array, scale: Range, ratio: Range, numbers: Array, transposed: bool
) -> tuple[Array, Array, Array]:
    """Whether a try fits, `[N]`; the size of the first that does and its place from 0 to 1, `[N, 2]`."""
    draws = numbers.reshape(len(sizes), -1, _DRAWS)
    fits, sides = _tried(sizes, scale, ratio, draws, transposed)
    chosen = np.arange(len(sizes)), fits.argmax(1)
    return np.asarray(fits.any(1)), sides[chosen], draws[chosen][:, 2:]


def _tried(sizes: Array, scale: Range, ratio: Range, draws: Array, transposed: bool) -> tuple[Array, Array]:
    """Which of the tries fit, `[N, tries]`, and their heights and widths, `[N, tries, 2]`."""
    rows, columns = sizes[:, :1], sizes[:, 1:]
    area = rows * columns * (scale[0] + draws[..., 0] * (scale[1] - scale[0]))
    low, high = math.log(ratio[0]), math.log(ratio[1])
    aspect = np.exp(low + draws[..., 1] * (high - low))
    squares = (area * aspect, area / aspect) if transposed else (area / aspect, area * aspect)
    sides, limits = np.rint(np.sqrt(np.array(squares).transpose(1, 2, 0))), sizes[:, None]
    fits = sides < limits if transposed else (sides > 0) & (sides <= limits)
    return np.asarray(fits.all(-1)), sides
