"""remap worked by hand, and at non-finite positions."""

import math

import numpy as np
import pytest
import torch

import orbbec
from tests.support import assert_same_bytes, photograph, photographs
from tests.support.warps import random_warps


def test_remap_worked_by_hand(device):
    images = device.put(torch.tensor([[[[10.0, 20.0], [50.0, 80.0]]]]))
    x = torch.tensor([[0.0, 1.0, 0.5, 0.5], [0.25, -0.5, 1.5, -1.0]])
    y = torch.tensor([[0.0, 1.0, 0.0, 0.5], [1.0, 0.0, 1.0, 0.0]])
    warped = orbbec.remap(images, x, y, fill=100)
    assert warped.cpu().tolist() == [[[[10.0, 80.0, 15.0, 40.0], [57.5, 55.0, 90.0, 100.0]]]]


def test_remap_by_its_own_grid_is_a_copy(device):
    images = device.put(photographs(2, 3, 17, 35))
    y, x = torch.meshgrid(torch.arange(17.0), torch.arange(35.0), indexing="ij")
    for interpolation in ("nearest", "linear", "cubic", "lanczos4"):
        for arithmetic in ("cv2_5", "cv2_4"):
            copy = orbbec.remap(images, x, y, interpolation=interpolation, arithmetic=arithmetic)
            assert_same_bytes(copy, images)


@pytest.mark.parametrize("interpolation", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("border", ["constant", "replicate", "reflect", "reflect101", "wrap"])
def test_a_position_that_is_not_finite_reads_the_fill_and_its_neighbors_do_not(
    device, interpolation, value, border
):
    images = device.put(photographs(1, 3, 8, 9, torch.float32))
    y, x = torch.stack(torch.meshgrid(torch.arange(1.0, 7), torch.arange(1.0, 8), indexing="ij"))
    expected = orbbec.remap(images, x, y, interpolation=interpolation, border=border)
    for broken in (x, y):
        broken[2, 3] = value
        expected[..., 2, 3] = 7
        warped = orbbec.remap(images, x, y, interpolation=interpolation, border=border, fill=7)
        assert_same_bytes(warped, expected)


@pytest.mark.parametrize("interpolation", ["nearest", "linear", "cubic", "lanczos4"])
@pytest.mark.parametrize("arithmetic", ["cv2_5", "cv2_4"])
@pytest.mark.parametrize("border", ["constant", "replicate", "reflect", "reflect101", "wrap"])
def test_positions_of_any_numbers_read_a_pixel_or_the_fill(device, interpolation, arithmetic, border):
    images = device.put(torch.full((1, 1, 6, 5), 200, dtype=torch.uint8))
    numbers = torch.tensor(
        [0.0, 1.5, -1e30, 1e30, 3e38, 2147483647.0, -2147483648.0, 2147483904.0, 1e9, -1e9, 1e-45]
    )
    x, y = torch.meshgrid(numbers, numbers, indexing="ij")
    options = {"interpolation": interpolation, "arithmetic": arithmetic, "border": border, "fill": 200}
    assert (orbbec.remap(images, x, y, **options) == 200).all()


def test_one_table_serves_all_images_as_one_each_would(device):
    images = device.put(photographs(3, 3, 20, 30))
    x, y = random_warps("remap", (20, 30), (25, 35)).float()
    shared = orbbec.remap(images, x, y)
    assert_same_bytes(shared, orbbec.remap(images, x.expand(3, 25, 35), y.expand(3, 25, 35)))
    assert_same_bytes(shared, orbbec.remap(images, device.put(x), device.put(y)))


def test_each_image_is_read_at_its_own_table(device):
    images, tables = (
        device.put(photographs(3, 3, 20, 30)),
        random_warps("remap", (20, 30), (25, 35), 3).float(),
    )
    warped = orbbec.remap(images, tables[:, 0], tables[:, 1])
    for image, table, one in zip(images, tables, warped, strict=True):
        assert_same_bytes(one, orbbec.remap(image, *table))


def test_maps_between_other_memory_are_read_as_they_stand(device):
    images, tables = device.put(photographs(2, 3, 20, 30)), random_warps("remap", (20, 30), (25, 35), 2)
    wide = device.put(torch.zeros(2, 3, 25, 35)).copy_(torch.cat([tables, tables[:, :1]], 1))
    x, y = device.put(tables[:, 0].float()), device.put(tables[:, 1].float())
    expected = orbbec.remap(images, x.contiguous(), y.contiguous())
    assert_same_bytes(orbbec.remap(images, wide[:, 0], wide[:, 1]), expected)  # images 3 maps apart
    assert_same_bytes(orbbec.remap(images, x.contiguous(), wide[:, 1]), expected)  # apart differently
    assert_same_bytes(orbbec.remap(images, x.mT.contiguous().mT, wide[:, 1]), expected)


def test_only_one_map_may_need_a_gradient():
    images, (x, y) = photographs(1, 1, 20, 30, torch.float32), random_warps("remap", (20, 30), (25, 35))
    x, y = x.float().requires_grad_(), y.float()
    orbbec.remap(images, x, y).sum().backward()
    both = y.clone().requires_grad_()
    again = x.detach().clone().requires_grad_()
    orbbec.remap(images, again, both).sum().backward()
    assert y.grad is None
    assert torch.equal(x.grad, again.grad)
    assert both.grad.abs().max() > 0


def test_float64_tables_are_read_as_float32_unless_the_images_are_float64():
    table = random_warps("remap", (20, 30), (25, 35))
    for dtype in (torch.uint8, torch.float32):
        images = photographs(1, 3, 20, 30, dtype)
        assert_same_bytes(orbbec.remap(images, *table), orbbec.remap(images, *table.float()))
    images = photographs(1, 3, 20, 30, torch.float64)
    assert (orbbec.remap(images, *table) != orbbec.remap(images, *table.float())).any()


def test_tables_of_any_layout_are_read_as_they_stand():
    image, (x, y) = photograph(20, 30), random_warps("remap", (20, 30), (25, 35)).float().numpy()
    expected = orbbec.remap(image, x, y)
    assert_same_bytes(orbbec.remap(image, np.asfortranarray(x), np.asfortranarray(y)), expected)
    assert_same_bytes(orbbec.remap(image, x[:, ::-1], y[:, ::-1]), expected[:, ::-1])
