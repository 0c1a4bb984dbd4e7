"""warp_perspective worked by hand, at the horizon, and with unusual matrices."""

import math

import pytest
import torch

import orbbec
from tests.support import assert_same_bytes, photographs
from tests.support.warps import random_warps


def test_warp_perspective_worked_by_hand(device):
    # Output (x, 0) reads (4x / (x + 1), 0): 0, 2, 8/3, 3.
    images = device.put(torch.tensor([[[[0.0, 10.0, 20.0, 50.0]]]]))
    matrix = torch.tensor([[4.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]])
    warped = orbbec.warp_perspective(images, matrix, (1, 4), inverse=True)
    # In float32, 8/3 is 2.6666667, which gives 20 + 0.6666667 * 30.
    assert warped.flatten().tolist() == [0.0, 20.0, pytest.approx(40.0, abs=4e-6), 50.0]


def test_the_scale_of_a_matrix_that_is_a_power_of_two_changes_nothing(device):
    images = device.put(photographs(1, 3, 20, 30))
    matrix = random_warps("warp_perspective", (20, 30), (25, 35))
    expected = orbbec.warp_perspective(images, matrix, (25, 35))
    assert_same_bytes(orbbec.warp_perspective(images, -8 * matrix, (25, 35)), expected)


@pytest.mark.parametrize("interpolation", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("border", ["constant", "replicate", "reflect", "reflect101", "wrap"])
def test_the_horizon_itself_reads_the_fill(device, interpolation, border):
    images = device.put(photographs(1, 3, 8, 9, torch.float32))
    matrix = torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 0.0, -5.0]])
    options = {"interpolation": interpolation, "border": border}
    warped = orbbec.warp_perspective(images, matrix, (6, 40), inverse=True, fill=1e6, **options)
    assert (warped[..., 5] == 1e6).all()  # x = 5, where the denominator is 0
    if border != "constant":
        assert (warped[..., :5] < 1e6).all()
        assert (warped[..., 6:] < 1e6).all()


@pytest.mark.parametrize("interpolation", ["nearest", "linear"])
def test_a_singular_matrix_reads_the_fill_in_float_and_the_first_pixel_in_fixed_point(device, interpolation):
    images = device.put(photographs(1, 3, 8, 9))
    singular = torch.tensor([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [0.0, 0.0, 1.0]])
    options = {"interpolation": interpolation, "border": "replicate", "fill": 77}
    warped = orbbec.warp_perspective(images, singular, (5, 20), **options)
    assert (warped == 77).all()
    warped = orbbec.warp_perspective(images, singular, (5, 20), arithmetic="cv2_4", **options)
    assert (warped == images[:, :, :1, :1]).all()


@pytest.mark.parametrize("interpolation", ["nearest", "linear", "cubic", "lanczos4"])
@pytest.mark.parametrize("arithmetic", ["cv2_5", "cv2_4"])
@pytest.mark.parametrize("value", [math.nan, math.inf, 1e30, -1e30, 1e-40, 1e9])
def test_matrices_of_any_numbers_read_a_pixel_or_the_fill(device, interpolation, arithmetic, value):
    images = device.put(torch.full((1, 1, 6, 5), 200, dtype=torch.uint8))
    for index in range(9):
        matrix = torch.eye(3, dtype=torch.float64)
        matrix.view(-1)[index] = value
        for inverse in (False, True):
            options = {"interpolation": interpolation, "arithmetic": arithmetic, "inverse": inverse}
            warped = orbbec.warp_perspective(images, matrix, (7, 33), **options)
            assert warped.shape == (1, 1, 7, 33)
            if interpolation == "nearest":
                assert set(warped.unique().tolist()) <= {0, 200}


def test_one_matrix_serves_all_images_as_one_each_would(device):
    images = device.put(photographs(3, 3, 20, 30))
    matrix = random_warps("warp_perspective", (20, 30), (25, 35))
    shared = orbbec.warp_perspective(images, matrix, (25, 35))
    assert_same_bytes(shared, orbbec.warp_perspective(images, matrix.expand(3, 3, 3), (25, 35)))
    assert_same_bytes(shared, orbbec.warp_perspective(images, device.put(matrix), (25, 35)))
