"""warp_affine worked by hand, with unusual matrices, and under its earlier name."""

import math

import numpy as np
import pytest
import torch

import orbbec
from tests.support import assert_same_bytes, photographs, similarity


def test_warp_affine_worked_by_hand(device):
    # Output (x, y) reads (x / 2 + 1, y): the columns 1, 1.5, 2, 2.5 of each row; 2.5 is half fill.
    images = device.put(torch.tensor([[[[10.0, 20.0, 40.0], [50.0, 60.0, 80.0]]]]))
    matrix = torch.tensor([[2.0, 0.0, -2.0], [0.0, 1.0, 0.0]])
    warped = orbbec.warp_affine(images, matrix, (2, 4), fill=100)
    assert warped.cpu().tolist() == [[[[20, 30, 40, 70], [60, 70, 80, 90]]]]


def test_warp_affine_rounds_half_to_even_and_saturates(device):
    images = device.put(torch.tensor([[[[0, 1, 2, 255]]]], dtype=torch.uint8))
    half_right = torch.tensor([[1.0, 0.0, 0.5], [0.0, 1.0, 0.0]])
    warped = orbbec.warp_affine(images, half_right, (1, 4), inverse=True, fill=300)
    assert warped.flatten().tolist() == [0, 2, 128, 255]  # 0.5, 1.5, 128.5, 255


@pytest.mark.parametrize(
    ("fill", "stored"), [(0.5, 0), (1.5, 2), (2.5, 2), (-7, 0), (255.6, 255), (math.nan, 0)]
)
def test_warp_affine_stores_a_fill_as_opencv_stores_numbers(device, fill, stored):
    images = device.put(torch.full((1, 1, 2, 2), 9, dtype=torch.uint8))
    away = torch.tensor([[1.0, 0.0, 100.0], [0.0, 1.0, 0.0]])
    assert orbbec.warp_affine(images, away, (1, 1), fill=fill).item() == stored


@pytest.mark.parametrize("interpolation", ["nearest", "linear", "cubic", "lanczos4"])
def test_a_fill_of_minus_zero_counts_as_zero(device, interpolation):
    images, away = device.put(torch.ones(1, 1, 4, 4)), torch.tensor([[1.0, 0.0, 100.0], [0.0, 1.0, 0.0]])
    warped = orbbec.warp_affine(images, away, (3, 40), fill=-0.0, interpolation=interpolation)
    assert_same_bytes(warped, torch.zeros_like(warped))


@pytest.mark.parametrize("interpolation", ["nearest", "linear"])
@pytest.mark.parametrize("arithmetic", ["cv2_5", "cv2_4"])
@pytest.mark.parametrize("width", [5, 40])
def test_an_infinite_fill_is_infinite_outside(device, interpolation, arithmetic, width):
    images, away = device.put(torch.ones(1, 3, 4, 4)), torch.tensor([[1.0, 0.0, 100.0], [0.0, 1.0, 0.0]])
    options = {"interpolation": interpolation, "arithmetic": arithmetic}
    assert (orbbec.warp_affine(images, away, (3, width), fill=math.inf, **options) == math.inf).all()


@pytest.mark.parametrize(
    ("border", "expected"),
    [
        ("constant", [9, 9, 9, 9, 1, 2, 3, 9, 9, 9, 9]),
        ("replicate", [1, 1, 1, 1, 1, 2, 3, 3, 3, 3, 3]),
        ("reflect", [3, 3, 2, 1, 1, 2, 3, 3, 2, 1, 1]),
        ("reflect101", [1, 2, 3, 2, 1, 2, 3, 2, 1, 2, 3]),
        ("wrap", [3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1]),
        ("transparent", [8, 8, 8, 8, 1, 2, 3, 8, 8, 8, 8]),
    ],
)
@pytest.mark.parametrize("interpolation", ["nearest", "linear"])
@pytest.mark.parametrize("arithmetic", ["cv2_5", "cv2_4"])
def test_every_border_worked_by_hand(device, border, expected, interpolation, arithmetic):
    images = device.put(torch.tensor([[[[1, 2, 3]]]], dtype=torch.uint8))
    out = device.put(torch.full((1, 1, 1, 11), 8, dtype=torch.uint8))
    four_left = torch.tensor([[1.0, 0.0, -4.0], [0.0, 1.0, 0.0]])
    options = {"interpolation": interpolation, "arithmetic": arithmetic, "inverse": True}
    orbbec.warp_affine(images, four_left, (1, 11), border=border, fill=9, out=out, **options)
    assert out.flatten().tolist() == expected


@pytest.mark.parametrize("interpolation", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e38])
@pytest.mark.parametrize("border", ["constant", "replicate", "reflect", "reflect101", "wrap"])
def test_a_position_that_is_not_finite_reads_the_fill(device, interpolation, value, border):
    images = device.put(photographs(1, 3, 8, 9, torch.float32))
    matrix = torch.tensor([[value * 1000, 0.0, value * 1000], [0.0, 1.0, 0.0]])
    warped = orbbec.warp_affine(
        images, matrix, (5, 20), inverse=True, interpolation=interpolation, border=border, fill=7
    )
    assert (warped == 7).all()


def test_a_position_that_is_not_finite_keeps_what_out_held_where_the_border_is_transparent(device):
    images = device.put(photographs(1, 3, 8, 9))
    before = photographs(1, 3, 5, 20, seed=1)
    out = device.put(before.clone())
    orbbec.warp_affine(images, torch.full((2, 3), math.nan), (5, 20), border="transparent", out=out, fill=7)
    assert_same_bytes(out, before)


@pytest.mark.parametrize("interpolation", ["nearest", "linear", "cubic", "lanczos4"])
@pytest.mark.parametrize("arithmetic", ["cv2_5", "cv2_4"])
@pytest.mark.parametrize("value", [math.nan, math.inf, 1e30, -1e30, 1e-40, 1e9])
def test_matrices_of_any_numbers_read_a_pixel_or_the_fill(device, interpolation, arithmetic, value):
    images = device.put(torch.full((1, 1, 6, 5), 200, dtype=torch.uint8))
    for index in range(6):
        matrix = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], dtype=torch.float64)
        matrix.view(-1)[index] = value
        for inverse in (False, True):
            warped = orbbec.warp_affine(
                images, matrix, (7, 33), interpolation=interpolation, arithmetic=arithmetic, inverse=inverse
            )
            assert int(warped.max()) <= 255
            if interpolation == "nearest":
                assert set(warped.unique().tolist()) <= {0, 200}


def test_one_matrix_serves_all_images_as_one_each_would(device):
    images, matrix = device.put(photographs(3, 3, 20, 30)), similarity((20, 30), (25, 35))
    shared = orbbec.warp_affine(images, matrix, (25, 35))
    assert_same_bytes(shared, orbbec.warp_affine(images, matrix.expand(3, 2, 3), (25, 35)))
    assert_same_bytes(shared, orbbec.warp_affine(images, matrix.repeat(3, 1, 1), (25, 35)))


def test_a_matrix_on_the_device_of_the_images_is_inverted_to_the_same_bits(device):
    images, matrices = device.put(photographs(8, 1, 20, 30)), similarity((20, 30), (25, 35), count=8)
    host = orbbec.warp_affine(images, matrices, (25, 35))
    assert_same_bytes(orbbec.warp_affine(images, device.put(matrices), (25, 35)), host)


def test_a_matrix_of_any_layout_is_read_as_it_stands():
    images, matrices = photographs(4, 1, 20, 30), similarity((20, 30), (25, 35), count=4)
    expected = orbbec.warp_affine(images, matrices, (25, 35))
    transposed = matrices.transpose(0, 2).contiguous().transpose(0, 2)
    assert_same_bytes(orbbec.warp_affine(images, transposed, (25, 35)), expected)
    assert_same_bytes(orbbec.warp_affine(images, np.asfortranarray(matrices.numpy()), (25, 35)), expected)


def test_the_default_arithmetic_is_the_one_that_was_set():
    images, matrix = photographs(1, 3, 40, 40), similarity((40, 40), (40, 40))
    five, four = (
        orbbec.warp_affine(images, matrix, (40, 40), arithmetic=name) for name in ("cv2_5", "cv2_4")
    )
    assert (five != four).any()
    assert_same_bytes(orbbec.warp_affine(images, matrix, (40, 40)), five)
    orbbec.set_default_arithmetic("cv2_4")
    try:
        assert_same_bytes(orbbec.warp_affine(images, matrix, (40, 40)), four)
    finally:
        orbbec.set_default_arithmetic("cv2_5")


def test_affine_torch_is_warp_affine_by_the_inverse_map(device):
    images, matrices = device.put(photographs(2, 3, 20, 30)), similarity((25, 35), (20, 30), count=2)
    expected = orbbec.warp_affine(images, matrices, (25, 35), inverse=True)
    assert_same_bytes(orbbec.affine_torch(images, matrices, 25, 35), expected)
