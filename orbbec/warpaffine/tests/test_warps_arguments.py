"""Every invalid argument is refused by name before anything is written; nothing crashes."""

import re

import numpy as np
import pytest
import torch

import orbbec
from orbbec import ImageBatch
from tests.support import assert_same_bytes, photograph, photographs
from tests.support.warps import WARPS, random_warps, raw_arguments, warp

pytestmark = pytest.mark.sanitized
SOURCE, TARGET = (8, 9), (5, 6)
SHAPES = {"warp_affine": "[2, 2, 3]", "warp_perspective": "[2, 3, 3]"}
NAMES = "nearest, linear, cubic, area, lanczos4"
MATRIX_WARPS = ("warp_affine", "warp_perspective")


def refused(op, message, error=ValueError, **changes):
    """Check that the call with these changes raises `error` with the message `op: message`."""
    call = {
        "images": photographs(2, 3, *SOURCE),
        "map": random_warps(op, SOURCE, TARGET, 2),
        "size": TARGET,
    }
    with pytest.raises(error, match=f"^{op}: {re.escape(message)}"):
        warp(op, **{**call, **changes})


@pytest.mark.parametrize("op", WARPS)
@pytest.mark.parametrize("dtype", [torch.int8, torch.int32, torch.int64, torch.bool, torch.complex64])
def test_images_of_another_dtype(op, dtype):
    known = "uint8, uint16, float16, bfloat16, float32 or float64"
    images = torch.zeros(2, 3, *SOURCE, dtype=dtype)
    refused(op, f"expected images of {known}, but got {str(dtype)[6:]}", TypeError, images=images)


@pytest.mark.parametrize("op", WARPS)
def test_images_of_another_kind(op):
    wanted = "expected images as a tensor, an array or an ImageBatch, but got "
    refused(op, wanted + "list", TypeError, images=[[1, 2], [3, 4]])
    refused(op, wanted + "NoneType", TypeError, images=None)
    refused(op, "expected images of another dtype than", TypeError, images=np.full((4, 4), "a"))
    refused(op, "expected images of uint8", TypeError, images=np.zeros((4, 4), np.int64))


@pytest.mark.parametrize("op", WARPS)
def test_images_of_another_rank(op):
    for shape in ((), (9,), (8, 9), (1, 2, 3, 8, 9)):
        message = f"expected images of shape [N, C, H, W] or [C, H, W], but got {list(shape)}"
        refused(op, message, images=torch.zeros(shape))
    for shape in ((), (9,), (1, 2, 8, 9, 3)):
        message = f"expected images of shape [H, W], [H, W, C] or [N, H, W, C], but got {list(shape)}"
        refused(op, message, images=np.zeros(shape))


@pytest.mark.parametrize("op", WARPS)
def test_names_that_are_unknown_or_none(op):
    refused(op, f"expected interpolation to be one of {NAMES}, but got 'quintic'", interpolation="quintic")
    borders = "constant, replicate, reflect, reflect101, wrap, transparent"
    refused(op, f"expected border to be one of {borders}, but got ''", border="")
    refused(op, "expected arithmetic to be one of cv2_5, cv2_4, but got 'cv2'", arithmetic="cv2")
    for argument in ("interpolation", "border"):
        refused(op, f"expected {argument} as a name, but got None", TypeError, **{argument: None})
    refused(op, "expected arithmetic as a name, but got 1", TypeError, arithmetic=1)


@pytest.mark.parametrize("op", WARPS)
def test_fills_that_do_not_fit_the_channels(op):
    refused(op, "expected fill of 1 or 3 numbers, but got 2", fill=(1, 2))
    refused(op, "expected fill of 1 or 3 numbers, but got 4", fill=[1, 2, 3, 4])
    refused(op, "expected fill as a number or one per channel, but got []", fill=[])
    for fill in (None, "gray", [[1, 2], [3, 4]]):
        refused(op, f"expected fill as a number or one per channel, but got {fill!r}", TypeError, fill=fill)


@pytest.mark.parametrize("op", MATRIX_WARPS)
@pytest.mark.parametrize("size", [(0, 6), (5, 0), (-1, 6), (5, -(2**40)), (2**31, 6), (5, 2**62)])
def test_sizes_that_no_image_has(op, size):
    expected = "expected size as (height, width), each from 1 to 2147483647, but got "
    refused(op, f"{expected}[{size[0]}, {size[1]}]", size=size)


@pytest.mark.parametrize("op", MATRIX_WARPS)
def test_sizes_that_are_none(op):
    for size in (None, 5, (5,), (5, 6, 3), (5.0, 6), (5, np.float64(6))):
        refused(op, f"expected size as (height, width), but got {size!r}", TypeError, size=size)


@pytest.mark.parametrize("op", MATRIX_WARPS)
def test_an_output_whose_bytes_cannot_be_counted(op):
    size = (2**31 - 1, 2**31 - 1)
    refused(op, f"an output of 2 images of size {list(size)} is too large", size=size)


@pytest.mark.parametrize("op", MATRIX_WARPS)
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
def test_an_output_that_no_memory_holds(op, dtype):
    images, matrix = photographs(1, 1, *SOURCE, dtype), random_warps(op, SOURCE, TARGET)
    before = images.clone()
    with pytest.raises(RuntimeError, match=r"(?i)memory|alloc"):
        warp(op, images, matrix, (2**31 - 1, 2**20))
    assert_same_bytes(images, before)


@pytest.mark.parametrize("op", MATRIX_WARPS)
def test_matrices_of_another_shape(op):
    rows, expected = (2, SHAPES[op]) if op == "warp_affine" else (3, SHAPES[op])
    for shape in (
        (4, rows, 3),
        (1, rows, 3),
        (rows, 4),
        (5 - rows, 3),
        (2, 5 - rows, 3),
        (3,),
        (),
        (1, 2, rows, 3),
    ):
        message = f"expected matrix of shape {expected}, but got {list(shape)}"
        refused(op, message, map=torch.zeros(shape))


@pytest.mark.parametrize("op", MATRIX_WARPS)
def test_matrices_of_another_kind(op):
    rows = 2 if op == "warp_affine" else 3
    for dtype in (torch.float16, torch.int64, torch.uint8):
        message = f"expected matrix of float32 or float64, but got {str(dtype).removeprefix('torch.')}"
        refused(op, message, TypeError, map=torch.zeros(rows, 3, dtype=dtype))
    message = "expected matrix as a tensor or an array, but got list"
    refused(op, message, TypeError, map=[[1, 0, 0], [0, 1, 0], [0, 0, 1]][:rows])


def remap_refused(message, x, y, error=ValueError):
    with pytest.raises(error, match=f"^remap: {re.escape(message)}"):
        orbbec.remap(photographs(2, 3, *SOURCE), x, y)


def test_tables_that_do_not_fit():
    good = torch.zeros(5, 6)
    shape = "expected map_x and map_y of one shape [N, height, width] or [height, width], but got "
    remap_refused(shape + "[5, 7] and [5, 6]", torch.zeros(5, 7), good)
    for wrong in ([6], [1, 1, 5, 6]):
        remap_refused(f"{shape}{wrong} and {wrong}", torch.zeros(wrong), torch.zeros(wrong))
    remap_refused("expected map_y of float64, but got float32", good.double(), good, TypeError)
    remap_refused("expected map_x of float32 or float64, but got int32", good.int(), good.int(), TypeError)
    own = torch.zeros(4, 5, 6)
    remap_refused("expected map_x of shape [2, 5, 6], but got [4, 5, 6]", own, own)
    empty = torch.zeros(0, 6)
    size = "expected size as (height, width), each from 1 to 2147483647, but got [0, 6]"
    remap_refused(size, empty, empty)
    remap_refused("expected map_x as a tensor or an array, but got list", [[1.0]], good, TypeError)


@pytest.mark.parametrize("op", WARPS)
def test_a_transparent_border_without_what_it_shows(op):
    refused(op, "border 'transparent' needs out=, whose pixels it keeps", border="transparent")


@pytest.mark.parametrize("op", WARPS)
def test_an_out_of_another_shape_dtype_or_kind(op):
    for shape in ((2, 3, 5, 7), (1, 3, 5, 6), (2, 1, 5, 6)):
        out = torch.zeros(shape, dtype=torch.uint8)
        refused(op, f"expected out of shape [2, 3, 5, 6], but got {list(shape)}", out=out)
    refused(op, "expected out of the dtype of images", out=torch.zeros(2, 3, 5, 6))
    refused(op, "expected out of uint8", TypeError, out=torch.zeros(2, 3, 5, 6, dtype=torch.int8))
    refused(op, "expected out of shape [N, C, H, W]", out=torch.zeros(5, 6, dtype=torch.uint8))
    wanted = "expected out as a tensor, an array or an ImageBatch, but got list"
    refused(op, wanted, TypeError, out=[0])
    batch = ImageBatch.from_images([photograph(5, 6), photograph(5, 6)])
    refused(op, "expected out as a tensor or an array, but got ImageBatch", TypeError, out=batch)


@pytest.mark.parametrize("op", WARPS)
def test_an_array_as_out_that_cannot_be_written_in_place(op):
    image, maps = photograph(*SOURCE), random_warps(op, SOURCE, TARGET)
    locked = np.zeros((*TARGET, 3), np.uint8)
    locked.flags.writeable = False
    for out in (locked, np.zeros((*TARGET, 3), np.uint8)[::-1]):
        refused(
            op,
            "expected out as a writable array of native byte order without negative strides",
            images=image,
            map=maps,
            out=out,
        )


@pytest.mark.parametrize("op", WARPS)
def test_an_out_that_shares_memory_is_refused_and_left_alone(op):
    memory = photographs(1, 1, 40, 60).flatten()
    before = memory.clone()
    images = memory[:432].view(2, 3, *SOURCE)
    message = "expected out that shares no memory with images"
    for first in (0, 1, 300, 431):
        refused(op, message, images=images, out=memory[first : first + 180].view(2, 3, *TARGET))
    message = "expected out whose elements do not share memory"
    refused(op, message, out=memory[500:].as_strided((2, 3, *TARGET), (0, 30, 6, 1)))
    refused(op, message, out=memory[500:].as_strided((2, 3, *TARGET), (90, 30, 5, 1)))
    refused(op, message, out=memory[500:].as_strided((2, 3, *TARGET), (90, 30, 1, 1)))
    assert_same_bytes(memory, before)
    beside = memory[432 : 432 + 180].view(2, 3, *TARGET)
    expected = warp(op, images, random_warps(op, SOURCE, TARGET, 2), TARGET)
    assert_same_bytes(warp(op, images, random_warps(op, SOURCE, TARGET, 2), TARGET, out=beside), expected)


@pytest.mark.parametrize("op", WARPS)
def test_a_call_that_is_refused_leaves_out_alone(op):
    out = photographs(2, 3, *TARGET)
    before = out.clone()
    refused(op, "expected interpolation", out=out, interpolation="x")
    refused(op, "expected border", out=out, border="x")
    refused(op, "expected fill", out=out, fill=(1, 2))
    refused(op, "expected", out=out, map=random_warps(op, SOURCE, TARGET, 5))
    assert_same_bytes(out, before)


@pytest.mark.parametrize("op", WARPS)
def test_out_where_a_gradient_is_needed(op):
    images = torch.zeros(2, 3, *SOURCE, requires_grad=True)
    message = "out= cannot be used where a gradient is needed; leave it out or use torch.no_grad()"
    refused(op, message, images=images, out=torch.zeros(2, 3, *TARGET))
    with torch.no_grad():
        warped = warp(op, images, random_warps(op, SOURCE, TARGET, 2), TARGET, out=torch.ones(2, 3, *TARGET))
    assert not warped.any()


@pytest.mark.parametrize("op", WARPS)
def test_fixed_point_refuses_sides_that_16_bits_do_not_hold(op):
    message = "fixed-point arithmetic (cv2_4, and lanczos4) expects sides below 32767 pixels"
    wide, high = torch.zeros(2, 1, 1, 32767), torch.zeros(2, 1, 32767, 1)
    for images in (wide, high):
        for options in ({"arithmetic": "cv2_4"}, {"interpolation": "lanczos4"}):
            refused(op, message, images=images, **options)
            just_below = images[..., :32766, :32766]
            warp(op, just_below, random_warps(op, SOURCE, TARGET, 2), TARGET, **options)
        warp(op, images, random_warps(op, SOURCE, TARGET, 2), TARGET)
    for size in ((1, 32767), (32767, 1)):
        refused(op, message, map=random_warps(op, SOURCE, size, 2), size=size, arithmetic="cv2_4")


@pytest.mark.parametrize("op", WARPS)
def test_tensors_on_different_devices(op):
    """The meta device stands for any other device; CUDA is tried too if present."""
    images, maps = photographs(2, 3, *SOURCE), random_warps(op, SOURCE, TARGET, 2)
    others = ["meta", "cuda"] if torch.cuda.is_available() else ["meta"]
    for other in others:
        with pytest.raises((ValueError, RuntimeError), match=r"device|meta"):
            warp(op, images, maps.to(other), TARGET)
        with pytest.raises((ValueError, RuntimeError), match=r"device|meta"):
            warp(op, images, maps, TARGET, out=torch.zeros(2, 3, *TARGET, dtype=torch.uint8, device=other))


def raw_refused(op, message=None, error=(ValueError, RuntimeError, TypeError), **changes):
    """Call torch.ops.orbbec.<op> without the checks of the wrapper."""
    call = {
        "images": photographs(2, 3, *SOURCE),
        "map": random_warps(op, SOURCE, TARGET, 2),
        "size": TARGET,
    }
    arguments = raw_arguments(op, **{**call, **changes})
    with pytest.raises(error, match=None if message is None else re.escape(message)):
        getattr(torch.ops.orbbec, op)(*arguments)


@pytest.mark.parametrize("op", WARPS)
def test_the_operator_itself_refuses_what_the_wrapper_would(op):
    raw_refused(
        op, "expected images of uint8", ValueError, images=torch.zeros(2, 3, *SOURCE, dtype=torch.int32)
    )
    raw_refused(
        op, "expected images of uint8", ValueError, images=torch.zeros(2, 3, *SOURCE, dtype=torch.complex64)
    )
    for shape in ((), (3,), (8, 9), (3, 8, 9), (1, 1, 3, 8, 9)):
        message = f"expected images of shape [N, C, H, W], but got {list(shape)}"
        raw_refused(op, message, ValueError, images=torch.zeros(shape))
    for size in ((), (5,), (5, 6, 7)):
        raw_refused(op, "expected size as (height, width)", ValueError, size=size)
    raw_refused(op, "expected fill of 1 or 3 numbers, but got 0", ValueError, fill=())
    raw_refused(op, "expected fill of 1 or 3 numbers, but got 2", ValueError, fill=(0.0, 1.0))
    raw_refused(op, "needs out=", ValueError, border="transparent")
    raw_refused(op, "but got 'LINEAR'", ValueError, interpolation="LINEAR")
    raw_refused(op, "but got 'linear", ValueError, interpolation="linear\x00")
    for shape in ((), (3,), (2, 2), (7, 2, 3), (1, 2, 3, 3), (2, 3, 4, 5)):
        raw_refused(op, "of shape", ValueError, map=torch.zeros(shape))
    raw_refused(op, "float32 or float64", map=random_warps(op, SOURCE, TARGET, 2).int())


@pytest.mark.parametrize("op", WARPS)
def test_the_operator_itself_refuses_tables_of_images_that_are_none(op):
    buffer, layout = torch.zeros(500, dtype=torch.uint8), torch.zeros(2, 3, dtype=torch.int64)
    good = {"images": buffer, "layout": layout, "channels": 3}
    flat = "expected a flat contiguous uint8 buffer of variable-size images"
    raw_refused(op, flat, ValueError, **{**good, "images": torch.zeros(500)})
    raw_refused(op, flat, ValueError, **{**good, "images": buffer.view(5, 100)})
    raw_refused(op, flat, ValueError, **{**good, "images": buffer[::2]})
    table = "expected layout as contiguous int64 [N, 3]"
    raw_refused(op, table, ValueError, **{**good, "layout": layout.int()})
    raw_refused(op, table, ValueError, **{**good, "layout": layout[:, :2]})
    raw_refused(op, table, ValueError, **{**good, "layout": layout.view(-1)})
    raw_refused(op, table, ValueError, **{**good, "layout": layout.view(1, 2, 3)})
    raw_refused(op, table, ValueError, **{**good, "layout": torch.zeros(3, 2, dtype=torch.int64).t()})
    for channels in (0, -1, -(2**63), 65537, 2**31, 2**63 - 1):
        raw_refused(
            op,
            f"expected from 1 to 65536 channels, but got {channels}",
            ValueError,
            **{**good, "channels": channels},
        )
    raw_refused(op, **{**good, "layout": layout.to("meta")})


@pytest.mark.parametrize("op", WARPS)
def test_the_operator_itself_takes_no_tensor_without_memory(op):
    sparse = torch.zeros(2, 3, *SOURCE).to_sparse()
    raw_refused(op, images=sparse)
    raw_refused(op, map=random_warps(op, SOURCE, TARGET, 2).to_sparse())


@pytest.mark.parametrize("op", WARPS)
def test_an_operator_that_writes_itself_refuses_what_the_wrapper_would(op):
    images, maps = photographs(2, 3, *SOURCE), random_warps(op, SOURCE, TARGET, 2)
    arguments = raw_arguments(op, images, maps, TARGET)
    into = getattr(torch.ops.orbbec, f"{op}_out")
    for out in (
        torch.zeros(()),
        torch.zeros(2, 3, 5, 6),
        torch.zeros(1, 3, 5, 6, dtype=torch.uint8),
        torch.zeros(1, dtype=torch.uint8).expand(2, 3, 5, 6),
        torch.zeros(2, 3, 5, 6, dtype=torch.uint8, device="meta"),
        images[:, :, :5, :6],
    ):
        with pytest.raises((ValueError, RuntimeError)):
            into(*arguments, out)
