import numpy as np
import pytest
import torch

cv2 = pytest.importorskip("cv2")
hypothesis = pytest.importorskip("hypothesis")
from hypothesis import given, settings
from hypothesis import strategies as st

from orbbec.nms.soft import soft_nms
from orbbec.nms.soft.tests import oracle
from orbbec.nms.soft.tests.test_soft_nms import METHODS, random_detections
from tests.support import assert_same_bytes

nan, inf = float("nan"), float("inf")
COORDINATE = st.one_of(st.integers(-3, 12).map(float), st.sampled_from([nan, inf, -inf, 1e30, -1e30, 0.5]))
SCORE = st.one_of(st.integers(-2, 10).map(lambda i: i / 10), st.sampled_from([nan, inf, -inf]))


@pytest.mark.parametrize("method", ["linear", "gaussian"])
@pytest.mark.parametrize("count", [10, 120])
def test_soft_nms_matches_opencv(device, method, count):
    boxes, _ = random_detections(count)
    boxes = boxes.round()  # OpenCV requires integers
    scores = torch.randperm(count, generator=torch.Generator().manual_seed(0)) / count + 0.01
    rectangles = torch.cat((boxes[:, :2], boxes[:, 2:] - boxes[:, :2]), 1).int().tolist()
    by = getattr(cv2.dnn, f"SoftNMSMethod_SOFTNMS_{method.upper()}")
    lowered, expected = cv2.dnn.softNMSBoxes(rectangles, scores.tolist(), 1e-3, 0.3, 0, 0.5, by)
    rows, indices = soft_nms(device.put(boxes), device.put(scores), 0.3, 0.5, 1e-3, method)
    assert indices.tolist() == list(expected)
    # 6.0e-7 seen, relative
    torch.testing.assert_close(rows[:, 4].cpu(), torch.tensor(lowered), rtol=4e-6, atol=0)


@settings(deadline=None, max_examples=300)
@given(
    st.lists(st.tuples(st.tuples(*[COORDINATE] * 4), SCORE), max_size=20),
    st.sampled_from([0.0, 0.25, 0.5, 1.0]),
    st.sampled_from([-1.0, 0.0, 1e-3, 0.3]),
    st.sampled_from(METHODS),
    st.sampled_from([0, 1]),
)
def test_any_boxes_match_the_oracle(detections, iou_threshold, min_score, method, offset):
    boxes = torch.tensor([box for box, _ in detections]).reshape(-1, 4).float()
    scores = torch.tensor([score for _, score in detections]).float()
    with np.errstate(all="ignore"):
        expected, _ = oracle.soft_nms(
            boxes.numpy(), scores.numpy(), iou_threshold, 0.5, min_score, method, offset
        )
    _, indices = soft_nms(boxes, scores, iou_threshold, 0.5, min_score, method, offset)
    assert indices.tolist() == expected.tolist()


@settings(deadline=None, max_examples=50)
@given(st.permutations(range(40)), st.sampled_from(METHODS))
def test_the_order_of_the_input_does_not_matter(order, method):
    boxes, scores = random_detections(40)
    rows, indices = soft_nms(boxes, scores, method=method)
    permuted_rows, permuted_indices = soft_nms(boxes[list(order)], scores[list(order)], method=method)
    assert_same_bytes(permuted_rows, rows)
    assert [order[index] for index in permuted_indices.tolist()] == indices.tolist()
