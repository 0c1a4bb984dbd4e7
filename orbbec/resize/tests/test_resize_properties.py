import pytest
import torch

hypothesis = pytest.importorskip("hypothesis")
from hypothesis import given, settings
from hypothesis import strategies as st

import orbbec
from orbbec.resize.tests.test_resize import METHODS


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_an_image_of_one_value_stays_that(data):
    interpolation, antialias = data.draw(st.sampled_from(METHODS))
    source, target = (data.draw(st.tuples(st.integers(1, 60), st.integers(1, 60))) for _ in range(2))
    value, channels = data.draw(st.integers(0, 255)), data.draw(st.integers(1, 5))
    images = torch.full((1, channels, *source), value, dtype=torch.uint8)
    resized = orbbec.resize(images, target, interpolation=interpolation, antialias=antialias)
    # 11-bit weights of cubic and lanczos4 need not sum to one.
    slack = 1 if interpolation in ("cubic", "lanczos4") else 0
    assert (resized.int() - value).abs().max() <= slack
