"""The color steps hsv, gamma and curve: against OpenCV and NumPy on every device, and their gradients."""

import numpy as np
import pytest
import torch

cv2 = pytest.importorskip("cv2")

import orbbec
from orbbec.augment.codes import STEPS
from tests.support import assert_same_bytes
from tests.support.augments import fused

# Hue shift, and factor and summand of saturation and value.
CHANGES = [
    (0.0, 1.0, 0.0, 1.0, 0.0),
    (2.7, 1.69, 0.0, 0.61, 0.0),
    (-2.7, 0.31, 0.0, 1.39, 0.0),
    (179.5, 1.0, -30.25, 1.0, 40.75),
    (-180.0, 1.0, 90.5, 1.0, -255.0),
]
POINTS = [(0.25, 0.75), (0.0, 1.0), (1.0, 0.0), (0.13, 0.61)]


def colors():
    """65,536 colors over the whole cube: uint8 `[256, 256, 3]`."""
    steps = np.linspace(0, 255, 64).round()
    cube = np.stack(np.meshgrid(steps, steps[::4], steps, indexing="ij"), -1)
    return cube.reshape(256, 256, 3).astype(np.uint8)


def row_of(name, numbers):
    row = torch.zeros(1, 16)
    row[0, : 1 + len(numbers)] = torch.tensor([STEPS[name], *numbers])
    return row


def changed(device, image, name, numbers):
    """A color step of images `[H, W, C]`, fused with nothing."""
    images = device.put(torch.from_numpy(image).permute(2, 0, 1)[None])
    result = fused(images, torch.eye(2, 3), image.shape[:2], colors=device.put(row_of(name, numbers)))
    return result[0].permute(1, 2, 0).cpu().contiguous()


def hsv_by_opencv(image, shift, saturation, more, value, brighter):
    """Through tables of bytes."""
    levels = np.arange(256.0)
    tables = [(levels + shift) % 180, levels * saturation + more, levels * value + brighter]
    tables[1][0] = 0
    hsv = cv2.split(cv2.cvtColor(image, cv2.COLOR_RGB2HSV))
    tables = [np.clip(table, 0, 255).astype(np.uint8) for table in tables]
    return cv2.cvtColor(
        cv2.merge([cv2.LUT(*pair) for pair in zip(hsv, tables, strict=True)]), cv2.COLOR_HSV2RGB
    )


@pytest.mark.parametrize("numbers", CHANGES)
def test_hsv_has_the_bytes_of_opencv(device, numbers):
    assert_same_bytes(changed(device, colors(), "hsv", numbers), hsv_by_opencv(colors(), *numbers))


def test_hsv_of_floats_is_that_of_bytes(device):
    image = colors()
    expected = hsv_by_opencv(image, *CHANGES[1]).astype(np.float32) * np.float32(1 / 255)
    nearby = (image + np.float32(0.3)).clip(0, 255) / np.float32(255)
    assert_same_bytes(changed(device, nearby, "hsv", CHANGES[1]), expected)


def test_hsv_of_gray_images_changes_the_value_alone(device):
    image = np.arange(256, dtype=np.uint8).reshape(4, 64, 1)
    expected = np.clip(np.arange(256) * 1.5 + 3, 0, 255).astype(np.uint8).reshape(4, 64, 1)
    assert_same_bytes(changed(device, image, "hsv", (50.0, 2.0, 20.0, 1.5, 3.0)), expected)


GAMMAS = (0.0, 1e-3, 0.45, 0.5, 1.0, 1.3, 2.0, 2.2, 8.0, 9.5, 300.0)


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("gain", [1.0, 1.7])
def test_gamma_has_the_bits_of_adjust_gamma(device, gamma, gain):
    """Also near 0 and 1, and beyond the range."""
    rng = np.random.default_rng(0)
    values = rng.random((100, 512), np.float32)
    values[:20] = np.float32(2) ** rng.uniform(-149, 20, (20, 512)).astype(np.float32)
    values[20:30] = 1 - rng.random((10, 512), np.float32) ** 20
    values[30:32] = np.arange(1024, dtype=np.float32).reshape(2, 512) / 1024
    values[0, :4] = 0, -0.0, np.inf, np.float32(2) ** -126
    images = torch.from_numpy(values)[None, None]
    result = fused(
        device.put(images),
        torch.eye(2, 3),
        values.shape,
        colors=device.put(row_of("gamma", [gamma, gain])),
        interpolation="nearest",
    )
    raised = orbbec.adjust_gamma(images, float(np.float32(gamma)))
    assert_same_bytes(result, (raised * np.float32(gain)).clamp(0, 1))
    black = torch.zeros(1, 1, 5, 70)
    result = fused(
        device.put(black), torch.eye(2, 3), (5, 70), colors=device.put(row_of("gamma", [gamma, 1.0]))
    )
    assert result.unique().tolist() == [float(gamma == 0)]


def curve_by_numpy(values, low, high):
    rest = 1 - values
    return 3 * rest**2 * values * low + 3 * rest * values**2 * high + values**3


@pytest.mark.parametrize("points", POINTS)
def test_a_curve_has_the_bytes_of_numpy(device, points):
    image = np.arange(256, dtype=np.uint8).reshape(4, 64, 1)
    expected = np.rint(curve_by_numpy(image / 255, *points) * 255).astype(np.uint8)
    assert_same_bytes(changed(device, image, "curve", [points[0]] * 3 + [points[1]] * 3), expected)


def test_each_channel_has_its_curve(device):
    image = np.random.default_rng(0).random((5, 70, 3), np.float32)
    low, high = np.array([0.1, 0.4, 0.2]), np.array([0.9, 0.5, 0.7])
    actual = changed(device, image, "curve", [*low, *high]).numpy()
    assert np.abs(actual - curve_by_numpy(image.astype(np.float64), low, high)).max() < 2e-7  # seen: 1.3e-7


def test_gradients_are_those_of_the_formulas(device):
    low, high = torch.tensor([0.1, 0.4, 0.2]).view(3, 1, 1), torch.tensor([0.9, 0.5, 0.7]).view(3, 1, 1)
    image = torch.from_numpy(np.random.default_rng(1).random((1, 3, 5, 7)))
    wanted = image.clone().requires_grad_()
    curve_by_numpy(wanted, low.double(), high.double()).sum().backward()
    for name, numbers, expected in (
        ("curve", [*low.flatten(), *high.flatten()], wanted.grad),
        ("hsv", CHANGES[1], torch.zeros_like(image)),
    ):
        images = device.put(image.float()).requires_grad_()
        fused(
            images, device.put(torch.eye(2, 3)), (5, 7), colors=device.put(row_of(name, numbers))
        ).sum().backward()
        assert (images.grad.cpu() - expected).abs().max() < 1e-6
