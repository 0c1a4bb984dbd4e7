"""Transforms that add channels."""

import numpy as np
import pytest
import torch

import orbbec
from orbbec import transforms as T
from tests.support import assert_same_bytes, photographs

GRAY = photographs(2, 1, 9, 11)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.uint16, torch.float16, torch.float32])
def test_gray_images_get_three_equal_channels(dtype):
    images = GRAY.to(dtype)
    result = T.RGB()(images)
    for channel in range(3):
        assert_same_bytes(result[:, channel], images[:, 0])
    assert_same_bytes(T.RGB()(images[0]), result[0])
    assert_same_bytes(T.Compose([T.RandomVerticalFlip(1.0), T.RGB()])(images, epoch=0), result.flip(2))


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_gray_arrays_without_channels_get_three(dtype):
    gray = np.arange(6, dtype=dtype).reshape(2, 3)
    colors = np.stack([gray] * 3, axis=-1)
    for result in (
        T.RGB()(gray),
        T.Grayscale(3)(gray),
        T.functional.grayscale_to_rgb(gray),
        orbbec.cvt_color(gray, "GRAY", "RGB"),
    ):
        assert result.shape == (2, 3, 3)
        assert (result == colors).all()
    assert T.RandomHorizontalFlip(1.0)(gray).tolist() == gray[:, ::-1].tolist()


def test_gray_of_three_channels_is_three_equal_channels():
    assert_same_bytes(T.Grayscale(3)(GRAY), T.RGB()(GRAY))
    assert_same_bytes(T.Grayscale(1)(GRAY), GRAY)
    colors = photographs(2, 3, 9, 11)
    assert_same_bytes(T.Grayscale(3)(colors), T.RandomGrayscale(1.0)(colors))


def test_gray_images_of_several_sizes_get_three_channels():
    arrays = [np.full((4, 5), 7, np.uint8), np.full((3, 2, 1), 9, np.uint8)]
    for images in (arrays, orbbec.ImageBatch.from_images(arrays)):
        result = T.RGB()(images)
        assert result.channels == 3
        assert [image.tolist() for image in result.images()] == [[[[7] * 3] * 5] * 4, [[[9] * 3] * 2] * 3]


@pytest.mark.parametrize("channels", [3, 4])
def test_images_of_more_channels_are_unchanged(channels):
    images = photographs(2, channels, 9, 11)
    assert_same_bytes(T.RGB()(images), images)


def test_two_channels_are_refused():
    with pytest.raises(ValueError, match="RGB: expected images of 1 channels, but got 2"):
        T.RGB()(torch.zeros(2, 4, 5))
    with pytest.raises(ValueError, match="images of one batch all get other channels, or none"):
        T.RandomApply([T.RGB()])(GRAY)
