"""erase of anything that hypothesis thinks of, compared with NumPy."""

import pytest
import torch

hypothesis = pytest.importorskip("hypothesis")
from hypothesis import example, given, settings
from hypothesis import strategies as st

from orbbec.mix.erase import erase
from tests.support import assert_same_bytes, photographs
from tests.support.erases import by_numpy
from tests.support.samples import DTYPES

ONE_PIXEL = {"height": 1, "width": 1, "channels": 1, "boxes": [(0, 0, 1, 1)], "noise": None, "last": False}
COORDINATE = st.one_of(st.integers(-3, 45), st.sampled_from([-(2**63), 2**63 - 1, 2**31]))


@settings(max_examples=100, deadline=None)
@given(
    height=st.integers(1, 12),
    width=st.integers(1, 40),
    channels=st.integers(1, 5),
    dtype=st.sampled_from(DTYPES),
    boxes=st.lists(st.tuples(*[COORDINATE] * 4), max_size=4),
    fill=st.floats(width=32),
    noise=st.sampled_from([None, "uniform"]),
    last=st.booleans(),
)
@example(**ONE_PIXEL, dtype=torch.uint8, fill=2.0**31)
@example(**ONE_PIXEL, dtype=torch.uint16, fill=float("inf"))
@example(**ONE_PIXEL, dtype=torch.uint8, fill=-float("inf"))
def test_any_erase_matches_numpy(height, width, channels, dtype, boxes, fill, noise, last):
    images = photographs(1, channels, height, width, dtype)
    table = torch.tensor(boxes, dtype=torch.int64).reshape(1, -1, 4)
    limited = 0.0 if dtype in (torch.uint8, torch.uint16) and fill != fill else fill  # NaN is stored as 0
    limited = max(-1e9, min(1e9, limited)) if dtype in (torch.uint8, torch.uint16) else fill
    expected = by_numpy(images, table.clamp(-(2**31), 2**31), limited, noise, seed=9)
    memory_format = torch.channels_last if last else torch.contiguous_format
    given = images.contiguous(memory_format=memory_format)
    assert_same_bytes(erase(given, table, fill, noise=noise, seed=9), expected)
    assert_same_bytes(erase(given, table, fill, noise=noise, seed=9, out=given), expected)
