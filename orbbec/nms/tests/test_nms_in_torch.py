"""nms inside torch, and invalid arguments."""

import pytest
import torch

from orbbec.nms import batched_nms, matrix_nms, nms, nms_match, nms_rotated
from tests.support.boxes import random_boxes


def test_opcheck_finds_nothing(device):
    boxes, groups = device.put(random_boxes(40)[0]), device.put(torch.arange(40) // 10)
    for given in (None, groups):
        torch.library.opcheck(torch.ops.orbbec.nms_keepers.default, (boxes, given, 0.5, 0.0))


def test_nms_of_fixed_size_compiles_as_one_graph(device):
    def detect(boxes, scores):
        return nms(boxes * 2, scores, 0.4, max_output=20)

    given = [device.put(values) for values in random_boxes(60)]
    compiled = torch.compile(detect, fullgraph=True, backend="aot_eager")
    for actual, expected in zip(compiled(*given), detect(*given), strict=True):
        assert torch.equal(actual, expected)


def test_nms_compiles_as_one_graph_where_sizes_may_depend_on_data(device):
    def detect(boxes, scores, groups):
        return batched_nms(boxes, scores, groups, 0.4) + 1

    given = [*map(device.put, random_boxes(60)), device.put(torch.arange(60) % 3)]
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        compiled = torch.compile(detect, fullgraph=True, backend="aot_eager")
        assert torch.equal(compiled(*given), detect(*given))


@pytest.mark.cuda
def test_a_cuda_graph_holds_nms():
    boxes, scores = (values.cuda() for values in random_boxes(3000))
    nms(boxes, scores, 0.4, max_output=100)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        chosen, count = nms(boxes, scores, 0.4, max_output=100)
    other_boxes, other_scores = (values.cuda() for values in random_boxes(3000, seed=1))
    boxes.copy_(other_boxes)
    scores.copy_(other_scores)
    graph.replay()
    expected = nms(other_boxes, other_scores, 0.4)[:100]
    assert torch.equal(chosen, expected)
    assert count.item() == 100


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda b, s, g: nms(b[:, :3], s, 0.5), r"nms: expected boxes of shape \[N, 4\], but got \[6, 3\]"),
        (lambda b, s, g: nms(b, s[:5], 0.5), r"nms: expected scores of shape \[6\], but got \[5\]"),
        (lambda b, s, g: nms(b.long(), s, 0.5), "nms: expected boxes of float16, .*, but got int64"),
        (
            lambda b, s, g: nms(b.tolist(), s, 0.5),
            "nms: expected boxes as a tensor or an array, but got list",
        ),
        (lambda b, s, g: nms(b, 0.5), r"nms: expected dets of shape \[N, 5\], but got \[6, 4\]"),
        (lambda b, s, g: nms(b, s, 0.5, max_output=-1), "nms: expected max_output of at least 0, but got -1"),
        (lambda b, s, g: nms(b, s, 0.5, max_output=2.5), "expected max_output as a whole number, but got 2"),
        (lambda b, s, g: nms_match(b, 0.5), r"nms_match: expected dets of shape \[N, 5\], but got \[6, 4\]"),
        (lambda b, s, g: batched_nms(b, s, g[:2], 0.5), r"expected idxs of shape \[6\], but got \[2\]"),
        (
            lambda b, s, g: batched_nms(b, s, g + 0.5, 0.5),
            "idxs of whole numbers, but got 0.5 at index 0",
        ),
        (
            lambda b, s, g: batched_nms(b, s, g * torch.nan, 0.5),
            "expected idxs of whole numbers, but got nan",
        ),
        (
            lambda b, s, g: batched_nms(b, s, g / 0, 0.5),
            "idxs of whole numbers, but got nan at index 0",
        ),
        (lambda b, s, g: batched_nms(b, s, (g - 5) * 2.0**61, 0.5), "whole numbers, but got -1.1529.*e\\+19"),
        (lambda b, s, g: batched_nms(b, s, g * 1j, 0.5), "batched_nms: expected idxs of real numbers"),
        (lambda b, s, g: batched_nms(b, s * 1j, g, 0.5), "batched_nms: expected scores of real numbers"),
        (lambda b, s, g: batched_nms(b, s, g, {"iou": 0.5}), "expected nms_cfg of type, .*, but got iou"),
        (
            lambda b, s, g: batched_nms(b, s, g, {"type": "x"}),
            "expected a type of nms, soft_nms, but got 'x'",
        ),
        (lambda b, s, g: batched_nms(b, s, g, {"offset": 1}), "expected nms_cfg with iou_threshold"),
    ],
)
def test_nms_names_the_bad_argument(device, call, message):
    boxes, scores = random_boxes(6)
    with pytest.raises((TypeError, ValueError), match=message):
        call(device.put(boxes), device.put(scores), device.put(torch.arange(6)))


@pytest.mark.parametrize(
    ("boxes", "groups", "message"),
    [
        (torch.zeros(3, 5), None, r"nms: expected boxes of shape \[N, 4\], but got \[3, 5\]"),
        (torch.zeros(4), None, r"nms: expected boxes of shape \[N, 4\], but got \[4\]"),
        (torch.zeros(3, 4).half(), None, "nms: expected boxes of float32 or float64"),
        (torch.zeros(3, 4), torch.zeros(2).long(), r"nms: expected groups of shape \[3\], but got \[2\]"),
        (torch.zeros(3, 4), torch.zeros(3), "nms: expected groups of int64"),
        (torch.zeros(3, 4), torch.tensor([1, 0, 0]), "nms: expected groups in ascending order"),
    ],
)
def test_the_operator_names_the_bad_argument(boxes, groups, message):
    with pytest.raises(ValueError, match=message):
        torch.ops.orbbec.nms_keepers(boxes, groups, 0.5, 0.0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.bool])
def test_groups_may_be_whole_numbers_of_any_dtype(device, dtype):
    """Datasets often keep class ids in a column of a table of floats."""
    boxes, scores = map(device.put, random_boxes(40))
    groups = device.put(torch.arange(40) % 2)
    for config in (0.5, {"type": "soft_nms", "iou_threshold": 0.5}):
        expected, actual = (batched_nms(boxes, scores, idxs, config) for idxs in (groups, groups.to(dtype)))
        assert all(map(torch.equal, *([x] if isinstance(x, torch.Tensor) else x for x in (actual, expected))))
    rotated = torch.cat((boxes, scores[:, None]), 1)
    assert torch.equal(
        nms_rotated(rotated, scores, 0.5, idxs=groups.to(dtype)),
        nms_rotated(rotated, scores, 0.5, idxs=groups),
    )
    assert torch.equal(matrix_nms(boxes, scores, groups.to(dtype))[1], matrix_nms(boxes, scores, groups)[1])


def test_labels_between_whole_numbers_are_refused():
    boxes, scores = random_boxes(3)
    with pytest.raises(ValueError, match=r"matrix_nms: expected labels of whole numbers, but got 0\.5 at"):
        matrix_nms(boxes, scores, torch.tensor([0.0, 0.5, 1.0]))


@pytest.mark.parametrize("options", [{"sigma": -1.0}, {"min_score": float("nan")}, {"method": "x"}])
@pytest.mark.parametrize("agnostic", [False, True])
def test_an_error_of_soft_suppression_in_groups_names_batched_nms(options, agnostic):
    boxes, scores = random_boxes(3)
    config = {"type": "soft_nms", "iou_threshold": 0.5, **options}
    with pytest.raises(ValueError, match=r"^batched_nms: expected "):
        batched_nms(boxes, scores, torch.arange(3), config, agnostic)


def test_a_ranking_that_memory_does_not_hold_names_nms():
    boxes, scores = torch.zeros(1, 4).expand(2**46, 4), torch.zeros(1).expand(2**46)
    for name, call in {"nms": nms, "batched_nms": lambda b, s, t: batched_nms(b, s, None, t)}.items():
        with pytest.raises(RuntimeError, match=f"^{name}: not enough memory for a tensor of shape"):
            call(boxes, scores, 0.5)
