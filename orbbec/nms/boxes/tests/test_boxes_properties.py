import numpy as np
import pytest
import torch

hypothesis = pytest.importorskip("hypothesis")
from hypothesis import given, settings
from hypothesis import strategies as st

from orbbec.nms.boxes import box_convert, box_iou, generalized_box_iou
from orbbec.nms.boxes.tests.test_boxes import FORMATS
from tests.support import assert_same_bytes


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(FORMATS),
    st.sampled_from(FORMATS),
    st.lists(st.floats(-170, 170), min_size=1, max_size=4),
    st.integers(0, 1000),
)
def test_box_convert_and_back(source, target, angles, seed):
    draw = np.random.default_rng(seed)
    boxes = torch.tensor(draw.uniform(1, 100, (len(angles), 5)))
    boxes[:, 4] = torch.tensor(angles)
    if source in FORMATS[:3] or target in FORMATS[:3]:
        boxes[:, 4] = 0  # upright formats have no angle
    start = box_convert(boxes, "cxcywha", source)
    back = box_convert(box_convert(start, source, target), target, source)
    # 6e-13 seen
    torch.testing.assert_close(back, start, rtol=0, atol=1e-11)


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1.0, 2.0, 0.125, 1024.0]), st.integers(-1000, 1000))
def test_box_iou_is_symmetric_and_free_of_scale(seed, scale, shift):
    draw = np.random.default_rng(seed)
    corner = draw.integers(0, 50, (12, 2))
    boxes = torch.tensor(np.concatenate([corner, corner + draw.integers(1, 30, (12, 2))], 1)).float()
    iou = box_iou(boxes, boxes)
    assert_same_bytes(iou, iou.T.contiguous())
    assert_same_bytes(box_iou(boxes * scale + shift * scale, boxes * scale + shift * scale), iou)
    assert (iou.diagonal() == 1).all()
    assert (generalized_box_iou(boxes, boxes) <= iou).all()
