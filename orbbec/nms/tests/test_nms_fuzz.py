import os

import pytest
import torch

hypothesis = pytest.importorskip("hypothesis")
from hypothesis import strategies as st

from orbbec.nms import nms
from tests.support.boxes import random_boxes

EXAMPLES = int(os.environ.get("ORBBEC_FUZZ_EXAMPLES", "200"))
REFUSALS = (ValueError, RuntimeError, TypeError)
NUMBERS = (0.0, 1.0, -1.0, 0.5, 3.0, 10.0, 1e-30, 1e30, float("inf"), float("nan"))


@hypothesis.settings(max_examples=EXAMPLES, deadline=None)
@hypothesis.given(data=st.data())
def test_the_operator_takes_or_refuses_anything(data):
    shape = data.draw(st.sampled_from([(0, 4), (1, 4), (7, 4), (70, 4), (4,), (3, 5), (2, 4, 4)]))
    dtype = data.draw(st.sampled_from([torch.float32, torch.float64, torch.float16, torch.int64, torch.bool]))
    boxes = torch.tensor(data.draw(st.sampled_from(NUMBERS))).to(dtype).expand(shape)
    groups = data.draw(
        st.sampled_from(
            [None, torch.zeros(shape[0]).long(), torch.arange(7), torch.zeros(7), torch.tensor(1)]
        )
    )
    threshold, offset = data.draw(st.sampled_from(NUMBERS)), data.draw(st.sampled_from(NUMBERS))
    try:
        keepers = torch.ops.orbbec.nms_keepers(boxes, groups, threshold, offset)
    except REFUSALS:
        return
    indices = torch.arange(len(boxes))
    assert (keepers <= indices).all()
    assert (keepers[keepers] == keepers).all()


@hypothesis.settings(max_examples=EXAMPLES // 2, deadline=None)
@hypothesis.given(
    count=st.integers(1, 80), seed=st.integers(0, 1000), scale=st.sampled_from([0.25, 2.0, 1024.0])
)
def test_nms_does_not_mind_order_scale_or_duplicates(count, seed, scale):
    boxes, scores = random_boxes(count, seed)
    keep = nms(boxes, scores, 0.3)
    shuffled = torch.randperm(count, generator=torch.Generator().manual_seed(seed))
    assert torch.equal(shuffled[nms(boxes[shuffled], scores[shuffled], 0.3)], keep)
    assert torch.equal(nms(boxes * scale, scores, 0.3), keep)  # by a power of two: no rounding
    assert torch.equal(nms(boxes.repeat(2, 1), scores.repeat(2), 0.3), keep)
