"""Results flipped horizontally by the operator equal a flip after the resize, bit for bit."""

import numpy as np
import pytest
import torch

import orbbec
from orbbec import ImageBatch
from tests.support import assert_same_bytes, photograph, photographs
from tests.support.samples import DTYPES

FLIPS = torch.tensor([True, False, True])
BOXES = torch.tensor([[1.0, 2, 30, 20], [0, 0, 33, 40], [5.5, 3, 20, 33.2]], dtype=torch.float64)
METHODS = [(name, False) for name in ("nearest", "linear", "linear_exact", "cubic", "area", "lanczos4")]
METHODS += [(name, True) for name in ("box", "linear", "cubic")]


def flipped(results, flips=FLIPS):
    return torch.where(flips[:, None, None, None], results.flip(3), results)


@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize(("interpolation", "antialias"), METHODS)
def test_flips_are_those_after_the_resize(interpolation, antialias, memory_format, channels, device):
    images = photographs(3, channels, 40, 33).contiguous(memory_format=memory_format)
    options = {"size": (70, 37), "interpolation": interpolation, "antialias": antialias}
    expected = flipped(orbbec.resized_crop(images, BOXES, **options))
    actual = orbbec.resized_crop(device.put(images), BOXES, flips=FLIPS, **options)
    assert_same_bytes(actual.cpu(), expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("interpolation", ["nearest", "linear"])
def test_values_of_any_size_are_turned(dtype, interpolation, device):
    images = photographs(3, 3, 40, 33).to(torch.float64).mul(0.7).to(dtype)
    options = {"size": (21, 26), "interpolation": interpolation}
    expected = flipped(orbbec.resized_crop(images, BOXES, **options).to(torch.float64)).to(dtype)
    assert_same_bytes(orbbec.resized_crop(device.put(images), BOXES, flips=FLIPS, **options).cpu(), expected)


@pytest.mark.parametrize("width", [*range(1, 45), 641])
def test_rows_of_any_width_are_turned(width):
    images = photographs(3, 3, 9, 12).contiguous(memory_format=torch.channels_last)
    whole = torch.tensor([0.0, 0, 12, 9])
    buffer = torch.full((3, 8, width, 3), 77, dtype=torch.uint8)
    out = buffer[:, :7].permute(0, 3, 1, 2)
    orbbec.resized_crop(images, whole, (7, width), flips=FLIPS, out=out)
    assert_same_bytes(out.contiguous(), flipped(orbbec.resized_crop(images, whole, (7, width))).contiguous())
    assert (buffer[:, 7] == 77).all()


def test_variable_size_images_and_arrays_are_turned():
    arrays = [photograph(40 + n, 33 - n, seed=n) for n in range(3)]
    batch = ImageBatch.from_images(arrays)
    expected = flipped(orbbec.resized_crop(batch, BOXES, (20, 21), antialias=True))
    assert_same_bytes(orbbec.resized_crop(batch, BOXES, (20, 21), antialias=True, flips=FLIPS), expected)
    one = orbbec.resized_crop(arrays[0], BOXES[0], (20, 21), antialias=True, flips=np.array([True]))
    assert_same_bytes(one, expected[0].permute(1, 2, 0).contiguous().numpy())


def test_gradients_are_turned():
    images = torch.rand(3, 2, 6, 7, dtype=torch.float64, requires_grad=True)
    boxes = torch.tensor([[0.0, 1, 6, 5], [1, 1, 7, 6], [0, 0, 7, 6]])

    def resized(images):
        return orbbec.resized_crop(images, boxes, (4, 5), antialias=True, flips=FLIPS)

    assert torch.autograd.gradcheck(resized, images)
    assert torch.autograd.gradgradcheck(resized, images)


@pytest.mark.parametrize(
    ("flips", "error", "message"),
    [
        (torch.ones(3), TypeError, "resized_crop: expected flips of bool, but got float32"),
        (torch.ones(2, dtype=torch.bool), ValueError, r"resized_crop: expected flips of shape \[3\]"),
        (torch.ones(3, 1, dtype=torch.bool), ValueError, r"but got \[3, 1\]"),
    ],
)
def test_flips_that_do_not_fit_are_refused(flips, error, message, device):
    images = device.put(photographs(3, 3, 40, 33))
    with pytest.raises(error, match=message):
        orbbec.resized_crop(images, BOXES, (8, 9), flips=flips)


def test_opcheck(device):
    images = device.put(photographs(3, 3, 40, 33).float())
    arguments = (images, None, 0, BOXES, [8, 9], "linear", False, "cv2_5", [0, 0], device.put(FLIPS))
    torch.library.opcheck(torch.ops.orbbec.resize, arguments)


def test_flips_compile_to_one_graph():
    images = photographs(3, 3, 40, 33)

    def resized(images, flips):
        return orbbec.resized_crop(images, BOXES, (8, 9), flips=flips)

    compiled = torch.compile(resized, fullgraph=True, backend="eager")
    assert_same_bytes(compiled(images, FLIPS), resized(images, FLIPS))
