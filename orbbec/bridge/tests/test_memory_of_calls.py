"""Calls of operators leave no memory behind."""

import ctypes

import pytest
import torch

from orbbec.color import cvt_color
from orbbec.filters import gaussian_blur
from orbbec.nms import nms
from orbbec.resize import resize
from orbbec.warpaffine import warp_affine

CALLS = 3000


class _Allocations(ctypes.Structure):
    """`struct mallinfo2` of glibc."""

    names = ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks")
    _fields_ = [(name, ctypes.c_size_t) for name in (*names, "fordblks", "keepcost")]


def bytes_in_use() -> int:
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "mallinfo2"):
        pytest.skip("glibc 2.33 counts the bytes in use")
    libc.mallinfo2.restype = _Allocations
    return int(libc.mallinfo2().uordblks)


IMAGES = torch.zeros(1, 3, 9, 9, dtype=torch.uint8)


@pytest.mark.parametrize(
    "call",
    [
        lambda: resize(IMAGES, (4, 4)),
        lambda: warp_affine(IMAGES, torch.eye(2, 3), (4, 4)),
        lambda: gaussian_blur(IMAGES, 3, 1.0),
        lambda: cvt_color(IMAGES, "RGB", "HSV"),
        lambda: nms(torch.eye(4) * 9, torch.arange(4.0), 0.5),
    ],
    ids=["resize", "warp_affine", "gaussian_blur", "cvt_color", "nms"],
)
def test_a_call_leaves_no_memory_behind(call):
    for _ in range(CALLS // 10):
        call()
    before = bytes_in_use()
    for _ in range(CALLS):
        call()
    assert bytes_in_use() - before < 8 * CALLS  # bytes; a text that is not freed has 48
