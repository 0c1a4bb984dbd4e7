import math

import numpy as np
import pytest
import torch

import orbbec
from orbbec.nms.soft import soft_nms
from orbbec.nms.soft.tests import oracle
from tests.support import assert_same_bytes

METHODS = ("naive", "linear", "gaussian")
DTYPES = (torch.float32, torch.float64)
# One box, below and above vectors of 8 and 16 and a warp, above a block, above the capacity of shared memory.
SIZES = (1, 7, 8, 9, 16, 17, 33, 300, 1025, 2200)
inf, nan = float("inf"), float("nan")
# An ordinary box; no area, reversed along one side and along both, NaN, infinite, overflowing.
ODD = [
    [0.0, 0, 9, 9],
    [0, 0, 0, 9],
    [9, 0, 0, 9],
    [9, 9, 0, 0],
    [0, nan, 9, 9],
    [-inf, 0, inf, 9],
    [-1e30, -1e30, 1e30, 1e30],
]


def random_detections(count, dtype=torch.float32, seed=0, ties=False):
    """About 10 boxes over each other; with `ties`, whole numbers and scores of one digit."""
    draw = np.random.default_rng(seed)
    corner = draw.uniform(0, 20 * math.sqrt(count), (count, 2))
    boxes = np.concatenate([corner, corner + draw.uniform(10, 100, (count, 2))], 1)
    scores = draw.uniform(0, 1, count)
    if ties:
        boxes, scores = boxes.round(), scores.round(1)
    return torch.tensor(boxes).to(dtype), torch.tensor(scores).to(dtype)


def assert_matches_oracle(device, boxes, scores, iou_threshold, sigma, min_score, method, offset=0):
    rows, indices = soft_nms(
        device.put(boxes), device.put(scores), iou_threshold, sigma, min_score, method, offset
    )
    expected, lowered = oracle.soft_nms(
        boxes.numpy(), scores.numpy(), iou_threshold, sigma, min_score, method, offset
    )
    assert indices.tolist() == expected.tolist()
    assert_same_bytes(rows[:, :4].cpu(), boxes[expected])
    # The exponential functions differ: 3.0e-7 and 2.3e-16 seen, relative, after many calls.
    bound = {"gaussian": 16 * torch.finfo(boxes.dtype).eps}.get(method, 0)
    torch.testing.assert_close(rows[:, 4].cpu(), torch.tensor(lowered), rtol=bound, atol=0)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [1, 7, 8, 9, 33, 150])
def test_soft_nms_matches_the_oracle(device, method, dtype, count):
    boxes, scores = random_detections(count, dtype)
    assert_matches_oracle(device, boxes, scores, 0.3, 0.5, 1e-3, method)
    assert_matches_oracle(device, boxes, scores, 0.1, 0.2, 0.3, method, 1)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("offset", [0, 1])
def test_equal_scores_are_taken_in_their_order(device, method, offset):
    for seed in range(3):
        boxes, scores = random_detections(100, seed=seed, ties=True)
        assert_matches_oracle(device, boxes, scores, 0.3, 0.5, 1e-3, method, offset)


def test_soft_nms_by_hand(device):
    boxes = device.put(torch.tensor([[0.0, 0, 10, 10], [0, 0, 10, 5], [0, 5, 10, 10], [50, 50, 60, 60]]))
    scores = device.put(torch.tensor([0.8, 0.6, 0.4, 0.3]))
    # Each half has an IoU of 0.5 with the whole, and none with the other half.
    rows, indices = soft_nms(boxes, scores, 0.5)
    assert indices.tolist() == [0, 1, 3, 2]
    torch.testing.assert_close(rows[:, 4].cpu(), torch.tensor([0.8, 0.3, 0.3, 0.2]))
    assert soft_nms(boxes, scores, 0.51)[1].tolist() == [0, 1, 2, 3]
    assert soft_nms(boxes, scores, 0.5, method="naive")[1].tolist() == [0, 3]
    assert soft_nms(boxes, scores, 0.5, min_score=0.25)[1].tolist() == [0, 1, 3]
    rows, indices = soft_nms(boxes, scores, method="gaussian", sigma=0.25)
    assert indices.tolist() == [0, 3, 1, 2]
    expected = torch.tensor([0.8, 0.3, 0.6 / math.e, 0.4 / math.e])
    torch.testing.assert_close(rows[:, 4].cpu(), expected, rtol=2e-7, atol=0)


def test_the_detections_of_mmcv_s_documentation(device):
    boxes = torch.tensor(
        [[4.0, 3, 5, 3], [4, 3, 5, 4], [3, 1, 3, 1], [3, 1, 3, 1], [3, 1, 3, 1], [3, 1, 3, 1]]
    )
    scores = torch.tensor([0.9, 0.9, 0.5, 0.5, 0.4, 0.0])
    rows, indices = soft_nms(device.put(boxes), device.put(scores), 0.6, sigma=0.5)
    assert (len(rows), len(indices)) == (5, 5)
    # The old convention with corners as pixels: one of the four equal boxes is left.
    dets = torch.cat((boxes, scores[:, None]), 1).numpy()
    rows, indices = soft_nms(dets, 0.7, sigma=0.5, offset=1)
    assert (len(rows), len(indices)) == (3, 3)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_exponential_is_exact_to_a_rounding(device, dtype):
    """Two equal boxes: the second score becomes exp(-1 / sigma)."""
    boxes = device.put(torch.tensor([[0.0, 0, 1, 1]] * 2).to(dtype))
    scores = device.put(torch.tensor([2.0, 1.0]).to(dtype))
    last = 103 if dtype == torch.float32 else 740
    for power in (1e-9, 0.01, 0.3, 0.35, 1, 1.5, 5, 20.25, 77.5, 87.5, 95, last, 800):
        sigma = torch.tensor(1 / power, dtype=dtype)
        lowered = soft_nms(boxes, scores, sigma=sigma.item(), min_score=0, method="gaussian")[0][1, 4].cpu()
        expected = math.exp((-1 / sigma).item())
        finfo = torch.finfo(dtype)
        ulp = max(expected * finfo.eps, finfo.smallest_normal * finfo.eps)
        assert abs(lowered.item() - expected) <= ulp


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", SIZES)
def test_every_device_gives_the_bits_of_the_cpu(accelerator, method, dtype, count):
    boxes, scores = random_detections(count, dtype, ties=count % 2 == 1)
    # A step takes milliseconds under the sanitizers; the first ones are as conclusive as all.
    most = 12 if accelerator.name == "emulated" else count
    for threshold in (0.3, 0.0):
        expected = soft_nms(boxes, scores, threshold, method=method, max_output=most)
        with accelerator.active():
            arguments = accelerator.put(boxes), accelerator.put(scores), threshold
            actual = soft_nms(*arguments, method=method, max_output=most)
        for a, b in zip(actual, expected, strict=True):
            assert_same_bytes(a, b)


@pytest.mark.sanitized
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("count", SIZES)
def test_vectors_change_nothing(monkeypatch, method, count):
    boxes, scores = random_detections(count, ties=count % 2 == 1)
    boxes[::13] = boxes[0].clone()
    for threshold in (0.3, 0.0):
        results = []
        for level in ("scalar", "avx2", "avx512"):
            monkeypatch.setenv("ORBBEC_SIMD", level)
            results.append(soft_nms(boxes, scores, threshold, method=method))
        for rows, indices in results[1:]:
            assert_same_bytes(rows, results[0][0])
            assert_same_bytes(indices, results[0][1])


# With offset 1, a box of zeros has an infinite IoU with one that has no area, as lanes beyond the last box.
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("method", METHODS)
def test_a_box_of_zeros_gives_no_box_a_score_again(device, method, dtype):
    boxes, scores = random_detections(37, dtype)
    boxes[5], boxes[11], scores[5], scores[11] = 0.0, torch.tensor([0.0, 0, -1, -1]), 2.0, 1.5
    rows, indices = soft_nms(device.put(boxes), device.put(scores), 0.3, offset=1, method=method)
    assert indices[0] == 5
    assert len(set(indices.tolist())) == len(indices)
    assert (indices < 37).all()
    assert (rows[:, 4] <= device.put(scores)[indices]).all()


@pytest.mark.parametrize("method", METHODS)
def test_odd_boxes_keep_their_scores(device, method):
    boxes = device.put(torch.tensor(ODD))
    scores = device.put(torch.tensor([0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3]))
    rows, indices = soft_nms(boxes, scores, method=method)
    assert indices.tolist() == list(range(7))
    assert_same_bytes(rows[:, 4], scores)


def test_odd_scores(device):
    boxes = device.put(torch.tensor([[0.0, 0, 9, 9]]).repeat(5, 1) + 20 * torch.arange(5)[:, None])
    scores = device.put(torch.tensor([nan, 0.5, -inf, inf, -1.0]))
    assert soft_nms(boxes, scores)[1].tolist() == [3, 1]
    assert soft_nms(boxes, scores, min_score=-2)[1].tolist() == [3, 1, 4]
    # The best box stays, even with a low score.
    rows, indices = soft_nms(boxes, scores.clamp(max=-1.0), min_score=0.5)
    assert indices.tolist() == [1]
    assert rows[0, 4] == -1
    assert len(soft_nms(boxes[:1], scores[:1])[1]) == 0


def test_no_boxes(device):
    boxes, scores = device.put(torch.zeros(0, 4)), device.put(torch.zeros(0))
    rows, indices = soft_nms(boxes, scores)
    assert (rows.shape, indices.shape, indices.dtype) == ((0, 5), (0,), torch.int64)
    rows, indices, count = soft_nms(boxes, scores, max_output=3)
    assert (rows.tolist(), indices.tolist(), count.item()) == ([[0.0] * 5] * 3, [-1] * 3, 0)


@pytest.mark.parametrize("most", [0, 1, 5, 100])
def test_a_fixed_size(device, most):
    boxes, scores = (device.put(t) for t in random_detections(40))
    rows, indices = soft_nms(boxes, scores)
    padded, padded_indices, count = soft_nms(boxes, scores, max_output=most)
    assert count == min(most, len(rows))
    assert_same_bytes(padded[:count], rows[:most])
    assert_same_bytes(padded_indices[:count], indices[:most])
    assert (padded_indices[count:] == -1).all()
    assert (padded[count:] == 0).all()


def test_both_forms(device):
    boxes, scores = (device.put(t) for t in random_detections(40))
    dets = torch.cat((boxes, scores[:, None]), 1)
    rows, indices = soft_nms(boxes, scores, 0.4, 0.7, 0.01, "gaussian")
    for other in (
        soft_nms(dets, 0.4, "gaussian", 0.7, 0.01),
        soft_nms(dets, iou_thr=0.4, method="gaussian", sigma=0.7, min_score=0.01),
        soft_nms(dets=dets, iou_thr=0.4, method="gaussian", sigma=0.7, min_score=0.01),
        orbbec.soft_nms(boxes, scores, iou_threshold=0.4, sigma=0.7, min_score=0.01, method="gaussian"),
    ):
        assert_same_bytes(other[0], rows)
        assert_same_bytes(other[1], indices)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_arrays_give_arrays(dtype):
    boxes, scores = (t.numpy().astype(dtype) for t in random_detections(40))
    rows, indices = soft_nms(boxes, scores)
    assert isinstance(rows, np.ndarray)
    assert (rows.dtype, indices.dtype) == (dtype, np.int64)
    dets = np.concatenate((boxes, scores[:, None]), 1)
    for a, b in zip(soft_nms(dets, 0.3), (rows, indices), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_types_are_computed_in_float32(device, dtype):
    boxes, scores = (device.put(t).to(dtype) for t in random_detections(200))
    rows, indices = soft_nms(boxes, scores)
    expected, expected_indices = soft_nms(boxes.float(), scores.float())
    assert_same_bytes(indices, expected_indices)
    assert_same_bytes(rows, expected.to(dtype))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"boxes": torch.zeros(3, 5)}, r"soft_nms: expected boxes of shape \[N, 4\], but got \[3, 5\]"),
        ({"boxes": torch.zeros(3, 4).int()}, "expected boxes of float16, bfloat16, float32 or float64"),
        ({"boxes": [[0, 0, 1, 1]]}, "expected boxes as a tensor or an array, but got list"),
        ({"scores": torch.zeros(2)}, r"expected scores of shape \[3\], but got \[2\]"),
        ({"scores": torch.zeros(3, 1)}, r"expected scores of shape \[3\], but got \[3, 1\]"),
        ({"scores": None}, "expected scores as a tensor or an array, but got NoneType"),
        ({"scores": 0.5}, r"expected dets of shape \[N, 5\], but got \[3, 4\]"),
        ({"method": "quadratic"}, "expected method as naive, linear or gaussian, but got quadratic"),
        ({"method": 2}, "expected method as a name, but got 2"),
        ({"sigma": 0}, "expected sigma above 0, but got 0"),
        ({"sigma": nan}, "expected sigma above 0, but got nan"),
        ({"iou_threshold": nan}, "expected iou_threshold as a number, but got nan"),
        ({"min_score": -inf}, "expected a finite min_score, but got -inf"),
        ({"offset": inf}, "expected a finite offset, but got inf"),
        ({"max_output": -1}, "expected max_output from 0 to 1073741824, but got -1"),
    ],
)
def test_a_bad_argument_is_named(changes, message):
    good = {"boxes": torch.zeros(3, 4), "scores": torch.zeros(3)}
    with pytest.raises((TypeError, ValueError), match=message):
        soft_nms(**{**good, **changes})


def test_the_operator_checks_for_itself(device):
    boxes, scores = device.put(torch.zeros(3, 4)), device.put(torch.zeros(3))
    good = {"boxes": boxes, "scores": scores, "method": "linear", "iou_threshold": 0.3}
    good |= {"sigma": 0.5, "min_score": 0.0, "offset": 0.0, "max_output": 3}
    for changes in (
        {"boxes": boxes[0]},
        {"boxes": boxes[:, :3]},
        {"boxes": boxes.half()},
        {"scores": scores.double()},
        {"scores": scores[:2]},
        {"method": ""},
        {"sigma": -1.0},
        {"max_output": 2**40},
    ):
        with pytest.raises(ValueError, match="soft_nms: expected"):
            torch.ops.orbbec.soft_nms(**{**good, **changes})


@pytest.mark.parametrize("method", METHODS)
def test_soft_nms_passes_opcheck(device, method):
    boxes, scores = (device.put(t) for t in random_detections(20))
    arguments = (boxes, scores, method, 0.3, 0.5, 1e-3, 0.0, 10)
    torch.library.opcheck(torch.ops.orbbec.soft_nms.default, arguments)


def test_soft_nms_compiles_as_one_graph(device):
    compiled = torch.compile(
        lambda b, s: soft_nms(b * 1, s, max_output=9)[0] + 1, fullgraph=True, backend="aot_eager"
    )
    boxes, scores = (device.put(t) for t in random_detections(20))
    assert_same_bytes(compiled(boxes, scores), soft_nms(boxes, scores, max_output=9)[0] + 1)


def test_strided_boxes(device):
    boxes, scores = (device.put(t) for t in random_detections(30))
    wide = torch.cat((boxes, boxes), 1)[:, ::2].contiguous().T.contiguous().T
    for a, b in zip(soft_nms(wide, scores), soft_nms(wide.contiguous(), scores), strict=True):
        assert_same_bytes(a, b)


@pytest.mark.cuda
@pytest.mark.parametrize("method", METHODS)
def test_a_cuda_graph_replays_soft_nms(method):
    boxes, scores = (t.cuda() for t in random_detections(500))
    soft_nms(boxes, scores, method=method, max_output=200)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = soft_nms(boxes, scores, method=method, max_output=200)
    fresh_boxes, fresh_scores = random_detections(500, seed=1)
    boxes.copy_(fresh_boxes)
    scores.copy_(fresh_scores)
    graph.replay()
    for a, b in zip(captured, soft_nms(boxes, scores, method=method, max_output=200), strict=True):
        assert_same_bytes(a, b)
