"""Calls that once crashed the process, ran endlessly, or failed without naming the operator.

Each runs in a child process, so that a crash is a failing test.
"""

import subprocess
import sys

import pytest
import torch
from torch import nan

from tests.fuzz.call import Call, TensorSpec
from tests.fuzz.children import Limits, Runner
from tests.fuzz.run import ROOT

FLOAT, DOUBLE, LONG, BYTE = torch.float32, torch.float64, torch.int64, torch.uint8


def t(*shape, dtype=FLOAT, values=(0,), **options):
    return TensorSpec(shape, dtype, values, **options)


def normalize(dtype, mean=(0.0,), channels=3):
    images = t(2, channels, 3, 5)
    return "normalize", (images, None, 0, list(mean), [1.0], 1.0, dtype, [], True)


IMAGES = t(1, 3, 4, 4)


def augment(dtype, images=IMAGES, layout=None, colors=None, maximum=1.0, planes=(None, None)):
    matrix = t(3, 3, values=(1, 0, 0, 0, 1, 0, 0, 0, 1))
    sampling = (matrix, [4, 4], "linear", "constant", [0.0], None)
    values = (colors, None, None, [], [], 1.0, maximum, False)
    return "augment", (images, layout, 0 if layout is None else 3, *sampling, *values, *planes, dtype, False)


CHANNELLESS = t(17, 0, 3, 16)
REFUSED = {
    "an empty list for no channels": (
        ("normalize", (CHANNELLESS, None, 3, [], [nan], 1.0, FLOAT, [3, 16], True)),
        "normalize: expected mean of 1 number, but got 0",
    ),
    "an empty fill of a mosaic": (
        (
            "mosaic",
            (t(2, 0, 3, 3), None, 0, t(1, 4, dtype=LONG), t(1, 2, dtype=LONG), [3, 3], [], None),
        ),
        "mosaic: expected fill of 1 number, but got 0",
    ),
    "an empty fill of a warp's gradient": (
        (
            "remap_backward",
            (
                t(0, 0, 1, 1),
                t(0, 0, 0, 0),
                t(0, 1, 1),
                t(0, 1, 1),
                t(0, dtype=DOUBLE),
                "nearest",
                "replicate",
                [],
                "cv2_5",
            ),
        ),
        "remap: expected fill of 1 number, but got 0",
    ),
    **{
        f"dtype {number} of normalize": (
            normalize(number),
            "normalize: expected dtype of float16, bfloat16, float32 or float64, "
            f"but got torch's dtype number {number}",
        )
        for number in (-1, 12, 44, 64, 127, 224, 2**31, 2**63 - 1)
    },
    **{
        f"dtype {number} of augment": (
            augment(number),
            "augment: expected dtype of uint8, float16, bfloat16 or float32, "
            f"but got torch's dtype number {number}",
        )
        for number in (-1, 7, 64, 177, 224)
    },
    "a huge kernel of gaussian_blur_backward": (
        ("gaussian_blur_backward", (t(1, 1, 3, 3), [2**31 + 1, 3], t(1, 2, dtype=DOUBLE), "reflect")),
        "gaussian_blur: expected kernel_size of odd numbers from 1 to 32767, but got 2147483649",
    ),
    "one huge kernel side of gaussian_blur_backward": (
        ("gaussian_blur_backward", (t(1, 1, 3, 3), [2**31], t(1, 2, dtype=DOUBLE), "reflect")),
        "gaussian_blur: expected kernel_size as (height, width)",
    ),
    "2^30 channels of images without pixels": (
        (
            "gaussian_blur",
            (t(1, dtype=BYTE), t(2, 3, dtype=LONG), 2**30, [9, 3], t(2, 2, dtype=DOUBLE), "replicate"),
        ),
        "gaussian_blur: expected from 1 to 65536 channels, but got 1073741824",
    ),
    "a gradient of box_blur of rank 0": (
        ("box_blur_backward", (t(), [3, 3], "wrap")),
        "box_blur: expected gradient of shape [N, C, H, W], but got []",
    ),
    "a gradient of filter2d of rank 1": (
        ("filter2d_backward", (t(3), t(1, 3, 3), "wrap")),
        "filter2d: expected gradient of shape [N, C, H, W], but got [3]",
    ),
    "a kernel of filter2d_backward of rank 1": (
        ("filter2d_backward", (t(1, 1, 3, 3), t(3), "wrap")),
        "filter2d: expected kernel of shape [h, w] or [1, h, w], but got [3]",
    ),
    "a kernel of filter2d_backward of uint16": (
        ("filter2d_backward", (t(1, 1, 3, 3), t(1, 3, 3, dtype=torch.uint16), "wrap")),
        "filter2d: expected kernel of float32 or float64",
    ),
    "a gradient of filter2d of whole numbers": (
        ("filter2d_backward", (t(1, 1, 3, 3, dtype=LONG), t(1, 3, 3), "wrap")),
        "filter2d: expected gradient of a floating type, but got int64",
    ),
    **{
        f"a gradient of box_blur of shape {list(shape)}": (
            ("box_blur_backward", (t(*shape, dtype=DOUBLE), [1, 3], "wrap")),
            f"box_blur: a gradient of shape {list(shape)} is too large",
        )
        for shape in ((0, 2**23, 2**40, 0), (2**40, 5, 2**16, 3))
    },
    **{
        f"a maximum of {maximum}": (
            augment(FLOAT, t(1, 3, 2, 2), colors=t(1, 16), maximum=maximum),
            "augment: expected max_value above 0, and at most 65535, but got ",
        )
        for maximum in (-1e300, 0.0, nan, 1e300)
    },
    "a number for the layout of planes": (
        augment(FLOAT, t(0, dtype=BYTE), t(0, 3, dtype=LONG), planes=(t(dtype=LONG), t(dtype=LONG))),
        "augment: expected stored of shape [0, 3], but got []",
    ),
    "contrast without a mean": (
        ("adjust_color", (t(0, 0, 0, 0), None, 0, "adjust_contrast", 0.5, None, 0.0, None)),
        "adjust_contrast: expected the mean of each image",
    ),
    "more values than memory holds": (
        ("argsort", (t(2**62, strides=(0,)), False)),
        "argsort: not enough memory for a tensor of shape [4611686018427387904]",
    ),
    "meta images of rank 1": (
        ("mixup", (t(3, device="meta"), None, 0, t(3, dtype=LONG, device="meta"), t(3, device="meta"))),
        "mixup: expected images of 4 dimensions, but got shape [3]",
    ),
    "meta regions of rank 1": (
        ("roi_align", (t(1, 3, 8, 8, device="meta"), t(5, device="meta"), [2, 2], 1.0, 0, True)),
        "roi_align: expected rois of 2 dimensions, but got shape [5]",
    ),
}


def outcome_of(op, arguments):
    return Runner(Limits(cpu_seconds=20)).outcome(Call(op, tuple(arguments)))


@pytest.mark.sanitized
@pytest.mark.parametrize("name", REFUSED)
def test_a_call_is_refused_by_name(name):
    (op, arguments), message = REFUSED[name]
    outcome = outcome_of(op, arguments)
    assert outcome.kind in ("refusal", "memory"), outcome
    assert message in outcome.detail


@pytest.mark.parametrize("where", [-1, 1, 7, 2**31 - 1])
def test_a_bin_whose_largest_value_lies_outside_has_no_second_gradient(where):
    gradient = torch.ones(1, 1, 1, 1, requires_grad=True)
    argmax, rois = torch.full((1, 1, 1, 1), where, dtype=torch.int32), torch.zeros(1, 5)
    of_input = torch.ops.orbbec.roi_pool_backward(gradient, argmax, rois, [1, 1, 1, 1], False, 1.0)
    (second,) = torch.autograd.grad(of_input, gradient, torch.ones_like(of_input))
    assert second.tolist() == [[[[0.0]]]]


def test_parts_that_an_order_does_not_name_have_no_gradient():
    base, parts = torch.ones(2, 1, 1, 1), torch.ones(2, 1, 1, 1, requires_grad=True)
    order, starts = torch.tensor([0, -1]), torch.tensor([0, 1, 2])
    sums = torch.ops.orbbec.add_to_pairs(base, parts, order, starts)
    assert torch.autograd.grad(sums.sum(), parts)[0].flatten().tolist() == [1.0, 0.0]


@pytest.mark.sanitized
@pytest.mark.parametrize("gradient", [1e30, -1e30, float("inf"), float("nan")])
def test_a_gradient_that_no_sum_holds_is_left_out(gradient):
    """The conversion to an integer was out of range, where processors differ."""
    sums, _ = torch.ops.orbbec.warp_affine_backward(
        torch.full((1, 1, 1, 1), gradient),
        torch.zeros(1, 1, 1, 1),
        torch.eye(3, dtype=torch.float64)[:2],
        torch.ones(1, dtype=torch.float64),
        *("linear", "replicate", [0.0], False, "cv2_5"),
    )
    assert sums.tolist() == [[[[0.0]]]]


def test_a_wide_blur_is_differentiated_in_seconds():
    """Both margins at once, of 4097 by 4097 pixels, took minutes."""
    wide = t(1, 1, 3, 3), [4095, 4095], t(1, 2, dtype=DOUBLE, values=(9.0,)), "reflect101"
    assert outcome_of("gaussian_blur_backward", wide).kind == "result"


@pytest.mark.sanitized
@pytest.mark.parametrize("row", [(0, 11, 0), (0, 2, 2), (0, 9, 9), (-1, 3, 3), (0, 2**40, 2**40), (5, 1, 1)])
@pytest.mark.parametrize("numel", [0, 1, 12])
def test_normalize_does_not_read_past_images_of_another_size(row, numel):
    """An image whose table row contradicts the size of the call is black."""
    images, layout = torch.full((numel,), 255, dtype=BYTE), torch.tensor([row])
    done = torch.ops.orbbec.normalize(images, layout, 3, [0.0], [1.0], 1.0, FLOAT, [33, 15], False)
    assert torch.equal(done, torch.zeros(1, 3, 33, 15))


def test_memory_that_a_thread_lacks_is_a_named_error():
    """The exception reached torch, which reported a line of its source instead.

    Runs in a separate process, because OpenMP's threads do not survive a fork.
    """
    code = """if True:
        import orbbec
        from tests.fuzz.test_calls import BYTE, LONG, Call, Limits, Runner, t
        wide = t(306, dtype=BYTE), t(2, 3, dtype=LONG, values=(0, 2, 6, 12, 14, 21)), 1, None, [7, 1 << 20]
        call = Call("resize", (*wide, "bilinear", True, "pillow_12", [24, 24], None))
        print(Runner(Limits(cpu_seconds=20, memory=90 << 20), threads=2).outcome(call).kind)
    """
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert done.stdout == "memory\n", done


def test_a_fake_kernel_makes_no_memory():
    ids = t(65, dtype=LONG)
    assert outcome_of("philox_draws", (ids, 4, "normal", 1, 0, 0, 0, 32741)).kind == "result"


@pytest.mark.sanitized
@pytest.mark.parametrize("pair", [("RGB", "LAB"), ("LAB", "RGB")])
@pytest.mark.parametrize("value", [2**31 - 1, -(2**31), 99999])
def test_tables_of_lab_that_hold_anything(pair, value):
    pixels = t(1, 3, 5, 7, dtype=BYTE, values=(0, 7, 255, 128))
    tables = t(7936, dtype=torch.int32, values=(3, value, 56))
    assert outcome_of("cvt_color", (pixels, None, 0, *pair, tables)).kind == "result"


@pytest.mark.sanitized
@pytest.mark.parametrize("source", ["RGB", "BGR"])
def test_cvt_color_does_not_read_past_an_image_that_ends_early(source):
    """One byte is enough for a gray pixel, but not for a color pixel."""
    images, layout = torch.full((1,), 255, dtype=BYTE), torch.tensor([(0, 1, 1)])
    assert torch.ops.orbbec.cvt_color(images, layout, 3, source, "GRAY", None).tolist() == [0]


def _meta(*shape, dtype=torch.float32):
    return torch.empty(shape, dtype=dtype, device="meta")


NONE, IDS = torch.empty(0, 0, 0, 0), torch.empty(0, 4, dtype=LONG)
SAMPLING, VALUES, OUTPUT = ([0, 0], "c", "c", [], None), ([], [], 0.0, 0.0, False), (torch.float32, False)
FAKE = {  # a tensor without memory selects the fake kernel, whose result then goes to backward
    "augment": (NONE, None, 0, torch.zeros(()), *SAMPLING, None, None, _meta(), *VALUES, None, None, *OUTPUT),
    "adjust_color": (NONE[:, :1], None, 0, "adjust_hue", 0.0, _meta(), 0.0, torch.zeros(())),
    "copy_paste_soft": (NONE, _meta(dtype=LONG), torch.zeros(())),
    "mosaic": (torch.empty(0), IDS[:, :3], 0, IDS, _meta(dtype=LONG), [1, 1], [], None),
}


@pytest.mark.parametrize("op", FAKE)
def test_fake_kernels_name_what_a_gradient_would_trip_over(op):
    with pytest.raises((ValueError, RuntimeError), match=f"{op}: expected "):
        getattr(torch.ops.orbbec, op)(*FAKE[op])
