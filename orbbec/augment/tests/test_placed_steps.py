"""The color steps ramp, radial and shadow, which read the position: against NumPy, and OpenCV's polygons."""

import itertools

import numpy as np
import pytest
import torch

from orbbec.augment import Output, Sampling, Values, augment
from orbbec.augment.codes import PLACED, STEPS
from tests.support import assert_same_bytes, photograph, photographs

RAMP = [0.75, 0.004, -0.003]
RADIAL = [11.5, 4.25, 0.002, 0.005, -0.3, 0.6]
CORNERS = [(3, 2), (30, 5), (24, 33), (10, 20), (2, 31)]
SHADOW = [0.4, *np.ravel([*CORNERS, *CORNERS[-1:] * 2])]
STEPS_OF = {"ramp": RAMP, "radial": RADIAL, "shadow": SHADOW}
SIZES = [(1, 1), (5, 3), (36, 41), (70, 300)]


def row_of(name, numbers):
    row = torch.zeros(1, 16)
    row[0, : 1 + len(numbers)] = torch.tensor([STEPS[name], *map(float, numbers)])
    return row


def floats(count, channels, height, width):
    """Photographs from 0 to 1."""
    return photographs(count, channels, height, width).float() / 255


def program_of(*names):
    return torch.cat([row_of(name, STEPS_OF[name]) for name in names])


def gain_by_numpy(name, height, width):
    """The factor of each pixel, in float64."""
    y, x = np.mgrid[:height, :width].astype(np.float64)
    if name == "ramp":
        return RAMP[0] + RAMP[1] * x + RAMP[2] * y
    if name == "radial":
        center_x, center_y, scale_x, scale_y, slope, peak = RADIAL
        distance = scale_x * (x - center_x) ** 2 + scale_y * (y - center_y) ** 2
        return 1 + slope * distance + peak * np.exp(-distance)
    inside = np.zeros((height, width), bool)
    for (from_x, from_y), (to_x, to_y) in zip(CORNERS, [*CORNERS[1:], CORNERS[0]], strict=True):
        if from_y != to_y:
            crossing = from_x + (to_x - from_x) * (y - from_y) / (to_y - from_y)
            inside ^= (min(from_y, to_y) <= y) & (y < max(from_y, to_y)) & (x < crossing)
    return np.where(inside, SHADOW[0], 1.0)


def changed(images, colors, size=None, matrix=None, dtype=None):
    matrix = torch.eye(3) if matrix is None else matrix
    values = Values(colors=colors.to(images.device))
    return augment(
        images, matrix, size or tuple(images.shape[2:]), Sampling("nearest"), values, Output(dtype)
    )


def test_placed_steps_are_these():
    assert {STEPS[name] for name in STEPS_OF} == PLACED


@pytest.mark.parametrize("name", STEPS_OF)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("channels", [1, 3])
def test_a_placed_step_is_that_of_numpy(device, name, size, channels):
    images = floats(2, channels, *size)
    expected = (images.double().numpy() * gain_by_numpy(name, *size)).clip(0, 1)
    actual = changed(device.put(images), row_of(name, STEPS_OF[name])).cpu().double().numpy()
    assert np.abs(actual - expected).max() < 4e-7  # seen: 1.9e-7


@pytest.mark.parametrize("name", STEPS_OF)
def test_bytes_are_rounded_once(device, name):
    image = photographs(1, 3, 37, 61)
    expected = (image.double().numpy() * gain_by_numpy(name, 37, 61)).clip(0, 255)
    actual = changed(device.put(image), row_of(name, STEPS_OF[name])).cpu().double().numpy()
    assert np.abs(actual - expected).max() < 0.5001


def test_positions_are_those_of_the_output(device):
    image = device.put(floats(1, 3, 20, 30))
    flip = torch.tensor([[-1.0, 0, 29], [0, -1, 19], [0, 0, 1]])
    result = changed(image, program_of("ramp"), matrix=flip)
    assert_same_bytes(result, changed(image.flip(-1, -2).contiguous(), program_of("ramp")))


def test_placed_steps_are_the_same_on_every_device(accelerator):
    """In programs short and long, with contrast, for crops and sizes of more than a tile."""
    contrast = row_of("contrast", [0.6])
    every = program_of("ramp", "radial", "shadow")
    long = torch.cat([every, contrast, every, program_of("radial", "ramp", "ramp")])
    matrix = torch.tensor([[0.9, 0.1, 3.0], [-0.1, 0.8, 2.0], [0.0, 0.0, 1.0]])
    for colors, dtype in itertools.product(
        (every, torch.cat([every, contrast]), long), (None, torch.float32)
    ):
        for layout in (torch.contiguous_format, torch.channels_last):
            images = photographs(2, 3, 50, 73).contiguous(memory_format=layout)
            expected = changed(images, colors, (41, 67), matrix, dtype)
            with accelerator.active():
                actual = changed(accelerator.put(images), colors, (41, 67), matrix, dtype)
            assert_same_bytes(actual, expected)


def test_shadows_fill_the_polygons_of_opencv(device):
    cv2 = pytest.importorskip("cv2")
    rng = np.random.default_rng(0)
    image = photograph(64, 96)
    for _ in range(20):
        corners = rng.integers(0, (96, 64), (7, 2))
        mask = cv2.fillPoly(np.zeros((64, 96), np.uint8), [corners.astype(np.int32)], 1)
        border = cv2.polylines(np.zeros((64, 96), np.uint8), [corners.astype(np.int32)], True, 1)
        row = row_of("shadow", [0.5, *corners.ravel()])
        result = changed(device.put(torch.from_numpy(image).permute(2, 0, 1)[None]), row)[0].permute(1, 2, 0)
        expected = np.where(mask[..., None] == 1, np.rint(image * 0.5), image)
        away = border == 0
        assert np.array_equal(result.cpu().numpy()[away], expected[away])


def test_numbers_that_are_not_finite_stay_in_range(device):
    image = device.put(floats(1, 3, 9, 40))
    for name, count in (("ramp", 3), ("radial", 6), ("shadow", 15)):
        for value in (float("nan"), float("inf"), -float("inf"), 1e30):
            result = changed(image, row_of(name, [value] * count))
            assert ((result >= 0) & (result <= 1)).all()


@pytest.mark.parametrize("name", STEPS_OF)
def test_gradients_are_the_factors(device, name):
    images = device.put(floats(1, 3, 36, 41) * 0.4 + 0.1).requires_grad_()
    changed(images, row_of(name, STEPS_OF[name])).sum().backward()
    expected = gain_by_numpy(name, 36, 41)
    inside = (images.detach().cpu().double().numpy() * expected < 1) & (expected > 0)
    assert np.abs(images.grad.cpu().numpy() - expected * inside).max() < 1e-6
