import numpy as np
import pytest
import torch

import orbbec
from orbbec.nms.soft import matrix_nms
from orbbec.nms.soft.tests import oracle
from orbbec.nms.soft.tests.test_soft_nms import ODD, SIZES, random_detections
from tests.support import assert_same_bytes

METHODS = ("linear", "gaussian")
nan = float("nan")


def labeled(count, dtype=torch.float32, seed=0, classes=3):
    draw = np.random.default_rng(seed + 100)
    return *random_detections(count, dtype, seed), torch.tensor(draw.integers(0, classes, count))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("count", [1, 2, 33, 400])
@pytest.mark.parametrize("classes", [1, 3])
def test_matrix_nms_matches_the_oracle(device, method, count, classes):
    boxes, scores, labels = labeled(count, torch.float64, classes=classes)
    rows, indices = matrix_nms(*map(device.put, (boxes, scores, labels)), method=method, sigma=1.5)
    expected, lowered = oracle.matrix_nms(boxes.numpy(), scores.numpy(), labels.numpy(), method, 1.5)
    assert indices.tolist() == expected.tolist()
    # 2.3e-16 seen, relative: a quotient of exponentials there, the exponential of a difference here.
    torch.testing.assert_close(rows[:, 4].cpu(), torch.tensor(lowered), rtol=1e-15, atol=0)
    # 1.2e-6 seen
    rows, _ = matrix_nms(*map(device.put, (boxes.float(), scores.float(), labels)), method=method, sigma=1.5)
    torch.testing.assert_close(rows[:, 4].cpu().double(), torch.tensor(lowered), rtol=2e-5, atol=1e-7)


def test_matrix_nms_by_hand(device):
    boxes = device.put(torch.tensor([[0.0, 0, 10, 10], [0, 0, 10, 5], [0, 0, 10, 4], [0, 0, 10, 4]]))
    scores = device.put(torch.tensor([0.9, 0.8, 0.7, 0.6]))
    rows, indices = matrix_nms(boxes, scores, method="linear")
    # The third: 0.4 with the first, which suffers nothing, 0.8 with the second, which suffers 0.5:
    # min(0.6, 0.2 / 0.5). The fourth equals the third, which suffers 0.8: min(0.6, 0.4, 0 / 0.2).
    assert indices.tolist() == [0, 1, 2, 3]
    torch.testing.assert_close(rows[:, 4].cpu(), torch.tensor([0.9, 0.4, 0.28, 0.0]), rtol=1e-6, atol=0)
    rows, indices = matrix_nms(boxes, scores, device.put(torch.tensor([0, 1, 0, 2])), method="linear")
    assert indices.tolist() == [0, 1, 3, 2]
    torch.testing.assert_close(rows[:, 4].cpu(), torch.tensor([0.9, 0.8, 0.6, 0.42]), rtol=1e-6, atol=0)
    assert matrix_nms(boxes, scores, method="linear", score_threshold=0.3)[1].tolist() == [0, 1]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("count", SIZES)
def test_every_device_gives_the_bits_of_the_cpu(accelerator, method, dtype, count):
    boxes, scores, labels = labeled(min(count, 400), dtype)
    boxes[::7] = boxes[0].clone()
    for groups in (None, labels):
        expected = matrix_nms(boxes, scores, groups, method=method)
        with accelerator.active():
            put = None if groups is None else accelerator.put(groups)
            actual = matrix_nms(accelerator.put(boxes), accelerator.put(scores), put, method=method)
        for a, b in zip(actual, expected, strict=True):
            assert_same_bytes(a, b)


@pytest.mark.sanitized
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("count", [1, 15, 16, 17, 33, 400])
def test_vectors_change_nothing(monkeypatch, method, count):
    boxes, scores, labels = labeled(count)
    odd = torch.cat((boxes, torch.tensor(ODD)))
    inputs = (boxes, scores, None), (boxes, scores, labels + 2**33), (odd, torch.rand(len(odd)), None)
    for corners, ranks, groups in inputs:
        results = []
        for level in ("scalar", "avx2", "avx512"):
            monkeypatch.setenv("ORBBEC_SIMD", level)
            results.append(matrix_nms(corners, ranks, labels=groups, method=method))
        for rows, indices in results[1:]:
            assert_same_bytes(rows, results[0][0])
            assert_same_bytes(indices, results[0][1])


@pytest.mark.parametrize("method", METHODS)
def test_labels_keep_boxes_apart(device, method):
    boxes, scores, labels = map(device.put, labeled(200))
    rows, indices = matrix_nms(boxes, scores, labels, method=method)
    for label in range(3):
        of_label = torch.where(labels == label)[0]
        alone, alone_indices = matrix_nms(boxes[of_label], scores[of_label], method=method)
        chosen = labels[indices] == label
        assert_same_bytes(rows[chosen], alone)
        assert_same_bytes(indices[chosen], of_label[alone_indices])


@pytest.mark.parametrize("method", METHODS)
def test_odd_boxes_keep_their_scores(device, method):
    boxes = device.put(torch.tensor(ODD))
    scores = device.put(torch.tensor([0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3]))
    rows, indices = matrix_nms(boxes, scores, method=method)
    assert indices.tolist() == list(range(7))
    assert_same_bytes(rows[:, 4], scores)


def test_sizes_and_types(device):
    none = matrix_nms(device.put(torch.zeros(0, 4)), device.put(torch.zeros(0)))
    assert (none[0].shape, none[1].shape) == ((0, 5), (0,))
    boxes, scores, labels = labeled(50)
    array_rows, array_indices = matrix_nms(boxes.numpy(), scores.numpy(), labels.numpy().astype(np.int32))
    rows, indices = orbbec.matrix_nms(*map(device.put, (boxes, scores, labels)))
    np.testing.assert_array_equal(array_rows, rows.cpu().numpy())
    np.testing.assert_array_equal(array_indices, indices.cpu().numpy())
    half = matrix_nms(device.put(boxes).half(), device.put(scores).half())
    full = matrix_nms(device.put(boxes).half().float(), device.put(scores).half().float())
    assert_same_bytes(half[0], full[0].half())
    # Every score equal, every box equal: all but the first fall to zero, in their order.
    rows, indices = matrix_nms(device.put(boxes[:1].repeat(4, 1)), device.put(torch.ones(4)), method="linear")
    assert (rows[:, 4].tolist(), indices.tolist()) == ([1, 0, 0, 0], [0, 1, 2, 3])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"boxes": torch.zeros(3, 5)}, r"matrix_nms: expected boxes of shape \[N, 4\], but got \[3, 5\]"),
        ({"scores": torch.zeros(2)}, r"expected scores of shape \[3\], but got \[2\]"),
        ({"labels": torch.zeros(2)}, r"expected labels of shape \[3\], but got \[2\]"),
        ({"method": "naive"}, "expected method as linear or gaussian, but got naive"),
        ({"method": None}, "expected method as a name, but got None"),
        ({"sigma": -1}, "expected sigma above 0, but got -1"),
    ],
)
def test_a_bad_argument_is_named(changes, message):
    good = {"boxes": torch.zeros(3, 4), "scores": torch.zeros(3)}
    with pytest.raises((TypeError, ValueError), match=message):
        matrix_nms(**{**good, **changes})


def test_the_operator_checks_for_itself(device):
    boxes, labels = device.put(torch.zeros(3, 4)), device.put(torch.zeros(3, dtype=torch.int64))
    for arguments in (
        (boxes[0], None, "linear", 1.0),
        (boxes.int(), None, "linear", 1.0),
        (boxes, labels[:2], "linear", 1.0),
        (boxes, labels.int(), "linear", 1.0),
        (boxes, None, "", 1.0),
        (boxes, None, "linear", nan),
    ):
        with pytest.raises(ValueError, match="matrix_nms: expected"):
            torch.ops.orbbec.matrix_nms_decays(*arguments)


def test_matrix_nms_passes_opcheck_and_compiles(device):
    boxes, scores, labels = map(device.put, labeled(20))
    torch.library.opcheck(torch.ops.orbbec.matrix_nms_decays.default, (boxes, labels, "gaussian", 2.0))
    torch.library.opcheck(torch.ops.orbbec.matrix_nms_decays.default, (boxes, None, "linear", 2.0))
    compiled = torch.compile(lambda *a: matrix_nms(*a)[0] + 1, fullgraph=True, backend="aot_eager")
    assert_same_bytes(compiled(boxes, scores, labels), matrix_nms(boxes, scores, labels)[0] + 1)


@pytest.mark.cuda
def test_a_cuda_graph_replays_matrix_nms():
    arguments = tuple(t.cuda() for t in labeled(300))
    matrix_nms(*arguments)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = matrix_nms(*arguments)
    for old, new in zip(arguments, labeled(300, seed=1), strict=True):
        old.copy_(new)
    graph.replay()
    for a, b in zip(captured, matrix_nms(*arguments), strict=True):
        assert_same_bytes(a, b)
