import pytest

hypothesis = pytest.importorskip("hypothesis")
from hypothesis import given, settings
from hypothesis import strategies as st

from orbbec.nms.soft import matrix_nms
from orbbec.nms.soft.tests.test_matrix_nms import METHODS, labeled
from tests.support import assert_same_bytes


@settings(deadline=None, max_examples=50)
@given(st.permutations(range(40)), st.sampled_from(METHODS))
def test_the_order_of_the_input_does_not_matter(order, method):
    boxes, scores, labels = labeled(40)
    order = list(order)
    rows, _ = matrix_nms(boxes, scores, labels, method=method)
    permuted, _ = matrix_nms(boxes[order], scores[order], labels[order], method=method)
    assert_same_bytes(permuted, rows)
