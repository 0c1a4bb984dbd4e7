import math
import os

import numpy as np
import pytest
import torch

hypothesis = pytest.importorskip("hypothesis")
shapely = pytest.importorskip("shapely")
from hypothesis import strategies as st

from orbbec.nms.rotated import nms_rotated
from tests.support.boxes import random_rotated_boxes

EXAMPLES = int(os.environ.get("ORBBEC_FUZZ_EXAMPLES", "200"))
REFUSALS = (ValueError, RuntimeError, TypeError)
NUMBERS = (0.0, 1.0, -1.0, 0.5, 45.0, 90.0, 1e-30, 1e30, 1e300, float("inf"), float("nan"))


def polygon(box):
    x, y, width, height, degrees = box
    sine, cosine = math.sin(math.radians(degrees)), math.cos(math.radians(degrees))
    corners = [(a * width / 2, b * height / 2) for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
    # y points down, so a counter-clockwise rotation on screen has the opposite sign.
    return shapely.Polygon([(x + u * cosine + v * sine, y - u * sine + v * cosine) for u, v in corners])


def by_shapely(boxes, scores, threshold, groups=None):
    polygons, kept = np.array([polygon(box) for box in boxes.double().tolist()]), []
    for index in scores.argsort(descending=True, stable=True).tolist():
        rivals = [k for k in kept if groups is None or groups[k] == groups[index]]
        shared = shapely.intersection(polygons[rivals], polygons[index]) if rivals else np.array([])
        whole = shapely.area(polygons[rivals]) + shapely.area(polygons[index]) - shapely.area(shared)
        if not (shapely.area(shared) / whole > threshold).any():
            kept.append(index)
    return kept


@pytest.mark.parametrize("count", [0, 1, 2, 33, 400])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_nms_rotated_matches_shapely(device, count, dtype):
    boxes, scores = random_rotated_boxes(count, seed=count, dtype=dtype)
    boxes[:, :2] *= 0.3
    groups = torch.arange(count) % 3
    given = device.put(boxes), device.put(scores)
    assert nms_rotated(*given, 0.3).tolist() == by_shapely(boxes, scores, 0.3)
    assert nms_rotated(*given, 0.2, idxs=device.put(groups)).tolist() == by_shapely(
        boxes, scores, 0.2, groups
    )


@hypothesis.settings(max_examples=EXAMPLES, deadline=None)
@hypothesis.given(data=st.data())
def test_the_operator_takes_or_refuses_anything(data):
    shape = data.draw(st.sampled_from([(0, 5), (1, 5), (7, 5), (40, 5), (5,), (3, 4)]))
    dtype = data.draw(st.sampled_from([torch.float32, torch.float64, torch.float16, torch.int64]))
    row = torch.tensor(data.draw(st.lists(st.sampled_from(NUMBERS), min_size=shape[-1], max_size=shape[-1])))
    if not dtype.is_floating_point:
        row = row.nan_to_num(0, 9, -9).clamp(-9, 9)
    groups = data.draw(st.sampled_from([None, torch.zeros(shape[0]).long(), torch.arange(7), torch.zeros(7)]))
    try:
        keepers = torch.ops.orbbec.nms_rotated_keepers(
            row.to(dtype).expand(shape), groups, data.draw(st.sampled_from(NUMBERS))
        )
    except REFUSALS:
        return
    assert (keepers <= torch.arange(shape[0])).all()
    assert (keepers[keepers] == keepers).all()
