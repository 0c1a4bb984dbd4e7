"""warp_affine compared with cv::warpAffine."""

import numpy as np
import pytest
import torch

import orbbec
from tests.support import assert_same_bytes, photograph, similarity

opencv = pytest.importorskip("tests.support.peers.opencv", reason="needs cv2")
parity = pytest.importorskip("tests.support.peers.parity", reason="needs cv2")

ARITHMETIC = opencv.arithmetic()
PROMISED = [
    cell for cell in parity.cells() if cell.op == "warp_affine" and parity.is_promised(cell, ARITHMETIC)
]
SIZES = [((1, 1), (1, 1)), ((2, 3), (7, 13)), ((33, 40), (31, 17)), ((64, 48), (20, 150))]
FILL = (7.5, 300.0, -3.25, 114.0)


def warp(device, image, matrix, size, out, **options):
    """One image [H, W, C] through the operator on the device."""

    def put(array):
        return device.put(torch.from_numpy(array).permute(2, 0, 1)[None])

    result = orbbec.warp_affine(put(image), matrix, size, out=put(out), arithmetic=ARITHMETIC, **options)
    return result[0].permute(1, 2, 0).cpu().numpy()


@pytest.mark.parametrize(
    "cell", PROMISED, ids=lambda cell: f"{cell.dtype}-{cell.interpolation}-{cell.border}"
)
def test_warp_affine_matches_opencv(device, cell):
    for seed, (source, target) in enumerate(SIZES):
        if min(source) == 1 and (cell.interpolation, cell.border) == ("cubic", "reflect101"):
            continue  # OpenCV 5.0.0 never returns
        for channels in (1, 3, 4):
            image = photograph(*source, channels, cell.dtype, seed)
            matrix = similarity(source, target, seed).numpy()
            before = photograph(*target, channels, cell.dtype, seed + 9)
            options = {"interpolation": cell.interpolation, "border": cell.border, "fill": FILL[:channels]}
            expected = opencv.warp("warp_affine", image, matrix, target, out=before, **options)
            actual = warp(device, image, matrix, target, before.copy(), **options)
            assert_same_bytes(actual, expected)


@pytest.mark.parametrize("interpolation", ["nearest", "linear", "area", "cubic", "lanczos4"])
@pytest.mark.parametrize("channels", [2, 5, 7])
def test_warp_affine_matches_opencv_plane_by_plane_for_any_number_of_channels(
    device, channels, interpolation
):
    image, before = photograph(40, 50, channels), np.zeros((30, 70, channels), np.uint8)
    matrix = similarity((40, 50), (30, 70)).numpy()
    options = {"interpolation": interpolation, "fill": [10.0 * c for c in range(channels)]}
    expected = opencv.warp_planes("warp_affine", image, matrix, (30, 70), **options)
    assert_same_bytes(warp(device, image, matrix, (30, 70), before, **options), expected)


@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_warp_affine_inverts_matrices_of_both_dtypes_as_opencv_does(device, dtype, inverse):
    image, before = photograph(60, 70), np.zeros((50, 90, 3), np.uint8)
    for seed in range(20):
        matrix = similarity((60, 70), (50, 90), seed).numpy().astype(dtype)
        expected = opencv.warp("warp_affine", image, matrix, (50, 90), inverse=inverse)
        actual = warp(device, image, matrix, (50, 90), before, inverse=inverse)
        assert_same_bytes(actual, expected)


@pytest.mark.parametrize("matrix", [np.zeros((2, 3)), [[1, 2, 3], [2, 4, 6]], [[0, 0, 5], [0, 0, -7]]])
@pytest.mark.parametrize("border", ["constant", "replicate", "reflect101"])
def test_warp_affine_reads_the_first_pixel_where_opencv_finds_no_inverse(device, matrix, border):
    image, before = photograph(9, 11), np.zeros((5, 40, 3), np.uint8)
    matrix = np.asarray(matrix, np.float64)
    expected = opencv.warp("warp_affine", image, matrix, (5, 40), border=border)
    actual = warp(device, image, matrix, (5, 40), before, border=border)
    assert_same_bytes(actual, expected)
    assert_same_bytes(actual, np.broadcast_to(image[0, 0], actual.shape))


def test_warp_affine_matches_opencv_on_a_photograph_of_full_size(device):
    image, before = photograph(480, 641), np.zeros((333, 517, 3), np.uint8)
    matrix = similarity((480, 641), (333, 517), 3).numpy()
    expected = opencv.warp("warp_affine", image, matrix, (333, 517), fill=(114, 114, 114))
    assert_same_bytes(warp(device, image, matrix, (333, 517), before, fill=114), expected)
