import math

import numpy as np
import pytest
import torch

from orbbec.nms.boxes import box_convert, box_iou, box_iou_rotated
from tests.support import assert_same_bytes

COUNT = 20_000  # pairs of each kind
inf, nan = float("inf"), float("nan")


def random_boxes(count, seed=0, field=50.0, sides=(1.0, 60.0)):
    draw = np.random.default_rng(seed)
    return np.column_stack(
        [draw.uniform(0, field, (count, 2)), draw.uniform(*sides, (count, 2)), draw.uniform(-360, 360, count)]
    )


def moved(boxes, along=0.0, turn=0.0, grow=1.0, shift=0.0):
    """The boxes moved by `along` widths in their direction, rotated, enlarged, and shifted on both axes."""
    result, angle = boxes.copy(), np.deg2rad(boxes[:, 4])
    result[:, 0] += along * boxes[:, 2] * np.cos(angle) + shift
    result[:, 1] -= along * boxes[:, 2] * np.sin(angle) - shift
    result[:, 2:4] *= grow
    result[:, 4] += turn
    return result


def slivers(seed, tall):
    boxes = random_boxes(COUNT, seed, sides=(0.01, 0.1))
    boxes[:, 3 if tall else 2] = random_boxes(COUNT, seed + 9, sides=(20, 80))[:, 2]
    return boxes


BOXES = random_boxes(COUNT)
TURNS = np.random.default_rng(5).choice([1e-3, 1e-6, 1e-9, 1e-12, -1e-9], COUNT)
GRID = np.concatenate([np.round(random_boxes(COUNT, 6))[:, :4], np.zeros((COUNT, 1))], 1)
PAIRS = {
    "random": (BOXES, random_boxes(COUNT, 1)),
    "identical": (BOXES, BOXES),
    "nearly parallel": (BOXES, moved(BOXES, turn=TURNS)),
    "side by side": (BOXES, moved(BOXES, along=1.0)),
    "half way along": (BOXES, moved(BOXES, along=0.5)),
    "inside": (BOXES, moved(BOXES, grow=0.5)),
    "a corner in common": (BOXES, moved(BOXES, turn=45.0, grow=np.sqrt(0.5))),
    "a tiny shift": (BOXES, moved(BOXES, shift=1e-7)),
    "whole numbers, 90 degrees": (GRID, np.concatenate([GRID[::-1, :4], np.full((COUNT, 1), 90.0)], 1)),
    "slivers": (slivers(7, True), slivers(8, False)),
    "large and tiny": (BOXES, random_boxes(COUNT, 2, sides=(1e-3, 2))),
}


def pairs_for(device, kind):
    """One pair in twenty if the kernel is emulated, where a pair is a block of 256 threads."""
    step = 20 if device.name == "emulated" else 1
    return [boxes[::step] for boxes in PAIRS[kind]]


def corners(boxes):
    angle = np.deg2rad(boxes[:, 4])[:, None]
    x = boxes[:, 2:3] * np.array([-0.5, 0.5, 0.5, -0.5])
    y = boxes[:, 3:4] * np.array([-0.5, -0.5, 0.5, 0.5])
    cosine, sine = np.cos(angle), np.sin(angle)
    return np.stack([boxes[:, :1] + x * cosine + y * sine, boxes[:, 1:2] - x * sine + y * cosine], -1)


def of_pairs(device, first, second):
    """Compare pair by pair, each as a batch of its own."""
    boxes = (device.put(torch.tensor(boxes))[:, None] for boxes in (first, second))
    return box_iou_rotated(*boxes)[:, 0, 0].cpu().numpy()


@pytest.mark.parametrize("scale", [1e-30, 1e-8, 1e8, 1e30, 1e70])
def test_box_iou_rotated_is_free_of_scale(device, scale):
    first, second = pairs_for(device, "random")
    by = np.array([scale, scale, scale, scale, 1])
    difference = np.abs(of_pairs(device, first * by, second * by) - of_pairs(device, first, second))
    assert difference.max() < 5e-15  # 1.2e-15 seen


def test_box_iou_rotated_is_the_same_far_away(device):
    first, second = (boxes[:2000].round() for boxes in pairs_for(device, "random"))
    away = np.array([1e8, -1e8, 0, 0, 0])
    np.testing.assert_array_equal(
        of_pairs(device, first + away, second + away), of_pairs(device, first, second)
    )


def test_box_iou_rotated_by_hand(device):
    first = torch.tensor([[0.0, 0, 2, 2, 0], [0, 0, 4, 2, 90], [10, 10, 1, 1, 30]])
    second = torch.tensor([[0.0, 0, 2, 2, 45], [1, 0, 2, 2, 0], [2, 0, 2, 2, 0], [0, 2.5, 2, 1, 180]])
    octagon = 8 * (math.sqrt(2) - 1)  # the common area of two squares of side 4, one rotated by 45 degrees
    expected = [[octagon / (8 - octagon), 1 / 3, 0, 0], [0, 1 / 5, 0, 0], [0, 0, 0, 0]]
    actual = box_iou_rotated(device.put(first), device.put(second)).cpu()
    expected[1][0] = actual[1, 0].item()  # tested below
    torch.testing.assert_close(actual, torch.tensor(expected), rtol=0, atol=6e-8)
    # A column of width 2 through a square of side 4 that is rotated by 45 degrees.
    column = 4 - 2 * (math.sqrt(2) - 1) ** 2
    assert actual[1, 0].item() == pytest.approx(column / (12 - column), abs=6e-8)


def test_upright_boxes_have_the_overlap_of_upright_boxes(device):
    upright = torch.tensor(random_boxes(300)).float()
    upright[:, 4] = 0
    corners_of = box_convert(upright.double(), "cxcywha", "xyxy")
    actual = box_iou_rotated(device.put(upright), device.put(upright)).cpu()
    # A value exact to 1e-15, rounded once to float32.
    torch.testing.assert_close(actual, box_iou(corners_of, corners_of).float(), rtol=1e-7, atol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (5, 7), (33, 130)])
def test_every_device_gives_the_bits_of_the_cpu(accelerator, dtype, rows, columns):
    first, second = (torch.tensor(random_boxes(n, n)).to(dtype) for n in (rows, columns))
    expected = box_iou_rotated(first, second)
    with accelerator.active():
        assert_same_bytes(box_iou_rotated(accelerator.put(first), accelerator.put(second)), expected)


@pytest.mark.parametrize("kind", PAIRS)
def test_vectors_give_the_bits_of_single_boxes(kind):
    first, second = (torch.tensor(boxes[:64]) for boxes in PAIRS[kind])
    together = box_iou_rotated(first, second)
    alone = torch.stack([box_iou_rotated(first, box[None])[:, 0] for box in second], 1)
    assert_same_bytes(together, alone)


ODD = [
    [0, 0, 0, 1, 0],
    [0, 0, -1, 1, 0],
    [0, 0, -1, -1, 0],
    [nan, 0, 1, 1, 0],
    [0, inf, 1, 1, 0],
    [0, 0, inf, 1, 0],
    [0, 0, 1, nan, 0],
    [0, 0, 1, 1, nan],
    [0, 0, 1, 1, -inf],
    [0, 0, 1e200, 1e200, 0],
    [0, 0, 1e-200, 1e-200, 0],
    [0, 0, 1, 1, 2.0**52],
]


def test_odd_boxes_overlap_nothing(device):
    odd = device.put(torch.tensor(ODD, dtype=torch.float64))
    good = device.put(torch.tensor([[0.0, 0, 1, 1, 0], [0, 0, 9, 9, 33]], dtype=torch.float64))
    everything = torch.cat((odd, good))
    assert (box_iou_rotated(odd, everything) == 0).all()
    assert (box_iou_rotated(everything, odd) == 0).all()


def test_angles_are_reduced_exactly(device):
    boxes = torch.tensor(random_boxes(50)).double()
    boxes[:, 4] = boxes[:, 4].round()
    turned = boxes.clone()
    turned[:, 4] += 360.0 * 10**9
    expected = box_iou_rotated(device.put(boxes), device.put(boxes))
    assert_same_bytes(box_iou_rotated(device.put(turned), device.put(boxes)), expected)


def test_box_iou_rotated_of_sizes_and_types(device):
    boxes = torch.tensor(random_boxes(6)).round()
    put = device.put
    expected = box_iou_rotated(put(boxes.float()), put(boxes.float()))
    for dtype in (torch.float16, torch.bfloat16, torch.int32):
        given_boxes = put(boxes.to(dtype))
        expected = box_iou_rotated(given_boxes.float(), given_boxes.float())
        assert_same_bytes(box_iou_rotated(given_boxes, given_boxes), expected)
    assert box_iou_rotated(put(boxes[:0]), put(boxes)).shape == (0, 6)
    assert box_iou_rotated(put(boxes), put(boxes[:0])).shape == (6, 0)
    batch = put(boxes.view(2, 3, 5))
    assert_same_bytes(box_iou_rotated(batch, batch)[1], box_iou_rotated(batch[1], batch[1]))
    array = box_iou_rotated(boxes.numpy(), boxes.numpy())
    assert isinstance(array, np.ndarray)


def test_one_thread_gives_the_bits_of_two():
    boxes, threads, results = torch.tensor(random_boxes(300)), torch.get_num_threads(), []
    try:
        for number in (1, 2):
            torch.set_num_threads(number)
            results.append(box_iou_rotated(boxes, boxes))
    finally:
        torch.set_num_threads(threads)
    assert_same_bytes(*results)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (torch.zeros(3, 4), torch.zeros(3, 5), r"expected boxes1 of shape \[..., 5\], but got \[3, 4\]"),
        (torch.zeros(5), torch.zeros(3, 5), r"expected boxes1 of shape \[..., N, 5\], but got \[5\]"),
        (torch.zeros(3, 5), torch.zeros(3, 5).bool(), "expected boxes2 of real numbers, but got bool"),
        (None, torch.zeros(3, 5), "expected boxes1 as a tensor or an array, but got NoneType"),
    ],
)
def test_a_bad_argument_is_named(first, second, message):
    with pytest.raises((TypeError, ValueError), match=message):
        box_iou_rotated(first, second)


def test_the_operator_checks_for_itself(device):
    good = device.put(torch.zeros(1, 3, 5))
    for bad in (good[0], good[..., :4], good.int(), good.double(), torch.cat((good, good))):
        with pytest.raises(ValueError, match="box_iou_rotated: expected"):
            torch.ops.orbbec.box_iou_rotated(good, bad)


def test_box_iou_rotated_passes_opcheck(device):
    boxes = device.put(torch.tensor(random_boxes(6)).float().view(2, 3, 5))
    torch.library.opcheck(torch.ops.orbbec.box_iou_rotated.default, (boxes, boxes))


def test_box_iou_rotated_compiles_as_one_graph(device):
    compiled = torch.compile(lambda a, b: box_iou_rotated(a, b) + 1, fullgraph=True, backend="aot_eager")
    boxes = device.put(torch.tensor(random_boxes(6)).float())
    assert_same_bytes(compiled(boxes, boxes), box_iou_rotated(boxes, boxes) + 1)
