"""mixup compared with cv2.addWeighted."""

import numpy as np
import pytest
import torch

pytest.importorskip("cv2")
hypothesis = pytest.importorskip("hypothesis")
from hypothesis import given, settings
from hypothesis import strategies as st

from orbbec import mixup
from tests.support import assert_same_bytes, photograph
from tests.support.peers.mixes import SWAP, mixup_by_opencv


@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
@pytest.mark.parametrize(("height", "width", "channels"), [(1, 1, 1), (5, 33, 3), (40, 7, 4)])
def test_mixup_matches_opencv(device, dtype, height, width, channels):
    images = np.stack([photograph(height, width, channels, dtype, seed) for seed in (1, 2)])
    tensor = device.put(torch.from_numpy(images).permute(0, 3, 1, 2))
    for weights in ((0.3, 0.5), (1.0, 0.0), (1.7, -0.2)):
        actual = mixup(tensor, SWAP, torch.tensor(weights, dtype=torch.float64))
        assert_same_bytes(actual.permute(0, 2, 3, 1), torch.from_numpy(mixup_by_opencv(images, weights)))


@settings(max_examples=100, deadline=None)
@given(weight=st.floats(0, 1), seed=st.integers(0, 1000))
def test_any_mixup_matches_opencv(weight, seed):
    for dtype in (np.uint8, np.uint16):
        top = np.iinfo(dtype).max
        images = np.random.default_rng(seed).integers(0, top, (2, 30, 67, 1), dtype, endpoint=True)
        actual = mixup(images, SWAP, torch.tensor([weight, 1 - weight], dtype=torch.float64))
        assert_same_bytes(actual, mixup_by_opencv(images, (weight, 1 - weight)))
