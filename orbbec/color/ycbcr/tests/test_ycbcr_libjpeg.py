"""ycbcr_to_rgb of decoded planes has the bytes that OpenCV decodes from the same files."""

import numpy as np
import pytest

pytest.importorskip("cv2")
hypothesis = pytest.importorskip("hypothesis")
from hypothesis import given, settings
from hypothesis import strategies as st

from orbbec import ycbcr_to_rgb
from orbbec.data import decode_planes
from orbbec.data.decode.native import has_native
from tests.support import assert_same_bytes, photograph
from tests.support.peers.jpegs import FACTORS, decoded_by_opencv, encoded

pytestmark = pytest.mark.skipif(not has_native(), reason="libjpeg-turbo is not built in")


def assert_as_opencv(device, files, samplings):
    batch = decode_planes(files)
    assert batch.samplings == samplings
    images = ycbcr_to_rgb(batch.to("cuda") if device and device.name == "cuda" else batch)
    for data, actual in zip(files, images.numpy(), strict=True):
        assert_same_bytes(actual, decoded_by_opencv(data))


@pytest.mark.parametrize("sampling", FACTORS)
def test_every_small_size_matches_opencv(device, sampling):
    """One case in seven if the kernel is emulated."""
    step = 7 if device.name == "emulated" else 1
    sizes = [(height, width) for height in range(1, 20) for width in range(1, 20)][::step]
    files = [encoded(photograph(*size, seed=size[0]), 95, sampling) for size in sizes]
    assert_as_opencv(device, files, [sampling] * len(files))


def test_large_images_match_opencv(device):
    height, width = (40, 600) if device.name == "emulated" else (481, 1203)
    files = [encoded(photograph(height, width), 75, sampling) for sampling in FACTORS]
    assert_as_opencv(device, files, list(FACTORS))


@settings(max_examples=60, deadline=None)
@given(
    height=st.integers(1, 70),
    width=st.integers(1, 1100),
    quality=st.integers(1, 100),
    sampling=st.sampled_from(list(FACTORS)),
    levels=st.sampled_from([2, 3, 256]),
    seed=st.integers(0, 1000),
)
def test_any_noise_matches_opencv(height, width, quality, sampling, levels, seed):
    draws = np.random.default_rng(seed).integers(0, levels, (height, width, 3))
    noise = (draws * 255 // (levels - 1)).astype(np.uint8)
    assert_as_opencv(None, [encoded(noise, quality, sampling)], [sampling])
