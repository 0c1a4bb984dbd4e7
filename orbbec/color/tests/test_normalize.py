"""normalize and to_float compared with torch, worked by hand, and inside torch."""

import numpy as np
import pytest
import torch

import orbbec
from tests.support import assert_same_bytes, photographs

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def by_torch(images, dtype):
    """The formulas of torchvision's `to_dtype(scale=True)` and `normalize`."""
    working = torch.float64 if dtype == torch.float64 else torch.float32
    largest = {torch.uint8: 255, torch.uint16: 65535}.get(images.dtype)
    values = images.to(working) * (1 / largest) if largest else images.to(working)
    mean, std = (torch.tensor(numbers, dtype=working).view(-1, 1, 1) for numbers in (MEAN, STD))
    return values.sub(mean).div(std).to(dtype)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.uint16, torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("target", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize(
    ("last_in", "last_out"), [(False, False), (True, False), (False, True), (True, True)]
)
def test_normalize_matches_torch(device, dtype, target, last_in, last_out):
    for height, width in ((1, 1), (5, 200)):
        images = photographs(2, 3, height, width, dtype)
        expected = by_torch(images, target)
        layout = torch.channels_last if last_in else torch.contiguous_format
        actual = orbbec.normalize(
            device.put(images).contiguous(memory_format=layout),
            MEAN,
            STD,
            dtype=target,
            channels_last=last_out,
        )
        assert actual.is_contiguous(
            memory_format=torch.channels_last if last_out else torch.contiguous_format
        )
        assert_same_bytes(actual.contiguous(), expected)


def test_normalize_takes_arrays_and_batches(device):
    images = photographs(3, 3, 6, 7)
    expected = by_torch(images, torch.float32)
    arrays = images.permute(0, 2, 3, 1).contiguous().numpy()
    assert_same_bytes(orbbec.normalize(arrays), expected)
    assert_same_bytes(orbbec.normalize(arrays[1]), expected[1])
    batch = orbbec.ImageBatch.from_images(list(arrays)).to("cuda" if device.name == "cuda" else "cpu")
    assert_same_bytes(orbbec.normalize(batch), expected)
    ragged = orbbec.ImageBatch.from_images([arrays[0], arrays[1][:4]])
    with pytest.raises(ValueError, match=r"expected images of one size, but got \[\(4, 7\), \(6, 7\)\]"):
        orbbec.normalize(ragged)


def test_to_float_by_hand(device):
    image = device.put(torch.tensor([[[0, 51, 255]]], dtype=torch.uint8))
    assert orbbec.to_float(image).flatten().tolist() == pytest.approx([0, 0.2, 1])
    assert orbbec.to_float(image, scale=False).flatten().tolist() == [0, 51, 255]
    wide = device.put(torch.tensor([[[0, 65535]]], dtype=torch.int32).to(torch.uint16))
    assert orbbec.to_float(wide, dtype=torch.float64).flatten().tolist() == [0, 1]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_normalize_is_differentiable(dtype):
    images = torch.rand(2, 3, 4, 5, dtype=torch.float64).to(dtype).requires_grad_()
    if dtype == torch.float64:
        assert torch.autograd.gradcheck(lambda x: orbbec.normalize(x, MEAN, STD, dtype=dtype), (images,))
    orbbec.normalize(images, MEAN, STD, dtype=dtype).sum().backward()
    expected = (1 / torch.tensor(STD)).view(-1, 1, 1).expand(images.shape).to(dtype)
    torch.testing.assert_close(images.grad, expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mean": (1, 2)}, "normalize: expected mean of 1 or 3 numbers, but got 2"),
        ({"std": (1, 2, 0)}, "normalize: expected nonzero std"),
        ({"dtype": torch.uint8}, "expected dtype to be one of float16, bfloat16, float32, float64"),
        ({"mean": "x"}, "expected"),
    ],
)
def test_normalize_names_the_bad_argument(options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        orbbec.normalize(photographs(2, 3, 4, 5), **options)


def test_normalize_compiles_and_passes_opcheck(device):
    images = device.put(photographs(2, 3, 4, 5))
    compiled = torch.compile(lambda x: orbbec.normalize(x) + 1, fullgraph=True, backend="aot_eager")
    assert_same_bytes(compiled(images), orbbec.normalize(images) + 1)
    floats = images.float().requires_grad_()
    arguments = (floats, None, 0, [0.5], [0.5], 1.0, torch.float32, [], False)
    torch.library.opcheck(torch.ops.orbbec.normalize.default, arguments)


@pytest.mark.parametrize("shape", [(0, 3, 4, 5), (2, 3, 0, 5)])
def test_normalize_without_pixels(device, shape):
    assert orbbec.normalize(device.put(torch.zeros(shape, dtype=torch.uint8))).shape == shape


def test_normalize_keeps_nan():
    image = torch.tensor([[[np.nan, np.inf]]])
    assert orbbec.normalize(image, 0.0, 1.0).isnan().flatten().tolist() == [True, False]
