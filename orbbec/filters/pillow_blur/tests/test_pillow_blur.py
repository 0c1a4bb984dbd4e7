"""pillow_blur compared with Pillow, and each way in with the others."""

import numpy as np
import pytest
import torch

from orbbec import ImageBatch, pillow_blur
from tests.support import assert_same_bytes, photograph, photographs

pytest.importorskip("PIL")
from PIL import Image, ImageFilter

SIZES = [(1, 1), (1, 40), (9, 1), (7, 13), (33, 300), (40, 52)]
RADII = [0.0, 0.1, 0.5, 1.0, 1.37, 2.0, 5.3, 40.0, 1000.0]


def by_pillow(image, radius):
    picture = Image.fromarray(image[..., 0] if image.shape[2] == 1 else image)
    return np.asarray(picture.filter(ImageFilter.GaussianBlur(radius))).reshape(image.shape)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("size", SIZES)
def test_it_has_the_bytes_of_pillow(size, channels):
    image = photograph(*size, channels)
    for radius in RADII:
        assert_same_bytes(pillow_blur(image, radius), by_pillow(image, radius))


def test_images_have_their_radii(accelerator):
    images = photographs(3, 3, 20, 37)
    radii = torch.tensor([0.0, 0.9, 6.5])
    expected = pillow_blur(images, radii)
    for image, blurred, radius in zip(images, expected, radii.tolist(), strict=True):
        assert_same_bytes(blurred.permute(1, 2, 0), by_pillow(image.permute(1, 2, 0).numpy(), radius))
    with accelerator.active():
        assert_same_bytes(pillow_blur(accelerator.put(images), radii), expected)


@pytest.mark.parametrize("count", [1, 5])
def test_layouts_give_the_same_bytes(device, count):
    images = photographs(count, 3, 17, 30)
    expected = pillow_blur(images, 1.5)
    last = images.contiguous(memory_format=torch.channels_last)
    assert pillow_blur(device.put(last), 1.5).is_contiguous(memory_format=torch.channels_last)
    wide = torch.zeros(count, 3, 17, 60, dtype=torch.uint8)
    wide[..., ::2] = images
    for there in (device.put(last), device.put(wide)[..., ::2]):
        assert_same_bytes(pillow_blur(there, 1.5), expected)


def test_variable_sizes_give_the_bytes_of_each_image(device):
    images = [photograph(height, width, seed=height) for height, width in ((5, 9), (30, 12), (1, 1))]
    batch = pillow_blur(device.put(ImageBatch.from_images(images)), torch.tensor([0.7, 3.0, 2.0]))
    for result, image, radius in zip(batch.images(), images, (0.7, 3.0, 2.0), strict=True):
        assert_same_bytes(result.cpu(), pillow_blur(image, radius))


@pytest.mark.parametrize("level", ["scalar", "avx2", "avx512"])
def test_every_level_has_the_bytes_of_pillow(monkeypatch, level):
    monkeypatch.setenv("ORBBEC_SIMD", level)
    image = photograph(61, 83, 3)
    for radius in (0.4, 2.0, 17.0):
        assert_same_bytes(pillow_blur(image, radius), by_pillow(image, radius))


@pytest.mark.parametrize("radius", [-0.1, 1000.1, float("nan"), [1.0, float("inf")]])
def test_a_radius_out_of_range_is_named(radius):
    with pytest.raises(ValueError, match=r"pillow_blur: expected radius from 0 to 1000, but got "):
        pillow_blur(photographs(2, 3, 4, 5), radius if isinstance(radius, float) else np.array(radius))


def test_what_it_cannot_blur_is_named():
    with pytest.raises(TypeError, match="pillow_blur: expected images of uint8, but got float32"):
        pillow_blur(torch.zeros(3, 4, 5), 1.0)
    with pytest.raises(TypeError, match="pillow_blur: expected radius as a number"):
        pillow_blur(torch.zeros(3, 4, 5, dtype=torch.uint8), "2")
    with pytest.raises(ValueError, match=r"pillow_blur: expected radius of shape \[1\], but got \[2\]"):
        pillow_blur(torch.zeros(3, 4, 5, dtype=torch.uint8), torch.ones(2))
    image, boxes = torch.zeros(1, 3, 4, 5, dtype=torch.uint8), torch.zeros(1, 2, dtype=torch.int64)
    for table in (boxes, torch.zeros(1, 3), torch.zeros(2, 3, dtype=torch.int64)):
        with pytest.raises((RuntimeError, ValueError), match=r"pillow_blur: expected .*boxes of"):
            torch.ops.orbbec.pillow_blur(image, None, 0, table)


@pytest.mark.parametrize("radius", [1.5, torch.tensor([0.5, 2.0])], ids=["number", "per image"])
@pytest.mark.parametrize("dynamic", [False, True])
def test_it_compiles_as_one_graph(radius, dynamic):
    compiled = torch.compile(pillow_blur, fullgraph=True, backend="aot_eager", dynamic=dynamic)
    images = photographs(2, 3, 9, 12)
    assert_same_bytes(compiled(images, radius), pillow_blur(images, radius))
