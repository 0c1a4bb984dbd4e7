"""All matrices that OpenCV computes, compared bit for bit."""

import math

import numpy as np
import pytest
import torch

from orbbec.matrices import (
    get_affine_matrix,
    get_perspective_matrix,
    get_rotation_matrix,
    invert_affine,
    invert_perspective,
    matrix_to_source,
)

cv2 = pytest.importorskip("cv2")


def random_points(rng, batch, count):
    """Float32 points: whole pixels, all magnitudes, within an image, nearly collinear, a grid of 4x4."""
    shape = (batch // 5 + 1, count, 2)
    pixels = rng.integers(0, 640, shape)
    magnitudes = rng.normal(size=shape) * 10.0 ** rng.uniform(-4, 5, (len(pixels), 1, 1))
    image = rng.uniform(0, 640, shape)
    along = rng.normal(size=(*shape[:2], 1)) * rng.normal(size=(len(pixels), 1, 2))
    line = along + rng.normal(size=shape) * 10.0 ** rng.uniform(-6, 0, (len(pixels), 1, 1))
    grid = rng.integers(0, 4, shape)
    points = np.concatenate([pixels, magnitudes, image, line, grid]).astype(np.float32)
    return points[rng.permutation(len(points))[:batch]]


def random_matrices(rng, batch, rows):
    """Float64 matrices of all magnitudes, of integers, and exactly singular ones."""
    scale = 10.0 ** rng.uniform(-8, 8, (batch, 1, 1))
    matrices = rng.normal(size=(batch, rows, 3)) * np.where(rng.random((batch, 1, 1)) < 0.5, scale, 1)
    matrices[::10, 1] = matrices[::10, 0] * rng.choice([0, 1, 2], (len(matrices[::10]), 1))
    matrices[1::10] = rng.integers(-3, 4, matrices[1::10].shape)
    return matrices


def same_bits(actual, expected):
    """One bool per matrix."""
    actual, expected = np.ascontiguousarray(actual), np.ascontiguousarray(expected)
    assert actual.shape == expected.shape
    assert actual.dtype == expected.dtype == np.float64
    return (actual.view(np.int64) == expected.view(np.int64)).reshape(len(actual), -1).all(1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_get_affine_matrix_matches_opencv(dtype):
    rng = np.random.default_rng(0)
    src, dst = random_points(rng, 5000, 3), random_points(rng, 5000, 3)
    expected = np.stack([cv2.getAffineTransform(s, d) for s, d in zip(src, dst, strict=True)])
    assert same_bits(get_affine_matrix(src.astype(dtype), dst.astype(dtype)), expected).all()
    singular = (expected == 0).all((1, 2))
    assert 100 < singular.sum() < 2000


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_get_perspective_matrix_matches_opencv_where_lu_succeeds(dtype):
    rng = np.random.default_rng(1)
    src, dst = random_points(rng, 5000, 4), random_points(rng, 5000, 4)
    expected = np.stack([cv2.getPerspectiveTransform(s, d) for s, d in zip(src, dst, strict=True)])
    actual = get_perspective_matrix(src.astype(dtype), dst.astype(dtype))
    by_lu = expected[:, 2, 2] == 1
    assert 0.8 < by_lu.mean() < 0.99
    assert same_bits(actual[by_lu], expected[by_lu]).all()
    assert (actual[~by_lu, 2, 2] != 1).all()


def test_get_perspective_matrix_equals_opencv_but_for_the_sign_when_the_origin_maps_to_infinity():
    rng = np.random.default_rng(2)
    far, near = rng.integers(1, 500, (2, 2000))
    width, zero = rng.integers(1000, 2000, 2000), np.zeros(2000, np.int64)
    # The sides of the trapezoid meet at (0, 0).
    x = np.stack([far, far + width, 2 * far, 2 * (far + width)], axis=-1)
    y = np.stack([near, near, 2 * near, 2 * near], axis=-1)
    src = np.stack([x, y], axis=-1).astype(np.float32)
    rectangle = [[zero, zero], [width, zero], [zero, width], [width, width]]
    dst = np.array(rectangle).transpose(2, 0, 1).astype(np.float32)
    expected = np.stack([cv2.getPerspectiveTransform(s, d) for s, d in zip(src, dst, strict=True)])
    actual = get_perspective_matrix(src, dst)
    assert (expected[:, 2, 2] != 1).all()
    sign = np.sign((actual * expected).sum((1, 2), keepdims=True))
    # Measured 1.2e-14 against 5.0.0; OpenCV squares the condition number of its system here.
    assert np.abs(actual - sign * expected).max() < 1e-11


def test_get_rotation_matrix_matches_opencv():
    rng = np.random.default_rng(3)
    angles = rng.uniform(-720, 720, 120_000)
    angles[::4] = rng.normal(size=30_000) * 10.0 ** rng.uniform(-9, 9, 30_000)
    angles[1::4] = rng.integers(-720, 721, 30_000)
    centers = rng.uniform(-2000, 2000, (120_000, 2))
    scales = np.where(rng.random(120_000) < 0.5, 1.0, np.exp(rng.normal(size=120_000)))
    arguments = zip(centers.tolist(), angles.tolist(), scales.tolist(), strict=True)
    expected = np.stack([cv2.getRotationMatrix2D(tuple(c), a, s) for c, a, s in arguments])
    assert same_bits(get_rotation_matrix(centers, angles, scales), expected).all()
    assert same_bits(get_rotation_matrix(torch.tensor(centers), angles, scales).numpy(), expected).all()


def test_get_rotation_matrix_matches_opencv_at_right_angles_and_zeros_of_either_sign():
    for angle in (0.0, -0.0, 90.0, -90.0, 180.0, 360.0, 45.0):
        for center in ((0.0, 0.0), (-0.0, 1.5), (111.5, 63.5)):
            expected = cv2.getRotationMatrix2D(center, angle, 1.0)
            assert same_bits(get_rotation_matrix(center, angle)[None], expected[None]).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_invert_affine_matches_opencv(dtype):
    matrices = random_matrices(np.random.default_rng(4), 20_000, 2).astype(dtype)
    expected = np.stack([cv2.invertAffineTransform(m) for m in matrices.astype(np.float64)])
    assert same_bits(invert_affine(matrices), expected).all()
    assert 1000 < (expected == 0).all((1, 2)).sum() < 5000


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_invert_perspective_matches_opencv(dtype):
    matrices = random_matrices(np.random.default_rng(5), 20_000, 3).astype(dtype)
    expected = np.stack([cv2.invert(m)[1] for m in matrices.astype(np.float64)])
    assert same_bits(invert_perspective(matrices), expected).all()
    assert 1000 < (expected == 0).all((1, 2)).sum() < 5000


def test_matrix_to_source_is_rounded_as_warp_affine_rounds():
    with np.errstate(all="ignore"):
        matrices = random_matrices(np.random.default_rng(6), 20_000, 2)
        a, b, c, d, e, f = matrices.reshape(-1, 6).T
        determinant = a * e - b * d
        reciprocal = np.where(determinant != 0, 1 / determinant, 0.0)
        m0, m1, m3, m4 = e * reciprocal, b * -reciprocal, d * -reciprocal, a * reciprocal
        expected = np.stack([m0, m1, -m0 * c - m1 * f, m3, m4, -m3 * c - m4 * f], axis=-1).reshape(-1, 2, 3)
    assert same_bits(matrix_to_source(matrices), expected).all()


@pytest.mark.parametrize("rows", [2, 3])
def test_a_warp_by_matrix_to_source_is_the_warp_that_opencv_inverts_itself(rows):
    rng = np.random.default_rng(7)
    image = rng.uniform(0, 255, (23, 31)).astype(np.float32)
    angles, scales = rng.uniform(-180, 180, 2000), np.exp(rng.normal(size=2000))
    matrices = get_rotation_matrix(rng.uniform(0, 25, (2000, 2)), angles, scales)
    warp = cv2.warpAffine if rows == 2 else cv2.warpPerspective
    if rows == 3:
        bottom = np.concatenate([rng.normal(size=(2000, 1, 2)) * 1e-3, np.ones((2000, 1, 1))], axis=-1)
        matrices = np.concatenate([matrices, bottom], axis=1)
    for matrix, inverse in zip(matrices, matrix_to_source(matrices), strict=True):
        expected = warp(image, matrix, (29, 19), flags=cv2.INTER_LINEAR)
        actual = warp(image, inverse, (29, 19), flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP)
        assert np.array_equal(actual, expected, equal_nan=True)


def test_get_affine_matrix_of_a_rotation_is_near_get_rotation_matrix():
    corners = np.float32([[0, 0], [100, 0], [0, 100]])
    rotation = get_rotation_matrix((50, 50), 30)
    turned = corners @ rotation[:, :2].T + rotation[:, 2]
    # Measured 1.1e-16.
    assert np.abs(get_affine_matrix(corners, turned) - rotation).max() < 1e-14
    assert math.isclose(rotation[0, 0], math.cos(math.radians(30)))
