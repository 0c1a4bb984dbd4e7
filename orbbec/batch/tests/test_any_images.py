"""ImageBatch of any images."""

import copy
import pickle

import numpy as np
import pytest

from orbbec.batch import ImageBatch

pytest.importorskip("hypothesis")
from hypothesis import given, settings
from hypothesis import strategies as st


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 20), st.integers(1, 20)), max_size=12),
    st.integers(1, 5),
    st.integers(0, 200),
    st.integers(0, 2**32 - 1),
)
def test_any_images_come_back(sizes, channels, plan_bytes, seed):
    rng = np.random.default_rng(seed)
    images = [rng.integers(0, 256, (height, width, channels), np.uint8) for height, width in sizes]
    batch = ImageBatch.from_images(images, channels=channels, plan_bytes=plan_bytes)
    for same in (batch, pickle.loads(pickle.dumps(batch)), copy.deepcopy(batch)):
        for actual, expected in zip(same.numpy(), images, strict=True):
            np.testing.assert_array_equal(actual, expected)
        assert same.channels == channels
        assert same.plan.numel() == plan_bytes
        assert same.layout.tolist() == same.host_layout.tolist() == batch.host_layout.tolist()
        assert all(image.data_ptr() % 64 == 0 for image in same)
