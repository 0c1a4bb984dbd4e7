"""Matrices from output to source pixels, float64 `[N, 3, 3]`; pixel centers are whole numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from orbbec.bridge.arguments import Array
from orbbec.plan.steps import identities, side_by_side


def box_matrices(left: Any, top: Any, width: Any, height: Any, sizes: Array) -> Array:
    """The matrices that resize boxes to `sizes` `[N, 2]`.

    Pixel `x` reads `(x + 0.5) * width / output width - 0.5 + left`: half-pixel centers, as in cv2.resize and
    torchvision.

    Example:
        >>> box_matrices(2, 0, 6, 4, np.array([[4, 3]]))[0, 0].tolist()
        [2.0, 0.0, 2.5]
    """
    matrices = identities(len(sizes))
    scale = side_by_side(width, height) / np.maximum(sizes[:, ::-1], 1)
    matrices[:, 0, 0], matrices[:, 1, 1] = scale.T
    matrices[:, :2, 2] = side_by_side(left, top) + 0.5 * scale - 0.5
    return matrices


def nearest_offsets(sources: Any, sizes: Array, interpolation: str) -> Array:
    """The offset of a nearest resize from the positions (x, y) of `box_matrices`: float64 `[N, 2]`.

    A warp reads the pixel with the nearest center, and the even one at a tie. With this offset, pixel `x`
    reads `floor(x * width / output width)` for "nearest" and `floor((x + 0.5) * width / output width)` for
    "nearest_exact". Positions that would be whole numbers move halfway to the next position, so that rounding
    the matrix to float32 cannot change the pixel.

    Args:
        sources: int `[N, 2]`: source heights and widths in pixels.
        sizes: int `[N, 2]`: output heights and widths in pixels.
        interpolation: "nearest" or "nearest_exact".

    Example:
        >>> nearest_offsets([[2, 8]], np.array([[2, 4]]), "nearest_exact").tolist()
        [[0.5, 0.0]]
    """
    given = np.rint(sources).astype(np.int64)[:, ::-1]
    outputs = np.maximum(np.asarray(sizes)[:, ::-1], 1).astype(np.int64)
    common = np.gcd(given, outputs)
    steps, ways = given // common, outputs // common  # positions are multiples of 1 / ways
    if interpolation == "nearest":
        return np.asarray(0.5 / ways - 0.5 * given / outputs)
    has_ties = (steps % 2 == 0) & (ways % 2 == 1)
    return np.where(has_ties, 0.5 / ways, 0.0)


def cosines_sines(degrees: Array) -> tuple[Array, Array]:
    """Cosines and sines of angles in degrees, exact at multiples of 90.

    They come from the C library, because NumPy's vectorized versions differ between processors.
    """
    radians = np.radians(degrees).tolist()
    cosine = np.array([math.cos(angle) for angle in radians])
    sine = np.array([math.sin(angle) for angle in radians])
    quarter = np.isin(np.mod(degrees, 90), (0,))
    return np.where(quarter, np.rint(cosine), cosine), np.where(quarter, np.rint(sine), sine)


def affine_matrices(
    angle: Array, translate: Array, scale: Array, shear: Array, center: Array, sizes: Array, outputs: Array
) -> Array:
    """Inverse matrices of: scale, shear, rotate clockwise by `angle` about `center`, translate.

    Args:
        angle: `[N]` in degrees.
        translate: `[N, 2]`: (x, y) in pixels.
        scale: `[N]`, or `[N, 2]`: along x and y.
        shear: `[N, 2]`: along x and y, in degrees.
        center: `[N, 2]`: (x, y) in pixels from the middle of the image.
        sizes: int64 `[N, 2]`: image sizes.
        outputs: int64 `[N, 2]`: output sizes; the centers of output and image coincide.

    Source:
        torchvision's `_get_inverse_affine_matrix` and `_affine_grid`.
    """
    cos_turn, sin_turn = cosines_sines(angle)
    cos_less, sin_less = cosines_sines(angle - shear[:, 1])
    cos_x, sin_x = cosines_sines(shear[:, 0])
    cos_y, _ = cosines_sines(shear[:, 1])
    tangent = sin_x / cos_x
    a, c = cos_less / cos_y, sin_less / cos_y
    b, d = -(a * tangent + sin_turn), cos_turn - c * tangent
    scales = scale.reshape(len(scale), -1, 1)
    linear = np.stack([np.stack([d, -b], -1), np.stack([-c, a], -1)], -2) / scales
    matrices = identities(len(sizes))
    matrices[:, :2, :2] = linear
    shift = center - np.einsum("nij,nj->ni", linear, center + translate)
    middle, output_middle = (sizes[:, ::-1] - 1) / 2, (outputs[:, ::-1] - 1) / 2
    matrices[:, :2, 2] = shift + middle - np.einsum("nij,nj->ni", linear, output_middle)
    return matrices


def expanded_sizes(matrices: Array, sizes: Array) -> Array:
    """The sizes that contain whole images after the affine `matrices`: int64 `[N, 2]`.

    Source:
        torchvision's `_compute_affine_output_size`, which applies the matrices in the same direction.
    """
    half, middle, linear = sizes[:, ::-1] * 0.5, (sizes[:, ::-1] - 1) / 2, matrices[:, :2, :2]
    shift = np.round(matrices[:, :2, 2] - middle + np.einsum("nij,nj->ni", linear, middle), 9)
    signs = np.array([[-1, -1], [-1, 1], [1, 1], [1, -1]])
    corners = np.einsum("nij,nkj->nki", linear, signs[None] * half[:, None]) + shift[:, None]
    low, high = (corners.min(1) + half, corners.max(1) + half)
    high, low = np.ceil(np.trunc(high * 1e4) * 1e-4), np.floor(np.trunc(low * 1e4) * 1e-4)
    result: Array = (high - low).astype(np.int64)[:, ::-1]
    return result
