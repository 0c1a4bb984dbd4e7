"""warp_perspective compared with cv::warpPerspective."""

import numpy as np
import pytest
import torch

import orbbec
from tests.support import assert_same_bytes, photograph
from tests.support.warps import random_warps

opencv = pytest.importorskip("tests.support.peers.opencv", reason="needs cv2")
parity = pytest.importorskip("tests.support.peers.parity", reason="needs cv2")

ARITHMETIC = opencv.arithmetic()
PROMISED = [
    cell for cell in parity.cells() if cell.op == "warp_perspective" and parity.is_promised(cell, ARITHMETIC)
]
SIZES = [((2, 3), (7, 13)), ((33, 40), (31, 17)), ((64, 48), (20, 150))]
FILL = (7.5, 300.0, -3.25, 114.0)


def perspective(source, target, seed=0):
    return random_warps("warp_perspective", source, target, seed=seed).numpy()


def warp(device, image, matrix, size, out, **options):
    """One image [H, W, C] through the operator on the device."""

    def put(array):
        return device.put(torch.from_numpy(array).permute(2, 0, 1)[None])

    result = orbbec.warp_perspective(put(image), matrix, size, out=put(out), arithmetic=ARITHMETIC, **options)
    return result[0].permute(1, 2, 0).cpu().numpy()


@pytest.mark.parametrize(
    "cell", PROMISED, ids=lambda cell: f"{cell.dtype}-{cell.interpolation}-{cell.border}"
)
def test_warp_perspective_matches_opencv(device, cell):
    for seed, (source, target) in enumerate(SIZES):
        for channels in (1, 3, 4):
            image = photograph(*source, channels, cell.dtype, seed)
            matrix = perspective(source, target, seed)
            before = photograph(*target, channels, cell.dtype, seed + 9)
            options = {"interpolation": cell.interpolation, "border": cell.border, "fill": FILL[:channels]}
            expected = opencv.warp("warp_perspective", image, matrix, target, out=before, **options)
            actual = warp(device, image, matrix, target, before.copy(), **options)
            assert_same_bytes(actual, expected)


@pytest.mark.parametrize("interpolation", ["nearest", "linear", "area", "cubic", "lanczos4"])
@pytest.mark.parametrize("channels", [2, 5, 7])
def test_warp_perspective_matches_opencv_plane_by_plane_for_any_number_of_channels(
    device, channels, interpolation
):
    image, before = photograph(40, 50, channels), np.zeros((30, 70, channels), np.uint8)
    matrix = perspective((40, 50), (30, 70))
    options = {"interpolation": interpolation, "fill": [10.0 * c for c in range(channels)]}
    expected = opencv.warp_planes("warp_perspective", image, matrix, (30, 70), **options)
    assert_same_bytes(warp(device, image, matrix, (30, 70), before, **options), expected)


@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_warp_perspective_inverts_matrices_of_both_dtypes_as_opencv_does(device, dtype, inverse):
    image, before = photograph(60, 70), np.zeros((50, 90, 3), np.uint8)
    for seed in range(20):
        matrix = perspective((60, 70), (50, 90), seed).astype(dtype)
        expected = opencv.warp("warp_perspective", image, matrix, (50, 90), inverse=inverse)
        assert_same_bytes(warp(device, image, matrix, (50, 90), before, inverse=inverse), expected)


def test_warp_perspective_matches_opencv_on_both_sides_of_a_horizon(device):
    image, before = photograph(60, 70), np.zeros((50, 90, 3), np.uint8)
    matrix = np.array([[1.0, 0.1, 3.0], [-0.1, 1.0, 2.0], [0.03, 0.0211, -1.0]])  # no whole pixel lies on it
    expected = opencv.warp("warp_perspective", image, matrix, (50, 90), inverse=True, border="replicate")
    actual = warp(device, image, matrix, (50, 90), before, inverse=True, border="replicate")
    assert_same_bytes(actual, expected)


def test_warp_perspective_by_an_affine_matrix_is_warp_affine(device):
    image, before = photograph(60, 70), np.zeros((50, 90, 3), np.uint8)
    matrix = perspective((60, 70), (50, 90))
    matrix[2] = (0, 0, 1)
    expected = opencv.warp("warp_affine", image, matrix[:2], (50, 90), inverse=True)
    assert_same_bytes(warp(device, image, matrix, (50, 90), before, inverse=True), expected)


def test_warp_perspective_matches_opencv_on_a_photograph_of_full_size(device):
    image, before = photograph(480, 641), np.zeros((333, 517, 3), np.uint8)
    matrix = perspective((480, 641), (333, 517), 3)
    expected = opencv.warp("warp_perspective", image, matrix, (333, 517), fill=(114, 114, 114))
    assert_same_bytes(warp(device, image, matrix, (333, 517), before, fill=114), expected)
