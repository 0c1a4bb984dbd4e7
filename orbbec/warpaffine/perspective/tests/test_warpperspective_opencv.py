"""warp_perspective compared with cv::warpPerspective."""

import numpy as np
import pytest

from tests.support import assert_same_bytes, photograph

warps = pytest.importorskip("tests.support.peers.warps", reason="needs cv2")


@pytest.mark.parametrize(
    "cell",
    warps.promised_cells("warp_perspective"),
    ids=lambda cell: f"{cell.dtype}-{cell.interpolation}-{cell.border}",
)
def test_warp_perspective_matches_opencv(device, cell):
    warps.assert_cell_as_opencv(device, cell)


@pytest.mark.parametrize("interpolation", ["nearest", "linear", "area", "cubic", "lanczos4"])
@pytest.mark.parametrize("channels", [2, 5, 7])
def test_warp_perspective_matches_opencv_plane_by_plane_for_any_number_of_channels(
    device, channels, interpolation
):
    warps.assert_planes_as_opencv(device, "warp_perspective", channels, interpolation)


@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_warp_perspective_inverts_matrices_of_both_dtypes_as_opencv_does(device, dtype, inverse):
    for seed in range(20):
        matrix = warps.random_map("warp_perspective", (60, 70), (50, 90), seed).astype(dtype)
        warps.assert_as_opencv(
            device, "warp_perspective", photograph(60, 70), matrix, (50, 90), inverse=inverse
        )


def test_warp_perspective_matches_opencv_on_both_sides_of_a_horizon(device):
    matrix = np.array([[1.0, 0.1, 3.0], [-0.1, 1.0, 2.0], [0.03, 0.0211, -1.0]])  # no whole pixel is on it
    options = {"inverse": True, "border": "replicate"}
    warps.assert_as_opencv(device, "warp_perspective", photograph(60, 70), matrix, (50, 90), **options)


def test_warp_perspective_by_an_affine_matrix_is_warp_affine(device):
    image, size = photograph(60, 70), (50, 90)
    matrix = warps.random_map("warp_perspective", (60, 70), size)
    matrix[2] = (0, 0, 1)
    expected = warps.assert_as_opencv(device, "warp_affine", image, matrix[:2], size, inverse=True)
    before = np.zeros_like(expected)
    actual = warps.warp(device, "warp_perspective", image, matrix, size, before, inverse=True)
    assert_same_bytes(actual, expected)


def test_warp_perspective_matches_opencv_on_a_photograph_of_full_size(device):
    warps.assert_photograph_as_opencv(device, "warp_perspective")
