"""remap compared with cv::remap."""

import numpy as np
import pytest
import torch

import orbbec
from tests.support import assert_same_bytes, photograph
from tests.support.warps import random_warps

opencv = pytest.importorskip("tests.support.peers.opencv", reason="needs cv2")
parity = pytest.importorskip("tests.support.peers.parity", reason="needs cv2")

ARITHMETIC = opencv.arithmetic()
PROMISED = [cell for cell in parity.cells() if cell.op == "remap" and parity.is_promised(cell, ARITHMETIC)]
SIZES = [((2, 3), (7, 13)), ((33, 40), (31, 17)), ((64, 48), (20, 150))]
FILL = (7.5, 300.0, -3.25, 114.0)


def positions(source, target, seed=0):
    return random_warps("remap", source, target, seed=seed).float().numpy()


def read(device, image, maps, out, **options):
    """One image [H, W, C] through the operator on the device."""

    def put(array):
        return device.put(torch.from_numpy(array).permute(2, 0, 1)[None])

    result = orbbec.remap(put(image), *maps, out=put(out), arithmetic=ARITHMETIC, **options)
    return result[0].permute(1, 2, 0).cpu().numpy()


@pytest.mark.parametrize(
    "cell", PROMISED, ids=lambda cell: f"{cell.dtype}-{cell.interpolation}-{cell.border}"
)
def test_remap_matches_opencv(device, cell):
    for seed, (source, target) in enumerate(SIZES):
        for channels in (1, 3, 4):
            image = photograph(*source, channels, cell.dtype, seed)
            maps = positions(source, target, seed)
            before = photograph(*target, channels, cell.dtype, seed + 9)
            options = {"interpolation": cell.interpolation, "border": cell.border, "fill": FILL[:channels]}
            expected = opencv.warp("remap", image, maps, target, out=before, **options)
            assert_same_bytes(read(device, image, maps, before.copy(), **options), expected)


@pytest.mark.parametrize("interpolation", ["nearest", "linear", "cubic", "lanczos4"])
@pytest.mark.parametrize("channels", [2, 5, 7])
def test_remap_matches_opencv_plane_by_plane_for_any_number_of_channels(device, channels, interpolation):
    image, before = photograph(40, 50, channels), np.zeros((30, 70, channels), np.uint8)
    maps = positions((40, 50), (30, 70))
    options = {"interpolation": interpolation, "fill": [10.0 * c for c in range(channels)]}
    expected = opencv.warp_planes("remap", image, maps, (30, 70), **options)
    assert_same_bytes(read(device, image, maps, before, **options), expected)


def test_remap_matches_opencv_on_a_photograph_of_full_size(device):
    image, before = photograph(480, 641), np.zeros((333, 517, 3), np.uint8)
    maps = positions((480, 641), (333, 517), 3)
    expected = opencv.warp("remap", image, maps, (333, 517), fill=(114, 114, 114))
    assert_same_bytes(read(device, image, maps, before, fill=114), expected)
