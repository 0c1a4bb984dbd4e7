"""torchvision's detection operators replaced by orbbec's. Needs torchvision."""

import importlib

import pytest
import torch

torchvision = pytest.importorskip("torchvision")
if hasattr(torch.ops.orbbec, "set_emulation"):
    pytest.skip("torchvision has no kernels for the emulated device", allow_module_level=True)

import orbbec.backends.torchvision as ot
from orbbec.backends.torchvision.ops import OURS
from orbbec.backends.torchvision.patches import is_stand_in
from orbbec.nms import batched_nms
from tests.support.boxes import random_boxes
from tests.support.peers import switches

CELLS = [cell for cell in switches.cells() if cell.api == "ops"]


def held():
    """The operators where torchvision's code looks them up."""
    ops = torchvision.ops
    heads = importlib.import_module("torchvision.models.detection.roi_heads")
    pool = importlib.import_module("torchvision.ops.roi_pool")
    align = importlib.import_module("torchvision.ops.roi_align")
    return [
        *(getattr(ops, name) for name in OURS),
        *(ops.boxes.nms, ops.boxes.batched_nms, heads.roi_align, pool.roi_pool, align.roi_align),
    ]


def test_all_that_hold_an_operator_get_ours_and_their_own_back():
    before = held()
    with ot.use_ops() as outer:
        ot.use_ops().undo()  # nested calls change nothing
        assert all(map(is_stand_in, held()))
    outer.undo()
    assert all(one is other for one, other in zip(before, held(), strict=True))


def test_a_module_that_is_loaded_meanwhile_gets_torchvisions_back(monkeypatch):
    original = torchvision.ops.nms
    with ot.use_ops():
        module = type(torchvision)("torchvision.late")
        module.nms = torchvision.ops.nms
        monkeypatch.setitem(importlib.sys.modules, "torchvision.late", module)
    assert module.nms is original


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.op)
def test_an_operator_gives_what_torchvision_gives(cell):
    tally = cell.compare(cases=20)
    assert (tally.cases, tally.different_values) == (20, 0)


def test_a_detector_finds_the_same():
    torch.manual_seed(0)
    build = torchvision.models.detection.fasterrcnn_mobilenet_v3_large_320_fpn
    model = build(
        weights=None, weights_backbone=None, num_classes=3, min_size=96, max_size=96, box_score_thresh=0.0
    ).eval()
    image = [torch.rand(3, 96, 96)]
    with torch.no_grad():
        (expected,) = model(image)
        with ot.use_ops():
            (actual,) = model(image)
    assert len(actual["boxes"]) > 0
    assert all(torch.equal(actual[key], expected[key]) for key in expected)


def test_a_detector_can_still_be_scripted():
    with ot.use_ops():
        scripted = torch.jit.script(torchvision.ops.MultiScaleRoIAlign(["0"], 3, 2))
    features = {"0": torch.rand(1, 2, 16, 16)}
    assert scripted(features, [torch.tensor([[1.0, 1, 30, 30]])], [(32, 32)]).shape == (1, 2, 3, 3)


def nms_at_half(boxes, scores):
    return torchvision.ops.nms(boxes, scores, 0.5)


def test_what_orbbec_refuses_is_torchvisions():
    boxes, scores = random_boxes(20, seed=0)
    quantized = [torch.quantize_per_tensor(each, 0.1, 0, torch.quint8) for each in (boxes, scores)]
    expected = nms_at_half(*quantized)
    with ot.use_ops():
        assert torch.equal(nms_at_half(*quantized), expected)
        with pytest.raises(RuntimeError, match="boxes should have 4 elements in dimension 1, got 3"):
            nms_at_half(boxes[:, :3], scores)


def test_graphs_hold_torchvisions_operators():
    boxes, scores = random_boxes(20, seed=0)
    module = torch.nn.Module()
    module.forward = nms_at_half
    expected = nms_at_half(boxes, scores)
    with ot.use_ops():
        traced = torch.jit.trace(nms_at_half, (boxes, scores))
        exported = torch.export.export(module, (boxes, scores))
        compiled = torch.compile(nms_at_half, backend="aot_eager", fullgraph=True)(boxes, scores)
    assert all("torchvision.nms" in str(each.graph).replace("::", ".") for each in (traced, exported))
    assert torch.equal(compiled, expected)


@pytest.mark.parametrize("seed", range(3))
def test_batched_nms_of_many_boxes_differs_at_most_in_the_order_of_equal_scores(seed):
    """For many boxes, torchvision processes class by class, and sorts the kept boxes unstably."""
    boxes, scores = random_boxes(20_000, seed=seed)
    classes = torch.randint(0, 80, (len(boxes),), generator=torch.Generator().manual_seed(1))
    expected = torchvision.ops.batched_nms(boxes, scores, classes, 0.5)
    actual = batched_nms(boxes, scores, classes, 0.5)
    assert torch.equal(scores[actual], scores[expected])
    assert torch.equal(actual.sort()[0], expected.sort()[0])


def test_batched_nms_of_few_boxes_decides_without_the_offset_that_rounds():
    """Two boxes of class 79 overlap by 0.5001; torchvision adds 79 * 1011 to coordinates of float32."""
    boxes = torch.tensor([[0.3, 0, 10.3, 10], [0.3, 0, 10.3, 5.001], [1000, 1000, 1010, 1010]])
    scores, classes = torch.tensor([0.9, 0.8, 0.7]), torch.tensor([79, 79, 0])
    assert torchvision.ops.nms(boxes[:2], scores[:2], 0.5).tolist() == [0]
    assert batched_nms(boxes, scores, classes, 0.5).tolist() == [0, 2]
    assert torchvision.ops.batched_nms(boxes, scores, classes, 0.5).tolist() == [0, 1, 2]
