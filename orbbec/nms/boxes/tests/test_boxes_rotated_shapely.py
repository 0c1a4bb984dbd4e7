import numpy as np
import pytest
import torch

shapely = pytest.importorskip("shapely")
hypothesis = pytest.importorskip("hypothesis")
from hypothesis import given, settings
from hypothesis import strategies as st

from orbbec.nms.boxes import box_iou_rotated
from orbbec.nms.boxes.tests.test_boxes_rotated import PAIRS, corners, of_pairs, pairs_for


def by_shapely(first, second):
    """The IoU of pairs, computed about the center of the first box, where float64 is most precise."""
    near, beside = first.copy(), second.copy()
    near[:, :2], beside[:, :2] = 0, second[:, :2] - first[:, :2]
    shapes = shapely.polygons(corners(near)), shapely.polygons(corners(beside))
    shared = shapely.area(shapely.intersection(*shapes))
    return shared / (first[:, 2] * first[:, 3] + second[:, 2] * second[:, 3] - shared)


@pytest.mark.parametrize("kind", PAIRS)
def test_box_iou_rotated_matches_shapely(device, kind):
    first, second = pairs_for(device, kind)
    difference = np.abs(of_pairs(device, first, second) - by_shapely(first, second))
    # 2.1e-14 seen, with "nearly parallel"; against 160 bits, shapely was that far off and orbbec 3.2e-15.
    # "slivers" of 1 : 8000: 1.1e-15.
    assert difference.max() < 5e-14


@settings(deadline=None, max_examples=200)
@given(
    st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=2),
    st.lists(st.floats(1e-3, 1e3), min_size=4, max_size=4),
    st.lists(st.floats(-720, 720), min_size=2, max_size=2),
)
def test_box_iou_rotated_keeps_its_laws(center, sides, angles):
    pair = torch.tensor(
        [[0, 0, *sides[:2], angles[0]], [*center, *sides[2:], angles[1]]], dtype=torch.float64
    )
    iou = box_iou_rotated(pair, pair)
    # Sides of up to 1 : 10^6: the error grows with that ratio. 2.2e-11 seen.
    assert (iou.diagonal() - 1).abs().max() < 1e-9
    assert abs(iou[0, 1] - iou[1, 0]) < 1e-9
    assert 0 <= iou.min() <= iou.max() <= 1 + 1e-12
    turned = pair.clone()
    turned[:, 4] += 90
    turned[:, [2, 3]] = pair[:, [3, 2]]
    assert abs(box_iou_rotated(turned, pair)[0, 1] - iou[0, 1]) < 1e-9
