"""warp_affine compared with cv::warpAffine."""

import numpy as np
import pytest

from tests.support import assert_same_bytes, photograph

warps = pytest.importorskip("tests.support.peers.warps", reason="needs cv2")


@pytest.mark.parametrize(
    "cell",
    warps.promised_cells("warp_affine"),
    ids=lambda cell: f"{cell.dtype}-{cell.interpolation}-{cell.border}",
)
def test_warp_affine_matches_opencv(device, cell):
    # With cubic and reflect101, OpenCV 5.0.0 never returns from an image of one pixel.
    returns = (cell.interpolation, cell.border) != ("cubic", "reflect101")
    one_pixel = [((1, 1), (1, 1))] if returns else []
    warps.assert_cell_as_opencv(device, cell, [*one_pixel, *warps.SIZES])


@pytest.mark.parametrize("interpolation", ["nearest", "linear", "area", "cubic", "lanczos4"])
@pytest.mark.parametrize("channels", [2, 5, 7])
def test_warp_affine_matches_opencv_plane_by_plane_for_any_number_of_channels(
    device, channels, interpolation
):
    warps.assert_planes_as_opencv(device, "warp_affine", channels, interpolation)


@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_warp_affine_inverts_matrices_of_both_dtypes_as_opencv_does(device, dtype, inverse):
    for seed in range(20):
        matrix = warps.random_map("warp_affine", (60, 70), (50, 90), seed).astype(dtype)
        warps.assert_as_opencv(device, "warp_affine", photograph(60, 70), matrix, (50, 90), inverse=inverse)


@pytest.mark.parametrize("matrix", [np.zeros((2, 3)), [[1, 2, 3], [2, 4, 6]], [[0, 0, 5], [0, 0, -7]]])
@pytest.mark.parametrize("border", ["constant", "replicate", "reflect101"])
def test_warp_affine_reads_the_first_pixel_where_opencv_finds_no_inverse(device, matrix, border):
    image, matrix = photograph(9, 11), np.asarray(matrix, np.float64)
    actual = warps.assert_as_opencv(device, "warp_affine", image, matrix, (5, 40), border=border)
    assert_same_bytes(actual, np.broadcast_to(image[0, 0], actual.shape))


# Rows that cross an edge of the image at any angle, that lie along it, and that are far from it.
_ROWS_ACROSS_EDGES = [
    *([[step, 0.3, first], [0.1, 0.9, -3]] for step in (0.7, -1.3, 1e-4, 40) for first in (-30, 0, 25, 2e4)),
    *([[0.9, 0, 3], [step, 0.05, first]] for step in (0.2, -0.2, 0) for first in (-6, -0.5, 19.6, -1e5)),
]


@pytest.mark.parametrize(
    "cell",
    [cell for cell in warps.promised_cells("warp_affine") if cell.border in ("constant", "transparent")],
    ids=lambda cell: f"{cell.dtype}-{cell.interpolation}-{cell.border}",
)
def test_rows_beyond_an_edge_of_the_image_match_opencv(device, cell):
    image, before = photograph(20, 23, 3, cell.dtype), photograph(9, 70, 3, cell.dtype, 1)
    options = {"interpolation": cell.interpolation, "border": cell.border, "fill": (7, 100, 255)}
    for matrix in _ROWS_ACROSS_EDGES:
        arguments = "warp_affine", image, np.array(matrix), (9, 70)
        expected = warps.opencv.warp(*arguments, out=before, inverse=True, **options)
        actual = warps.warp(device, *arguments, before.copy(), inverse=True, **options)
        assert_same_bytes(actual, expected)


def test_warp_affine_matches_opencv_on_a_photograph_of_full_size(device):
    warps.assert_photograph_as_opencv(device, "warp_affine")
