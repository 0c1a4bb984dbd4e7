from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import torch

import orbbec
from orbbec.nms.boxes import (
    box_area,
    box_convert,
    box_iou,
    clip_boxes_to_image,
    complete_box_iou,
    distance_box_iou,
    generalized_box_iou,
    masks_to_boxes,
    remove_small_boxes,
)
from orbbec.nms.boxes.angles import square_root
from tests.support import assert_same_bytes

MEASURES = {
    "box_iou": box_iou,
    "generalized_box_iou": generalized_box_iou,
    "distance_box_iou": distance_box_iou,
    "complete_box_iou": complete_box_iou,
}
FORMATS = ("xyxy", "xywh", "cxcywh", "cxcywha", "xywha", "xyxyxyxy")
DTYPES = ["float32", "float64"]
inf, nan = float("inf"), float("nan")
# No area, reversed along one side and along both, NaN, infinite, overflowing, ordinary.
ODD = torch.tensor(
    [
        [2.0, 2, 2, 5],
        [3, 0, 1, 4],
        [3, 4, 1, 0],
        [0, nan, 4, 4],
        [-inf, 0, inf, 4],
        [inf, 0, inf, 4],
        [-1e30, -1e30, 1e30, 1e30],
        [0, 0, 4, 4],
        [0, 0, 0, 0],
    ]
)


@pytest.fixture(scope="module")
def recorded():
    """Results of torchvision, written by record_torchvision.py."""
    with np.load(Path(__file__).with_name("torchvision.npz")) as file:
        return {name: torch.from_numpy(file[name]) for name in file.files if name != "version"}


def same_values(actual, expected):
    """Equality, in which NaN equals NaN and 0 equals -0."""
    assert actual.dtype == expected.dtype
    torch.testing.assert_close(actual.cpu(), expected, rtol=0, atol=0, equal_nan=True)


def random_boxes(count, dtype=torch.float32, seed=0):
    draw = np.random.default_rng(seed)
    corner = draw.uniform(-50, 100, (count, 2))
    return torch.tensor(np.concatenate([corner, corner + draw.uniform(-3, 57, (count, 2))], 1)).to(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("gradient", [False, True])
def test_measures_match_torchvision(device, recorded, measure, dtype, gradient):
    first, second = (device.put(recorded[f"{name}_{dtype}"]).clone() for name in ("first", "second"))
    actual = MEASURES[measure](first.requires_grad_(gradient), second).detach()
    if measure == "complete_box_iou":  # the arctangent is torch's, of another version and device
        # 2.0e-7 and 3.4e-16 seen between torch 2.10 and 2.13
        bound = 1e-6 if dtype == "float32" else 2e-15
        expected = recorded[f"{measure}_{dtype}"]
        torch.testing.assert_close(actual.cpu(), expected, rtol=0, atol=bound, equal_nan=True)
    else:
        same_values(actual, recorded[f"{measure}_{dtype}"])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("fmt", ["xywh", "cxcywh"])
def test_box_iou_of_other_formats_matches_torchvision(device, recorded, fmt, dtype):
    first, second = (device.put(recorded[f"{name}_{dtype}"]) for name in ("first", "second"))
    same_values(box_iou(first, second, fmt), recorded[f"box_iou_{fmt}_{dtype}"])


@pytest.mark.parametrize("dtype", DTYPES)
def test_areas_and_limits_match_torchvision(device, recorded, dtype):
    boxes = device.put(recorded[f"first_{dtype}"])
    for fmt in ("xyxy", "xywh", "cxcywh"):
        same_values(box_area(boxes, fmt), recorded[f"box_area_{fmt}_{dtype}"])
    same_values(clip_boxes_to_image(boxes, (70, 90)), recorded[f"clipped_{dtype}"])
    same_values(remove_small_boxes(boxes, 20), recorded[f"large_{dtype}"])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("source", FORMATS[:3])
@pytest.mark.parametrize("target", FORMATS[:3])
def test_box_convert_of_upright_boxes_matches_torchvision(device, recorded, source, target, dtype):
    boxes = device.put(recorded[f"first_{dtype}"])
    same_values(box_convert(boxes, source, target), recorded[f"{source}_to_{target}_{dtype}"])


@pytest.mark.parametrize("dtype", DTYPES)
def test_box_convert_of_rotated_boxes_matches_torchvision(device, recorded, dtype):
    # Another torch and device have other sines: 1.6e-5 and 5.7e-14 seen, for numbers up to 300.
    bound = 1e-4 if dtype == "float32" else 2e-13
    rotated = device.put(recorded[f"rotated_{dtype}"])
    corners = recorded[f"cxcywha_to_xyxyxyxy_{dtype}"]
    actual = box_convert(rotated, "cxcywhr", "xyxyxyxy").cpu()
    torch.testing.assert_close(actual, corners, rtol=0, atol=bound)
    expected = recorded[f"xyxyxyxy_to_cxcywha_{dtype}"]
    actual = box_convert(device.put(corners), "xyxyxyxy", "cxcywha").cpu()
    torch.testing.assert_close(actual, expected, rtol=0, atol=bound)


def test_masks_to_boxes_matches_torchvision(device, recorded):
    masks = device.put(recorded["masks"])
    for dtype in (torch.bool, torch.uint8, torch.float32, torch.int64):
        same_values(masks_to_boxes(masks.to(dtype)), recorded["masks_to_boxes"])


def test_masks_to_boxes_of_nothing(device):
    masks = device.put(torch.zeros(2, 5, 6))
    masks[1, 4, 0] = float("nan")
    assert masks_to_boxes(masks).tolist() == [[0, 0, 0, 0], [0, 4, 0, 4]]
    assert masks_to_boxes(masks[:0]).shape == (0, 4)
    assert masks_to_boxes(masks[:, :0]).tolist() == [[0] * 4] * 2


def test_box_iou_by_hand(device):
    first = device.put(torch.tensor([[0.0, 0, 2, 2], [5, 5, 6, 6]]))
    second = device.put(torch.tensor([[1.0, 1, 3, 2], [0, 0, 2, 2], [2, 0, 4, 2]]))
    same_values(box_iou(first, second), torch.tensor([[0.2, 1, 0], [0, 0, 0]]))
    expected = torch.tensor([[1 / 5 - 1 / 6, 1, 0]])
    torch.testing.assert_close(generalized_box_iou(first[:1], second).cpu(), expected, rtol=0, atol=6e-8)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("measure", [box_iou, generalized_box_iou, distance_box_iou])
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (7, 33), (65, 300)])
def test_every_device_gives_the_bits_of_the_cpu(accelerator, measure, dtype, rows, columns):
    first, second = random_boxes(rows, dtype), random_boxes(columns, dtype, 1)
    expected = measure(first, second)
    with accelerator.active():
        assert_same_bytes(measure(accelerator.put(first), accelerator.put(second)), expected)


@pytest.mark.parametrize("measure", [box_iou, generalized_box_iou, distance_box_iou])
def test_odd_boxes_have_torch_s_numbers(device, measure):
    boxes = device.put(ODD)
    composed = measure(boxes.clone().requires_grad_(), boxes).detach().cpu()
    same_values(measure(boxes, boxes), composed)
    iou = box_iou(boxes, boxes).cpu()
    assert iou[8, 8].isnan()  # 0 / 0
    assert iou[3].isnan().all()  # a NaN
    assert (iou[0, 7], iou[2, 7], iou[4, 7], iou[7, 7]) == (0, 0, 0, 1)
    assert not (iou[6] > 0).any()  # overflows


@pytest.mark.parametrize("measure", MEASURES.values())
def test_measures_of_batches(device, measure):
    first, second = device.put(random_boxes(12)).view(3, 4, 4), device.put(random_boxes(5, seed=1))
    actual = measure(first, second)
    assert actual.shape == (3, 4, 5)
    for n in range(3):
        assert_same_bytes(actual[n], measure(first[n], second))
    assert measure(first[:0], second).shape == (0, 4, 5)
    assert measure(first[0], second[:0]).shape == (4, 0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.int32, torch.int64, torch.uint8])
def test_other_dtypes_are_computed_in_float32(device, dtype):
    first, second = (device.put(random_boxes(9, seed=seed).abs().to(dtype)) for seed in (0, 1))
    for measure in MEASURES.values():
        actual = measure(first, second)
        assert actual.dtype == torch.float32
        torch.testing.assert_close(actual, measure(first.float(), second.float()), equal_nan=True)
    assert box_area(first).dtype == (torch.float32 if first.is_floating_point() else torch.int64)


@pytest.mark.parametrize("measure", MEASURES.values())
def test_measures_pass_gradcheck(measure):
    first = random_boxes(4, torch.float64) + torch.tensor([0.0, 0, 9, 9])
    second = random_boxes(3, torch.float64, 1) + torch.tensor([0.0, 0, 9, 9])
    first[:, :2] -= 40
    given_boxes = (first.requires_grad_(), second.requires_grad_())
    if (
        measure is complete_box_iou
    ):  # a part is treated as constant, which finite differences do not reproduce
        measure(*given_boxes).sum().backward()
        assert first.grad is not None
        assert first.grad.abs().sum() > 0
    else:
        assert torch.autograd.gradcheck(measure, given_boxes)
        assert torch.autograd.gradgradcheck(lambda *b: measure(*b)[:1, :1], given_boxes)


def test_box_convert_passes_gradcheck():
    upright = random_boxes(3, torch.float64)
    rotated = torch.cat((upright.abs() + 1, torch.tensor([[10.0], [100.0], [-50.0]])), 1)
    for source, boxes in (("xywh", upright), ("cxcywha", rotated)):
        for target in FORMATS:
            convert = lambda b, s=source, t=target: box_convert(b, s, t)  # noqa: E731
            assert torch.autograd.gradcheck(convert, boxes.clone().requires_grad_())


@pytest.mark.parametrize("dtype", DTYPES)
def test_square_roots_are_rounded_correctly(device, dtype):
    squares = np.random.default_rng(0).uniform(0, 1e6, 20_000).astype(dtype)
    roots = square_root(device.put(torch.from_numpy(squares)))
    assert_same_bytes(roots.cpu(), torch.from_numpy(np.sqrt(squares)))
    assert square_root(torch.tensor([0.0, inf, -1.0, nan])).tolist()[:2] == [0, inf]


def test_square_root_passes_opcheck(device):
    squares = device.put(torch.tensor([4.0, 2.0])).requires_grad_()
    with device.active():
        torch.library.opcheck(torch.ops.orbbec.square_root, (squares,))


def test_box_convert_by_hand(device):
    box = device.put(torch.tensor([[10.0, 20, 4, 2, 90]], dtype=torch.float64))
    corners = [[9, 22, 9, 18, 11, 18, 11, 22]]  # counter-clockwise: the left end moves down
    torch.testing.assert_close(box_convert(box, "cxcywha", "xyxyxyxy").cpu(), torch.tensor(corners).double())
    hull = box_convert(box, "cxcywha", "xyxy").cpu()
    torch.testing.assert_close(hull, torch.tensor([[9.0, 18, 11, 22]]).double())
    upright = device.put(torch.tensor([[1.0, 2, 5, 4]]))
    assert box_convert(upright, "xyxy", "cxcywha").tolist() == [[3, 3, 4, 2, 0]]
    corner = device.put(torch.tensor([[9.0, 22, 4, 2, 90]], dtype=torch.float64))
    torch.testing.assert_close(box_convert(box, "cxcywha", "xywha"), corner)
    torch.testing.assert_close(box_convert(corner, "xywhr", "cxcywhr"), box)
    assert box_convert(upright, "xyxy", "xyxyxyxy").tolist() == [[1, 2, 5, 2, 5, 4, 1, 4]]


def test_arrays_give_arrays():
    boxes = random_boxes(5).numpy()
    for result in (
        box_iou(boxes, boxes),
        complete_box_iou(boxes, boxes),
        box_area(boxes),
        clip_boxes_to_image(boxes, (20, 20)),
        remove_small_boxes(boxes, 3),
        box_convert(boxes, "xyxy", "cxcywha"),
        masks_to_boxes(np.eye(4)[None]),
    ):
        assert isinstance(result, np.ndarray)
    np.testing.assert_array_equal(box_iou(boxes, boxes), box_iou(*[torch.tensor(boxes)] * 2).numpy())


def test_clip_boxes_to_image_of_odd_numbers(device):
    boxes = device.put(torch.tensor([[nan, -inf, inf, 5.0]]))
    same_values(clip_boxes_to_image(boxes, (4, 7)), torch.tensor([[nan, 0.0, 7.0, 4.0]]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda b: box_iou(b, b[:, :3]), r"box_iou: expected boxes2 of shape \[..., 4\], but got \[3, 3\]"),
        (lambda b: box_iou(b[0], b), r"expected boxes1 of shape \[..., N, 4\], but got \[4\]"),
        (
            lambda b: box_iou(b, b, "xyxyxyxy"),
            "fmt as one of xyxy, xywh, cxcywh, but got 'xyxyxyxy'",
        ),
        (lambda b: box_iou([1], b), "expected boxes1 as a tensor or an array, but got list"),
        (lambda b: box_iou(b, b.bool()), "expected boxes2 of real numbers, but got bool"),
        (lambda b: box_area(b, "area"), "box_area: expected fmt as one of"),
        (lambda b: box_convert(b, "xyxy", 3), "box_convert: expected out_fmt as one of"),
        (
            lambda b: box_convert(b, "cxcywha", "xyxy"),
            r"expected boxes of shape \[..., 5\], but got \[3, 4\]",
        ),
        (lambda b: box_convert(b.int(), "xyxy", "cxcywha"), "expected boxes of floats for a rotated format"),
        (lambda b: clip_boxes_to_image(b, 3), r"expected size as \(height, width\), but got 3"),
        (lambda b: masks_to_boxes(b), r"expected masks of shape \[N, H, W\], but got \[3, 4\]"),
    ],
)
def test_a_bad_argument_is_named(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call(torch.zeros(3, 4))


@pytest.mark.parametrize(
    ("first", "second", "measure", "message"),
    [
        (torch.zeros(3, 4), torch.zeros(1, 3, 4), "iou", r"boxes1 of shape \[B, N, 4\], but got \[3, 4\]"),
        (torch.zeros(1, 3, 4), torch.zeros(1, 3, 5), "iou", r"boxes2 of shape \[B, N, 4\]"),
        (torch.zeros(1, 3, 4), torch.zeros(2, 3, 4), "iou", "of one batch"),
        (torch.zeros(1, 3, 4), torch.zeros(1, 3, 4).double(), "iou", "of one dtype"),
        (torch.zeros(1, 3, 4).int(), torch.zeros(1, 3, 4), "iou", "of float32 or float64"),
        (torch.zeros(1, 3, 4), torch.zeros(1, 3, 4), "area", "expected measure as iou"),
        (torch.zeros(1, 1, 4).expand(1, 2**31, 4), torch.zeros(1, 3, 4), "iou", "at most 2147483647 boxes"),
    ],
)
def test_the_operator_checks_for_itself(device, first, second, measure, message):
    with pytest.raises(ValueError, match=message):
        torch.ops.orbbec.box_overlaps(device.put(first), device.put(second), measure, 0.0)


@pytest.mark.parametrize("measure", ["iou", "generalized_iou", "distance_iou"])
def test_box_overlaps_passes_opcheck(device, measure):
    first, second = device.put(random_boxes(6).view(2, 3, 4)), device.put(random_boxes(8).view(2, 4, 4))
    torch.library.opcheck(torch.ops.orbbec.box_overlaps.default, (first, second, measure, 1e-7))


@pytest.mark.parametrize("gradient", [False, True])
def test_boxes_compile_as_one_graph(device, gradient):
    def work(first, second):
        first = box_convert(first, "xyxy", "cxcywh")
        return (
            sum(measure(first, second).nan_to_num() for measure in MEASURES.values())
            + box_area(first)[:, None]
        )

    first = device.put(random_boxes(5)).requires_grad_(gradient)
    second = device.put(random_boxes(4))
    compiled = torch.compile(work, fullgraph=True, backend="aot_eager")
    assert_same_bytes(compiled(first, second).detach(), work(first, second).detach())


def test_the_functions_are_public():
    boxes = import_module("orbbec.nms.boxes")
    for name in boxes.__all__:
        assert getattr(orbbec, name) is getattr(boxes, name)
