"""PillowBlur: the bytes of Pillow."""

import numpy as np
import pytest

from orbbec import transforms as T
from tests.support import assert_same_bytes, photograph

pytest.importorskip("PIL")
from PIL import Image, ImageFilter


@pytest.mark.parametrize("size", [(1, 1), (1, 9), (7, 3), (40, 52)])
@pytest.mark.parametrize("radius", [0.0, 0.1, 0.5, 1.0, 1.37, 2.0, 5.3, 40.0])
def test_it_has_the_bytes_of_pillow(radius, size):
    for channels in (1, 3):
        image = photograph(*size, channels)
        picture = Image.fromarray(image[..., 0] if channels == 1 else image)
        wanted = np.asarray(picture.filter(ImageFilter.GaussianBlur(radius))).reshape(image.shape)
        assert_same_bytes(T.PillowBlur((radius, radius), p=1.0)(image), wanted)


def test_images_of_a_batch_have_their_radii():
    images = np.stack([photograph(20, 30, seed=seed) for seed in range(9)])
    pipeline = T.Compose([T.PillowBlur((0.5, 9.0), p=0.6)], seed=4)
    radii = pipeline.plan([(20, 30)] * 9, epoch=0).table(0)
    assert 0 < radii["drawn"].sum() < 9
    for image, result, radius, drawn in zip(
        images, pipeline(images, epoch=0), radii["radius"], radii["drawn"], strict=True
    ):
        wanted = Image.fromarray(image).filter(ImageFilter.GaussianBlur(float(radius))) if drawn else image
        assert_same_bytes(result, np.asarray(wanted))


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match=r"PillowBlur: expected radius_range as .* from 0 to 1000"):
        T.PillowBlur((-1.0, 2.0))
    with pytest.raises(ValueError, match="PillowBlur: expected images of uint8, but got float32"):
        T.PillowBlur(p=1.0)(np.zeros((4, 4, 3), np.float32))
