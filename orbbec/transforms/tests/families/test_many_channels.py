"""Images of more than 4 channels: each channel is what it is in an image of its own."""

import numpy as np
import pytest
import torch

from orbbec import ImageBatch
from orbbec import transforms as T
from tests.support import assert_same_bytes, photographs

IDS = [4, 1]
MEAN, STD = [0.1 * (c + 1) for c in range(9)], [0.2 + 0.05 * c for c in range(9)]
FLOAT = T.ToDtype(torch.float32, scale=True)
GEOMETRY = {
    "crop": [T.RandomResizedCrop(12, antialias=False), T.RandomHorizontalFlip()],
    "antialiased": [T.RandomResizedCrop(12, antialias=True), T.RandomVerticalFlip(), FLOAT],
    "rotation": [T.RandomRotation(30, "linear", fill=7), T.RandomErasing(1.0, value=3)],
    "erased floats": [FLOAT, T.Normalize([0.4], [0.3]), T.RandomErasing(1.0, value=0.5)],
    "filters": [T.GaussianBlur(3), T.MedianBlur(3), T.RandomAffine(9, (0.1, 0.1))],
    "mixed": [T.RandomCrop(16), T.CutMix()],
}


def images_of(channels, dtype=torch.uint8):
    images = torch.cat([photographs(2, 1, 24, 30).roll(3 * c, -1) + c for c in range(channels)], 1)
    return images if dtype == torch.uint8 else (images.to(torch.int32) * 257).to(dtype)


def by_channel(pipeline, images):
    one = [
        pipeline(images[:, c : c + 1].contiguous(), sample_ids=IDS, epoch=1) for c in range(images.shape[1])
    ]
    return torch.cat(one, 1)


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("channels", [5, 8, 16])
@pytest.mark.parametrize("name", GEOMETRY)
def test_channels_are_those_of_single_images(name, channels, layout):
    pipeline = T.Compose(GEOMETRY[name])
    images = images_of(channels)
    result = pipeline(images.contiguous(memory_format=layout), sample_ids=IDS, epoch=1)
    assert_same_bytes(result, by_channel(pipeline, images))


@pytest.mark.parametrize("dtype", [torch.uint16, torch.float32])
@pytest.mark.parametrize("name", ["crop", "rotation"])
def test_channels_of_other_dtypes_are_those_of_single_images(name, dtype):
    pipeline, images = T.Compose(GEOMETRY[name][:1]), images_of(9, dtype)
    result = pipeline(images, sample_ids=IDS, epoch=1)
    expected = by_channel(pipeline, images)
    assert result.dtype == dtype
    assert_same_bytes(result.to(torch.float32), expected.to(torch.float32))


def test_channels_of_variable_size_images_are_those_of_single_images():
    arrays = [np.stack([image.numpy() for image in images_of(9)[0, :, : 20 + n]], -1) for n in range(2)]
    pipeline = T.Compose(GEOMETRY["crop"])
    result = pipeline(ImageBatch.from_images(arrays), sample_ids=IDS, epoch=1)
    for c in range(9):
        one = ImageBatch.from_images([array[:, :, c].copy() for array in arrays])
        assert_same_bytes(result[:, c : c + 1], pipeline(one, sample_ids=IDS, epoch=1))
    flipped = T.RandomHorizontalFlip(1.0)(ImageBatch.from_images(arrays))
    for image, array in zip(flipped, arrays, strict=True):
        assert np.array_equal(image.numpy(), array[:, ::-1])


def test_each_channel_has_its_statistics_and_fill():
    fill = [10.0 * c for c in range(9)]
    pipeline = T.Compose([T.Pad(2, fill=fill), FLOAT, T.Normalize(MEAN, STD)])
    images = images_of(9)
    result = pipeline(images)
    for c in range(9):
        alone = T.Compose([T.Pad(2, fill=fill[c]), FLOAT, T.Normalize([MEAN[c]], [STD[c]])])
        assert_same_bytes(result[:, c : c + 1], alone(images[:, c : c + 1].contiguous()))


@pytest.mark.parametrize("channels", [5, 9])
@pytest.mark.parametrize(
    ("transform", "message"),
    [
        (T.ColorJitter(0.4), "ColorJitter: expected images of 1 or 3 channels, but got"),
        (T.RandomErasing(1.0, value=0.0), "RandomErasing: expected 1 number in value for"),
        (T.CoarseDropout(fill="random_uniform", p=1.0), "expected a number in fill for"),
        (T.GridDropout(fill="random_uniform", p=1.0), "expected a number in fill for"),
        (T.Grayscale(), "Grayscale: expected images of .* channels, but got"),
    ],
)
def test_what_needs_colors_is_refused_by_name(transform, channels, message):
    if transform.name == "RandomErasing":
        transform = T.RandomErasing(1.0, value=range(channels))
    with pytest.raises(ValueError, match=f"{message} {channels}"):
        transform(images_of(channels))


@pytest.mark.parametrize(("channels", "passes"), [(4, 1), (5, 2)])
def test_rectangles_of_up_to_four_normalized_channels_need_no_other_pass(channels, passes):
    pipeline = T.Compose([FLOAT, T.Normalize([0.4], [0.3]), T.RandomErasing(1.0, value=0.5)])
    assert len(pipeline.plan([(8, 8)], channels=channels, epoch=0).passes) == passes
