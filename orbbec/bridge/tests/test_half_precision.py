"""Half precision: values are widened to float32, computed, and rounded once, whatever the memory layout."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import orbbec
from orbbec.augment import Output, Sampling, Values
from tests.support.compare import assert_same_bytes

MATRIX = torch.tensor([[0.9, 0.2, 1.5], [-0.1, 1.1, -2.0]])
ROIS = torch.tensor([[0.0, 1, 2, 20, 15], [1, 3, 3, 9, 30]])
VALUES = Values(mean=0.4, std=0.3)
HALVES = [torch.float16, torch.bfloat16]

OPERATORS: dict[str, Callable[[Tensor], Tensor]] = {
    "warp_affine": lambda x: orbbec.warp_affine(x, MATRIX, (19, 23), fill=0.5),
    "warp_affine cubic": lambda x: orbbec.warp_affine(x, MATRIX, (19, 23), interpolation="cubic"),
    "resize": lambda x: orbbec.resize(x, (11, 17)),
    "gaussian_blur": lambda x: orbbec.gaussian_blur(x, 5, 1.5),
    "filter2d": lambda x: orbbec.filter2d(x, torch.arange(9.0).reshape(3, 3) - 4),
    "median_blur": lambda x: orbbec.median_blur(x, 3),
    "cvt_color": lambda x: orbbec.cvt_color(x, "RGB", "HSV"),
    "adjust_brightness": lambda x: orbbec.adjust_brightness(x, 1.3),
    "adjust_sharpness": lambda x: orbbec.adjust_sharpness(x, 1.7),
    "normalize": lambda x: orbbec.normalize(x, (0.4, 0.5, 0.6), 0.3, dtype=x.dtype),
    "gaussian_noise": lambda x: orbbec.gaussian_noise(x, sigma=0.2, seed=3),
    "roi_align": lambda x: orbbec.roi_align(x, ROIS, 5, sampling_ratio=2),
    "roi_pool": lambda x: orbbec.roi_pool(x, ROIS, 5),
    "augment": lambda x: orbbec.augment(x, MATRIX, (19, 23), Sampling(), VALUES, Output(x.dtype)),
}


def specials(dtype: torch.dtype) -> Tensor:
    """Images `[2, 3, 33, 37]` with subnormals, the largest number, infinities and negative zeros."""
    draw = torch.Generator().manual_seed(0)
    images = torch.randn(2, 3, 33, 37, generator=draw).to(dtype)
    numbers = [torch.finfo(dtype).tiny / 4, torch.finfo(dtype).max, float("inf"), -float("inf"), -0.0]
    for number in numbers:
        images[torch.rand(images.shape, generator=draw) < 0.005] = number
    return images


def layouts(images: Tensor) -> list[Tensor]:
    """The same values as planes, as pixels, in every second column of a tensor; and one plane, expanded."""
    wide = torch.zeros(*images.shape[:3], 2 * images.shape[3], dtype=images.dtype)
    wide[..., ::2] = images
    pixels = images.contiguous(memory_format=torch.channels_last)
    return [images, pixels, wide[..., ::2], images[:1, :1].expand(images.shape)]


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("name", OPERATORS)
def test_half_precision_is_float32_rounded(device, name, dtype):
    for images in layouts(specials(dtype)):
        actual = OPERATORS[name](device.put(images))
        assert_same_bytes(actual, OPERATORS[name](device.put(images.float())).to(dtype))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_a_transparent_border_keeps_pixels_of_half_precision(device, dtype):
    out = device.put(torch.full((2, 3, 19, 46), 0.1, dtype=dtype))[..., ::2]
    images = device.put(specials(dtype))
    orbbec.warp_affine(images, MATRIX, (19, 23), border="transparent", out=out)
    inside = orbbec.warp_affine(torch.ones_like(images), MATRIX, (19, 23)) == 1
    expected = orbbec.warp_affine(images, MATRIX, (19, 23), border="replicate")
    assert not inside.all()
    assert_same_bytes(out[inside], expected[inside])
    assert (out[:, :, 0, 0] == torch.tensor(0.1, dtype=dtype)).all()


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_regions_of_one_expanded_image_are_read(device, dtype):
    images = device.put(specials(dtype)[:1].expand(2, 3, 33, 37))
    regions = torch.tensor([[0, 0, 10, 10], [5, 5, 37, 33]])
    identity = torch.eye(2, 3)
    output = orbbec.augment(images, identity, (33, 37), Sampling("nearest", regions=device.put(regions)))
    assert_same_bytes(output[1, :, :28, :32], images[1, :, 5:, 5:])
