import math

import numpy as np
import pytest
import torch

from orbbec.nms import nms
from orbbec.nms.rotated import nms_rotated
from tests.support.boxes import random_boxes, random_rotated_boxes

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize("quarter_turns", [0, 1, 2, -1, 400])
def test_nms_rotated_of_upright_boxes_is_nms(device, quarter_turns):
    corners, scores = random_boxes(300, dtype=torch.float64)
    corners = (corners * 4).round() / 4
    sides = corners[:, 2:] - corners[:, :2]
    turned = sides.flip(1) if quarter_turns % 2 else sides
    angle = torch.full((300, 1), 90.0 * quarter_turns, dtype=torch.float64)
    boxes = torch.cat(((corners[:, 2:] + corners[:, :2]) / 2, turned, angle), dim=1)
    keep = nms_rotated(device.put(boxes), device.put(scores), 0.3)
    assert keep.tolist() == nms(corners, scores, 0.3).tolist()


@pytest.mark.parametrize("count", [31, 1025, 2100])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_nms_rotated_on_the_accelerator_equals_the_cpu(accelerator, count, dtype):
    boxes, scores = random_rotated_boxes(count, seed=count, dtype=dtype)
    groups = torch.arange(count) % 3
    expected = nms_rotated(boxes, scores, 0.2), nms_rotated(boxes, scores, 0.2, idxs=groups)
    given = [accelerator.put(tensor) for tensor in (boxes, scores, groups)]
    with accelerator.active():
        actual = nms_rotated(*given[:2], 0.2), nms_rotated(*given[:2], 0.2, idxs=given[2])
    assert torch.equal(actual[0].cpu(), expected[0])
    assert torch.equal(actual[1].cpu(), expected[1])


def test_nms_rotated_by_hand(device):
    # The intersection of a square and the same square rotated by 45 degrees is a regular octagon.
    boxes = torch.tensor([[0.0, 0, 2, 2, 0], [0, 0, 2, 2, 45]])
    ratio = (8 * math.sqrt(2) - 8) / (16 - 8 * math.sqrt(2))
    given = device.put(boxes), device.put(torch.tensor([0.5, 0.9]))
    assert nms_rotated(*given, ratio - 1e-9).tolist() == [1]
    assert nms_rotated(*given, ratio + 1e-9).tolist() == [1, 0]


def test_nms_rotated_of_boxes_that_are_none_keeps_them(device):
    boxes = torch.tensor(
        [
            [0.0, 0, 10, 10, 30],
            [0, 0, 10, 10, 30],  # suppressed by the first
            [0, 0, 0, 10, 30],
            [0, 0, -10, 10, 30],
            [NAN, 0, 10, 10, 30],
            [0, 0, 10, INF, 30],
            [0, 0, 10, 10, NAN],
        ]
    )
    scores = torch.linspace(1, 0.3, len(boxes))
    assert nms_rotated(device.put(boxes), device.put(scores), 0.5).tolist() == [0, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_nms_rotated_of_half_types_is_that_of_float32(device, dtype):
    boxes, scores = (device.put(values.to(dtype)) for values in random_rotated_boxes(200))
    assert (
        nms_rotated(boxes, scores, 0.3).tolist() == nms_rotated(boxes.float(), scores.float(), 0.3).tolist()
    )


def test_nms_rotated_gives_a_fixed_size_and_a_count(device):
    boxes, scores = (device.put(values) for values in random_rotated_boxes(300))
    keep = nms_rotated(boxes, scores, 0.2)
    chosen, count = nms_rotated(boxes, scores, 0.2, max_output=len(keep) + 5)
    assert count.item() == len(keep)
    assert chosen.tolist() == keep.tolist() + [-1] * 5


def test_nms_rotated_gives_arrays_for_arrays():
    boxes, scores = random_rotated_boxes(50)
    keep = nms_rotated(boxes.numpy(), scores.numpy(), 0.3)
    np.testing.assert_array_equal(keep, nms_rotated(boxes, scores, 0.3).numpy())


def test_nms_rotated_passes_opcheck(device):
    boxes, groups = device.put(random_rotated_boxes(40)[0]), device.put(torch.arange(40) // 10)
    for given in (None, groups):
        torch.library.opcheck(torch.ops.orbbec.nms_rotated_keepers.default, (boxes, given, 0.5))


def test_nms_rotated_compiles_as_one_graph(device):
    def detect(boxes, scores):
        return nms_rotated(boxes, scores, 0.3, max_output=20)[0] + 1

    given = [device.put(values) for values in random_rotated_boxes(60)]
    compiled = torch.compile(detect, fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(*given), detect(*given))


@pytest.mark.parametrize(
    ("boxes", "scores", "idxs", "message"),
    [
        (torch.zeros(3, 4), torch.zeros(3), None, r"expected boxes of shape \[N, 5\], but got \[3, 4\]"),
        (torch.zeros(3, 5), torch.zeros(2), None, r"expected scores of shape \[3\], but got \[2\]"),
        (torch.zeros(3, 5), torch.zeros(3), torch.ones(3) / 2, "expected idxs of whole numbers, but got 0.5"),
        (torch.zeros(3, 5).int(), torch.zeros(3), None, "expected boxes of float16, .*, but got int32"),
    ],
)
def test_nms_rotated_names_the_bad_argument(boxes, scores, idxs, message):
    with pytest.raises((TypeError, ValueError), match=f"nms_rotated: {message}"):
        nms_rotated(boxes, scores, 0.5, idxs=idxs)


def test_nms_rotated_names_a_bad_max_output():
    with pytest.raises(ValueError, match="nms_rotated: expected max_output of at least 0, but got -1"):
        nms_rotated(*random_rotated_boxes(3), 0.5, max_output=-1)
