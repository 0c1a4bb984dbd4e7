"""jpeg_compression has the bytes that Pillow and OpenCV decode after encoding."""

import numpy as np
import pytest

cv2 = pytest.importorskip("cv2")
pytest.importorskip("PIL")
hypothesis = pytest.importorskip("hypothesis")
from hypothesis import given, settings
from hypothesis import strategies as st

from orbbec import jpeg_compression
from tests.support import assert_same_bytes, photograph
from tests.support.peers.jpegs import SAMPLING, by_opencv, by_pillow


def assert_as_libjpeg(image, quality, subsampling):
    actual = jpeg_compression(image, quality, subsampling=subsampling)
    assert_same_bytes(actual, by_pillow(image, quality, subsampling))
    assert_same_bytes(actual, by_opencv(image, quality, subsampling))


@pytest.mark.parametrize("subsampling", SAMPLING)
@pytest.mark.parametrize("quality", [1, 24, 49, 50, 75, 95, 100])
def test_jpeg_compression_matches_libjpeg(device, quality, subsampling):
    for height, width in [(1, 1), (3, 4), (4, 5), (5, 6), (8, 16), (17, 33), (40, 31)]:
        image = photograph(height, width)
        assert_as_libjpeg(image, quality, subsampling)
        assert_as_libjpeg(image[..., 0].copy(), quality, subsampling)


@pytest.mark.parametrize("subsampling", SAMPLING)
def test_every_quality_matches_libjpeg(subsampling):
    image = photograph(50, 150)
    for quality in range(1, 101):
        assert_as_libjpeg(image, quality, subsampling)


@pytest.mark.parametrize("subsampling", SAMPLING)
def test_a_large_image_matches_libjpeg(subsampling):
    assert_as_libjpeg(cv2.GaussianBlur(photograph(481, 641), (0, 0), 1.5), 75, subsampling)
    assert_as_libjpeg(photograph(3, 20000), 75, subsampling)


@settings(max_examples=150, deadline=None)
@given(
    height=st.integers(1, 70),
    width=st.integers(1, 300),
    quality=st.integers(1, 100),
    subsampling=st.sampled_from(list(SAMPLING)),
    levels=st.sampled_from([2, 3, 256]),
    seed=st.integers(0, 1000),
)
def test_any_noise_matches_libjpeg(height, width, quality, subsampling, levels, seed):
    draws = np.random.default_rng(seed).integers(0, levels, (height, width, 3))
    assert_as_libjpeg((draws * 255 // (levels - 1)).astype(np.uint8), quality, subsampling)
