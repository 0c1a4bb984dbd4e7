"""Pipelines whose results go to a buffer: the bytes of those without one, and what is refused."""

import numpy as np
import pytest
import torch

from orbbec.batch import ImageBatch
from orbbec.transforms import (
    ColorJitter,
    Compose,
    GaussianBlur,
    RandomHorizontalFlip,
    RandomResizedCrop,
    Resize,
    ToDtype,
)

SIDE, COUNT = 24, 5
CROP = (RandomResizedCrop(SIDE), RandomHorizontalFlip())
PIPELINES = {
    "fused": Compose([*CROP, ColorJitter(0.4, 0.4), ToDtype(torch.float32, scale=True)]),
    "antialiased": Compose([Resize((SIDE, SIDE))]),
    "blurred": Compose([*CROP, GaussianBlur(5)]),  # its last pass is an operator that allocates
    "exact": Compose([*CROP, ColorJitter(0.4, 0.4)], exact=True),
}
PIXELS = torch.randint(
    0, 256, (COUNT, 3, 40, 50), dtype=torch.uint8, generator=torch.Generator().manual_seed(1)
)
ARRAYS = [np.random.default_rng(n).integers(0, 256, (40 + n, 50, 3), np.uint8) for n in range(COUNT)]
IMAGES = {
    "tensor": PIXELS,
    "channels_last": PIXELS.contiguous(memory_format=torch.channels_last),
    "floats": PIXELS / 255,
    "array": PIXELS.permute(0, 2, 3, 1).numpy(),
    "one array": ARRAYS[0],
    "one tensor": PIXELS[0],
    "batch": ImageBatch.from_images(ARRAYS),
    "list": ARRAYS,
    "clips": PIXELS[:4].reshape(2, 2, *PIXELS.shape[1:]),
}


def buffer_for(result):
    out = torch.full(result.shape, 7, dtype=result.dtype) if isinstance(result, torch.Tensor) else None
    return np.full_like(result, 7) if out is None else out


@pytest.mark.parametrize("kind", IMAGES)
@pytest.mark.parametrize("name", PIPELINES)
def test_results_in_a_buffer_are_the_same(name, kind):
    pipeline, images = PIPELINES[name], IMAGES[kind]
    expected = pipeline(images, epoch=3)
    out = buffer_for(expected)
    assert pipeline(images, epoch=3, out=out) is out
    np.testing.assert_array_equal(np.asarray(out), np.asarray(expected))


@pytest.mark.parametrize("name", PIPELINES)
def test_targets_follow_images_in_a_buffer(name):
    pipeline, targets = PIPELINES[name], [{"boxes": torch.tensor([[3.0, 2.0, 30.0, 35.0]])}] * COUNT
    expected, changed = pipeline(PIXELS, targets, epoch=3)
    out = torch.empty_like(expected)
    images, found = pipeline(PIXELS, targets, epoch=3, out=out)
    assert images is out
    assert torch.equal(out, expected)
    assert [each["boxes"].tolist() for each in found] == [each["boxes"].tolist() for each in changed]


def test_new_draws_and_single_transforms_fill_a_buffer():
    out = torch.empty_like(PIXELS)
    assert RandomHorizontalFlip(p=1.0)(PIXELS, out=out) is out
    assert torch.equal(out, PIXELS.flip(3))
    crops = torch.empty(2, COUNT, 3, SIDE, SIDE)
    for each in crops:
        PIPELINES["fused"](PIXELS, out=each)
    assert not torch.equal(crops[0], crops[1])


@pytest.mark.parametrize("name", ["fused", "blurred"])
@pytest.mark.parametrize(
    ("shape", "dtype"), [((COUNT, 3, SIDE, SIDE + 1), None), ((COUNT - 1, 3, SIDE, SIDE), None)]
)
def test_a_buffer_of_another_shape_is_refused(name, shape, dtype):
    out = torch.zeros(shape, dtype=torch.float32 if name == "fused" else torch.uint8)
    with pytest.raises(ValueError, match="expected out of"):
        PIPELINES[name](PIXELS, epoch=0, out=out)
    assert not out.any()


def test_a_buffer_of_another_dtype_or_of_the_images_is_refused():
    with pytest.raises(ValueError, match="expected out of"):
        PIPELINES["blurred"](PIXELS, out=torch.zeros(COUNT, 3, SIDE, SIDE))
    with pytest.raises(ValueError, match="shares no memory with the images"):
        RandomHorizontalFlip()(PIXELS, out=PIXELS)


def test_results_of_several_sizes_and_samples_have_no_buffer():
    with pytest.raises(ValueError, match="results of one size"):
        RandomHorizontalFlip()(IMAGES["batch"], out=torch.empty_like(PIXELS))
    with pytest.raises(TypeError, match="expected out= with images"):
        PIPELINES["fused"]((PIXELS, torch.zeros(COUNT)), out=torch.empty(COUNT, 3, SIDE, SIDE))


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float16, torch.bfloat16])
def test_a_buffer_has_the_dtype_of_the_results(dtype):
    pipeline = PIPELINES["fused"]
    out = torch.zeros(COUNT, 3, SIDE, SIDE, dtype=dtype)
    with pytest.raises(ValueError, match=f"expected out of float32, but got {str(dtype)[6:]}"):
        pipeline(PIXELS, epoch=0, out=out)
    with pytest.raises(ValueError, match="expected out of float32"):
        pipeline.apply(pipeline.plan([(40, 50)] * COUNT, epoch=0), PIXELS, out=out)
    assert not out.any()


@pytest.mark.parametrize("name", ["fused", "blurred"])
def test_a_buffer_that_requires_a_gradient_is_refused(name):
    images = PIXELS if name == "fused" else PIXELS / 255
    out = torch.zeros(COUNT, 3, SIDE, SIDE, requires_grad=True)
    with pytest.raises(ValueError, match="out= cannot be used where a gradient is needed"):
        PIPELINES[name](images, epoch=0, out=out)
    with torch.no_grad():
        assert PIPELINES[name](images, epoch=0, out=out) is out
