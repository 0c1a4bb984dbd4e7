from pathlib import Path

import numpy as np
import pytest
import torch

import orbbec
from orbbec.nms import batched_nms, nms, nms_match
from tests.support.boxes import iou_matrix, random_boxes

RECORDED = np.load(Path(__file__).with_name("torchvision_nms.npz"))
CASES = range(sum(name.startswith("keep_") for name in RECORDED))
COUNTS = [0, 1, 2, 31, 32, 33, 257, 1024, 1025, 2100]  # around a warp, a block and a tile
NAN, INF = float("nan"), float("inf")


def recorded(number):
    names = ("boxes", "scores", "groups", "threshold", "keep", "batched")
    return [torch.from_numpy(np.asarray(RECORDED[f"{name}_{number}"])) for name in names]


def greedy(boxes, scores, threshold, groups=None, offset=0.0):
    """The kept indices, and the box that suppresses each box, in NumPy."""
    ratio = iou_matrix(boxes, offset)
    order, kept, keeper = np.argsort(-scores, kind="stable"), [], {}
    for index in order:
        rivals = [k for k in kept if groups is None or groups[k] == groups[index]]
        keeper[index] = next((k for k in rivals if ratio[k, index] > threshold), index)
        if keeper[index] == index:
            kept.append(index)
    return kept, [[p for p in order if keeper[p] == k] for k in kept]


@pytest.mark.parametrize("number", CASES)
def test_nms_matches_torchvision(device, number):
    boxes, scores, _, threshold, keep, _ = recorded(number)
    assert torch.equal(nms(device.put(boxes), device.put(scores), float(threshold)).cpu(), keep)


@pytest.mark.parametrize("number", CASES)
def test_batched_nms_matches_torchvision_class_by_class(device, number):
    boxes, scores, groups, threshold, _, batched = recorded(number)
    actual = batched_nms(device.put(boxes), device.put(scores), device.put(groups), float(threshold)).cpu()
    assert torch.equal(actual.sort()[0], batched)
    assert torch.equal(actual, actual[scores[actual].argsort(descending=True, stable=True)])


@pytest.mark.parametrize("count", COUNTS[:-2])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("offset", [0, 1])
def test_nms_matches_numpy(device, count, dtype, offset):
    boxes, scores = random_boxes(count, seed=count, dtype=dtype)
    boxes *= 0.2
    kept, groups = greedy(boxes.numpy(), scores.numpy(), 0.4, offset=offset)
    on_device = device.put(boxes), device.put(scores)
    assert nms(*on_device, 0.4, offset=offset).tolist() == kept
    dets = torch.cat((on_device[0], on_device[1][:, None]), dim=1)
    assert [group.tolist() for group in nms_match(dets, 0.4, offset=offset)] == groups


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_nms_on_the_accelerator_equals_the_cpu(accelerator, count, dtype):
    boxes, scores = random_boxes(count, seed=count, dtype=dtype)
    groups = torch.randint(-3, 3, (count,), generator=torch.Generator().manual_seed(count))
    dets = torch.cat((boxes, scores[:, None]), dim=1)
    expected = nms(boxes, scores, 0.3), batched_nms(boxes, scores, groups, 0.3), nms_match(dets, 0.3)
    given = [accelerator.put(tensor) for tensor in (boxes, scores, groups, dets)]
    with accelerator.active():
        actual = nms(*given[:2], 0.3), batched_nms(*given[:3], 0.3), nms_match(given[3], 0.3)
    assert torch.equal(actual[0].cpu(), expected[0])
    assert torch.equal(actual[1].cpu(), expected[1])
    assert [g.tolist() for g in actual[2]] == [g.tolist() for g in expected[2]]


@pytest.mark.sanitized
def test_nms_keeps_the_same_on_every_vector_unit(monkeypatch):
    boxes, scores = random_boxes(3000)
    boxes[::7] *= 1e-21  # subnormal areas
    boxes[1::9] *= -1
    boxes[2::50] = NAN
    boxes[3::51, 2:] = INF
    for threshold in (-0.5, 0.0, 1e-30, 0.3, 1.0, NAN):
        kept = {}
        for level in ("scalar", "avx2", "avx512"):
            monkeypatch.setenv("ORBBEC_SIMD", level)
            kept[level] = nms(boxes, scores, threshold).tolist()
        assert kept["scalar"] == kept["avx2"] == kept["avx512"]


@pytest.mark.sanitized
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("count", [255, 256, 257, 3001])
def test_nms_keeps_the_same_on_any_number_of_threads(count, dtype):
    """Also compares which box suppresses which, with more threads than cores, so that some wait."""
    boxes, scores = random_boxes(count, seed=count, dtype=dtype)
    dets = torch.cat((boxes, scores[:, None]), dim=1)
    threads, found = torch.get_num_threads(), []
    try:
        for number in (1, 2, 3, 9, 9, 9):
            torch.set_num_threads(number)
            found.append([group.tolist() for group in nms_match(dets, 0.1)])
    finally:
        torch.set_num_threads(threads)
    assert count / 20 < len(found[0]) < count * 0.9
    assert all(groups == found[0] for groups in found)


def test_nms_by_hand(device):
    # The IoU with the first is 50 / 100 for the second and 50 / 150 for the third; the last is far away.
    boxes = torch.tensor([[0.0, 0, 10, 10], [0, 0, 10, 5], [5, 0, 15, 10], [50, 50, 60, 60]])
    scores = torch.tensor([0.9, 0.8, 0.7, 0.95])
    given = device.put(boxes), device.put(scores)
    assert nms(*given, 0.49).tolist() == [3, 0, 2]
    assert nms(*given, 0.5).tolist() == [3, 0, 1, 2]  # a ratio equal to the threshold is not greater
    assert nms(*given, 0.3).tolist() == [3, 0]


def test_nms_of_boxes_that_are_none_keeps_them(device):
    boxes = torch.tensor(
        [
            [0.0, 0, 10, 10],
            [0, 0, 10, 10],  # suppressed by the first
            [5, 5, 5, 9],  # no area
            [5, 5, 5, 9],
            [10, 10, 0, 0],  # reversed
            [NAN, 0, 10, 10],
            [-INF, 0, 10, 10],
            [-1e30, -1e30, 1e30, 1e30],  # its area overflows float32
        ]
    )
    scores = torch.linspace(1, 0.3, len(boxes))
    assert nms(device.put(boxes), device.put(scores), 0.5).tolist() == [0, 2, 3, 4, 5, 6, 7]


def test_nms_of_equal_scores_keeps_the_first(device):
    boxes = device.put(torch.tensor([[0.0, 0, 10, 10]]).repeat(100, 1))
    assert nms(boxes, device.put(torch.ones(100)), 0.5).tolist() == [0]


def test_nms_ranks_a_score_that_is_nan_first(device):
    boxes = device.put(torch.tensor([[0.0, 0, 10, 10]]).repeat(3, 1))
    assert nms(boxes, device.put(torch.tensor([1.0, NAN, 2.0])), 0.5).tolist() == [1]


def test_batched_nms_is_exact_for_coordinates_that_offsets_would_round(device):
    boxes, scores = random_boxes(300)
    boxes = boxes.round() - 600
    groups = torch.arange(300) % 4
    boxes[::50] += 3e8
    expected, _ = greedy(boxes.numpy(), scores.numpy(), 0.3, groups.numpy())
    given = [device.put(tensor) for tensor in (boxes, scores, groups)]
    assert batched_nms(*given, 0.3).tolist() == expected
    assert batched_nms(given[0].double(), *given[1:], 0.3).tolist() == expected


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_nms_of_half_types_is_that_of_float32(device, dtype):
    boxes, scores = random_boxes(200)
    half = device.put(boxes.to(dtype)), device.put(scores.to(dtype))
    assert nms(*half, 0.4).tolist() == nms(half[0].float(), half[1].float(), 0.4).tolist()


def test_nms_gives_a_fixed_size_and_a_count(device):
    boxes, scores = (device.put(values) for values in random_boxes(300))
    keep = nms(boxes, scores, 0.3)
    for size in (1, len(keep) - 1, len(keep), len(keep) + 5, 0):
        chosen, count = nms(boxes, scores, 0.3, max_output=size)
        assert count.item() == min(size, len(keep))
        assert chosen[: count.item()].tolist() == keep[:size].tolist()
        assert chosen[count.item() :].tolist() == [-1] * (size - count.item())


def test_nms_takes_the_rows_that_mmcv_takes(device):
    boxes, scores = random_boxes(200)
    dets = torch.cat((boxes, scores[:, None]), dim=1)
    keep = nms(boxes, scores, 0.3)
    for rows, indices in (nms(device.put(dets), 0.3), nms(dets=device.put(dets), iou_thr=0.3)):
        assert torch.equal(indices.cpu(), keep)
        assert torch.equal(rows.cpu(), dets[keep])
    rows, indices = nms(dets.numpy(), 0.3, None)
    assert isinstance(rows, np.ndarray)
    np.testing.assert_array_equal(indices, keep.numpy())
    np.testing.assert_array_equal(rows, dets[keep].numpy())


def test_batched_nms_takes_the_configuration_that_mmcv_takes(device):
    boxes, scores = random_boxes(200)
    groups = torch.arange(200) % 3
    given = [device.put(tensor) for tensor in (boxes, scores, groups)]
    keep = batched_nms(*given, 0.3)
    rows, indices = batched_nms(*given, {"type": "nms", "iou_threshold": 0.3, "max_num": 20})
    assert torch.equal(indices, keep[:20])
    assert torch.equal(rows.cpu(), torch.cat((boxes, scores[:, None]), dim=1)[indices.cpu()])
    _, agnostic = batched_nms(*given, {"iou_thr": 0.3}, class_agnostic=True)
    assert torch.equal(agnostic, nms(*given[:2], 0.3))
    _, scored = batched_nms(*given, dict(iou_threshold=0.3, score_threshold=0.5))
    assert torch.equal(scored, keep[given[1][keep] > 0.5])


def test_batched_nms_suppresses_softly_within_groups(device):
    boxes, scores = random_boxes(120)
    groups = torch.arange(120) % 3
    given = [device.put(tensor) for tensor in (boxes, scores, groups)]
    config = {"type": "soft_nms", "iou_thr": 0.3, "method": "gaussian", "min_score": 0.2}
    rows, indices = batched_nms(*given, config)
    alone = []
    for group in range(3):
        own = (groups == group).nonzero().flatten()
        left, chosen = orbbec.soft_nms(boxes[own], scores[own], 0.3, method="gaussian", min_score=0.2)
        alone += [
            (-score, index) for score, index in zip(left[:, 4].tolist(), own[chosen].tolist(), strict=True)
        ]
    expected = sorted(alone)
    assert indices.tolist() == [index for _, index in expected]
    assert rows[:, 4].tolist() == [-score for score, _ in expected]
    assert torch.equal(rows[:, :4].cpu(), boxes[indices.cpu()])


@pytest.mark.parametrize("count", [1, 40, 700])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("groups", [1, 5, 300])
def test_soft_batches_on_the_accelerator_equal_the_cpu(accelerator, count, dtype, groups):
    boxes, scores = random_boxes(count, seed=count, dtype=dtype)
    scores[::7] = scores[0]  # ties
    of_boxes = torch.randint(0, groups, (count,), generator=torch.Generator().manual_seed(count))
    config = {"type": "soft_nms", "iou_thr": 0.2, "score_threshold": 0.1, "max_num": 600}
    expected = batched_nms(boxes, scores, of_boxes, config)
    given = [accelerator.put(values) for values in (boxes, scores, of_boxes)]
    with accelerator.active():
        actual = batched_nms(*given, config)
    for a, b in zip(actual, expected, strict=True):
        assert torch.equal(a.cpu(), b)


def test_batched_nms_gives_a_fixed_size_and_a_count(device):
    boxes, scores = random_boxes(150)
    given = [device.put(values) for values in (boxes, scores, torch.arange(150) % 4)]
    for config in (0.3, {"iou_thr": 0.3, "score_threshold": 0.2}, {"iou_thr": 0.3, "type": "soft_nms"}):
        *expected_rows, expected = (
            batched_nms(*given, config) if config != 0.3 else [batched_nms(*given, 0.3)]
        )
        for size in (0, 1, len(expected), len(expected) + 5):
            *rows, chosen, count = batched_nms(*given, config, max_output=size)
            padding = max(size - len(expected), 0)
            assert count.item() == size - padding
            assert chosen.tolist() == expected[:size].tolist() + [-1] * padding
            for actual, whole in zip(rows, expected_rows, strict=True):
                assert torch.equal(actual[: size - padding], whole[:size])
                assert torch.equal(actual[size - padding :], torch.zeros_like(actual[size - padding :]))


@pytest.mark.parametrize("config", [0.3, {"iou_thr": 0.3}, {"iou_thr": 0.3, "type": "soft_nms"}])
def test_batched_nms_pads_no_boxes(device, config):
    given = device.put(torch.zeros(0, 4)), device.put(torch.zeros(0)), device.put(torch.zeros(0).long())
    *_, chosen, count = batched_nms(*given, config, max_output=3)
    assert chosen.tolist() == [-1] * 3
    assert count.item() == 0


@pytest.mark.parametrize("offset", [0, 1])
@pytest.mark.parametrize("threshold", [-0.1, 0.0, 1e-7, 0.3, 0.999, 1.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_nms_of_extreme_boxes_on_the_accelerator_equals_the_cpu(accelerator, offset, threshold, dtype):
    boxes, scores = random_boxes(200, seed=3, dtype=dtype)
    boxes[20:40] *= 1e-20
    boxes[40:60] = boxes[40:60] * 1e-22 + 1
    boxes[60:80] *= 1e17
    boxes[80:100, 2:] = boxes[80:100, :2]
    boxes[100:110] = boxes[100:110].flip(1)
    boxes[110:140] = boxes[:30] + 1e-4
    boxes[140:145, 1], boxes[145:150, 2], boxes[150:155, 0] = NAN, INF, -INF
    with accelerator.active():
        actual = nms(accelerator.put(boxes), accelerator.put(scores), threshold, offset=offset)
    assert actual.tolist() == nms(boxes, scores, threshold, offset=offset).tolist()


def test_nms_of_more_boxes_than_a_slab_equals_the_cpu(accelerator):
    if accelerator.name != "cuda":
        pytest.skip("takes minutes without a GPU")
    boxes, scores = random_boxes(70_000)
    with accelerator.active():
        actual = nms(accelerator.put(boxes), accelerator.put(scores), 0.3)
    assert torch.equal(actual.cpu(), nms(boxes, scores, 0.3))


def test_nms_gives_arrays_for_arrays():
    boxes, scores = random_boxes(50)
    keep = nms(boxes.numpy(), scores.numpy(), 0.3)
    assert isinstance(keep, np.ndarray)
    np.testing.assert_array_equal(keep, nms(boxes, scores, 0.3).numpy())


def test_the_package_gives_functions():
    assert orbbec.nms is nms
    assert orbbec.batched_nms is batched_nms
