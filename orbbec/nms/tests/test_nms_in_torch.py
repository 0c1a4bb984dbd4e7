"""nms inside torch, and what it refuses."""

import os

import pytest
import torch

hypothesis = pytest.importorskip("hypothesis")
from hypothesis import strategies as st

from orbbec.nms import batched_nms, nms, nms_match
from orbbec.testing.boxes import random_boxes

EXAMPLES = int(os.environ.get("ORBBEC_FUZZ_EXAMPLES", "200"))
REFUSALS = (ValueError, RuntimeError, TypeError)
NUMBERS = (0.0, 1.0, -1.0, 0.5, 3.0, 10.0, 1e-30, 1e30, float("inf"), float("nan"))


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


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA; ORBBEC_REQUIRE_CUDA=1 insists on it")
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
        (lambda b, s, g: nms_match(b, 0.5), r"nms_match: expected dets of shape \[N, 5\], but got \[6, 4\]"),
        (lambda b, s, g: batched_nms(b, s, g[:2], 0.5), r"expected idxs of shape \[6\], but got \[2\]"),
        (lambda b, s, g: batched_nms(b, s, s, 0.5), "batched_nms: expected idxs of integers"),
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


@hypothesis.settings(max_examples=EXAMPLES, deadline=None)
@hypothesis.given(data=st.data())
def test_the_operator_takes_or_refuses_anything(data):
    shape = data.draw(st.sampled_from([(0, 4), (1, 4), (7, 4), (70, 4), (4,), (3, 5), (2, 4, 4)]))
    dtype = data.draw(st.sampled_from([torch.float32, torch.float64, torch.float16, torch.int64, torch.bool]))
    boxes = torch.tensor(data.draw(st.sampled_from(NUMBERS))).to(dtype).expand(shape)
    groups = data.draw(
        st.sampled_from(
            [None, torch.zeros(shape[0]).long(), torch.arange(7), torch.zeros(7), torch.tensor(1)]
        )
    )
    threshold, offset = data.draw(st.sampled_from(NUMBERS)), data.draw(st.sampled_from(NUMBERS))
    try:
        keepers = torch.ops.orbbec.nms_keepers(boxes, groups, threshold, offset)
    except REFUSALS:
        return
    places = torch.arange(len(boxes))
    assert (keepers <= places).all()
    assert (keepers[keepers] == keepers).all()


@hypothesis.settings(max_examples=EXAMPLES // 2, deadline=None)
@hypothesis.given(
    count=st.integers(1, 80), seed=st.integers(0, 1000), scale=st.sampled_from([0.25, 2.0, 1024.0])
)
def test_nms_does_not_mind_order_scale_or_duplicates(count, seed, scale):
    boxes, scores = random_boxes(count, seed)
    keep = nms(boxes, scores, 0.3)
    shuffled = torch.randperm(count, generator=torch.Generator().manual_seed(seed))
    assert torch.equal(shuffled[nms(boxes[shuffled], scores[shuffled], 0.3)], keep)
    assert torch.equal(nms(boxes * scale, scores, 0.3), keep)  # by a power of two: no rounding
    assert torch.equal(nms(boxes.repeat(2, 1), scores.repeat(2), 0.3), keep)
