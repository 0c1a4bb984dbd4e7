"""Any arguments whatever give a result or an exception.

ORBBEC_FUZZ_EXAMPLES sets the number of calls of each operator. `python tests/emulation/run.py` runs them
under AddressSanitizer.
"""

import math
import os

import pytest
import torch

hypothesis = pytest.importorskip("hypothesis")
from hypothesis import strategies as st

from orbbec.testing.warps import BORDERS, INTERPOLATIONS, WARPS, raw_arguments

EXAMPLES = int(os.environ.get("ORBBEC_FUZZ_EXAMPLES", "200"))
REFUSALS = (ValueError, RuntimeError, TypeError)  # NotImplementedError is a RuntimeError

DTYPES = (
    torch.uint8,
    torch.uint8,
    torch.uint16,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.int64,
    torch.bool,
    torch.complex64,
)
SPECIAL = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    1e-45,
    1e30,
    -1e30,
    3e9,
    2.0**31,
    -(2.0**31),
    float("inf"),
    float("nan"),
)
numbers = st.sampled_from(SPECIAL) | st.floats(-50, 50, width=32)
words = st.text(max_size=12)
LONGS = (-(2**63), -1, 0, 1, 2, 7, 2**31 - 1, 2**31, 2**33, 2**63 - 1)


def mostly(draw, usual, other, share=8):
    """`usual` in all but one of `share` draws."""
    return draw(other if draw(st.integers(1, share)) == share else usual)


@st.composite
def tensors(draw, shape, dtypes, values):
    """A tensor of this shape that lies anyhow in memory: strides of 0, gaps, overlaps, any first element."""
    dtype = mostly(draw, st.sampled_from(dtypes), st.sampled_from(DTYPES))
    strides, step = [], 1
    for side in reversed(shape):
        strides.insert(0, step)
        step *= max(side, 1)
    order = draw(st.permutations(range(len(shape))))
    if draw(st.booleans()) and shape:
        step = 1
        for d in order:
            strides[d] = step
            step *= max(shape[d], 1)
    strides = [mostly(draw, st.just(stride), st.sampled_from((0, 1, 2 * stride))) for stride in strides]
    first = draw(st.integers(0, 3))
    reach = (
        1 + first + sum((side - 1) * stride for side, stride in zip(shape, strides, strict=True) if side > 0)
    )
    drawn = draw(st.lists(values, min_size=1, max_size=12))
    memory = torch.tensor((drawn * (max(reach, 1) // len(drawn) + 1))[: max(reach, 1)], dtype=torch.float64)
    return memory.to(dtype).as_strided(shape, strides, first)


def is_quick(size):
    """Whether an output of this size is small, or no memory holds it; what lies between takes minutes."""
    return not 1e5 < math.prod(size) < 2**50


sides = st.integers(0, 40) | st.sampled_from((1, 15, 16, 17, 31, 33))
pixels = st.integers(0, 255).map(float)


@st.composite
def calls(draw, op):
    """Arguments for `torch.ops.orbbec.<op>`, most of them right, and `out` or None."""
    count = draw(st.integers(0, 3))
    channels = draw(st.integers(0, 6))
    size = draw(st.tuples(st.integers(1, 40), st.integers(1, 40)))
    layout, ragged_channels = None, 0
    if draw(st.booleans()):
        shape = mostly(
            draw,
            st.tuples(st.just(count), st.just(channels), sides, sides),
            st.lists(st.integers(0, 5), max_size=5),
        )
        dtypes = DTYPES[:7]
    else:
        shape = mostly(draw, st.tuples(st.integers(0, 3000)), st.lists(st.integers(0, 5), max_size=3))
        rows = st.tuples(st.integers(0, 3000), st.integers(0, 50), st.integers(0, 50))
        table = draw(
            st.lists(rows | st.tuples(*[st.sampled_from(LONGS)] * 3), min_size=count, max_size=count)
        )
        layout = torch.tensor(table, dtype=torch.int64).view(-1, 3)
        layout = mostly(draw, st.just(layout), st.just(layout.int()) | st.just(layout.view(-1)))
        ragged_channels = mostly(draw, st.just(channels), st.sampled_from(LONGS))
        dtypes = (torch.uint8,)
    images = draw(tensors(tuple(shape), dtypes, pixels))
    usual = {
        "warp_affine": (count, 2, 3),
        "warp_perspective": (count, 3, 3),
        "remap": (count, 2, *size),
    }[op]
    usual = draw(st.sampled_from((usual, usual[1:])))
    map_shape = mostly(draw, st.just(usual), st.lists(st.integers(0, 4), max_size=5).map(tuple))
    fills = st.sampled_from((1, max(channels, 1))).flatmap(
        lambda n: st.lists(numbers, min_size=n, max_size=n)
    )
    arguments = raw_arguments(
        op,
        images,
        draw(tensors(map_shape, (torch.float32, torch.float64), numbers)),
        mostly(draw, st.just(size), st.lists(st.sampled_from(LONGS), max_size=3).filter(is_quick)),
        layout=layout,
        channels=ragged_channels,
        interpolation=mostly(draw, st.sampled_from((*INTERPOLATIONS, "area")), words),
        border=mostly(draw, st.sampled_from(BORDERS), words),
        fill=tuple(mostly(draw, fills, st.lists(numbers, max_size=7))),
        inverse=draw(st.booleans()),
        arithmetic=mostly(draw, st.sampled_from(("cv2_5", "cv2_4")), words),
    )
    out = None
    if draw(st.booleans()):
        out_shape = mostly(draw, st.just((count, channels, *size)), st.lists(st.integers(0, 5), max_size=5))
        out = draw(tensors(tuple(out_shape), (images.dtype,), pixels))
        out = mostly(draw, st.just(out), st.just(images))
    return arguments, out


@pytest.mark.parametrize("op", WARPS)
def test_any_call_gives_a_result_or_a_refusal(device, op):
    outcomes = {"result": 0, "refusal": 0}

    @hypothesis.settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(calls(op))
    def call(drawn):
        arguments, out = drawn
        put = [
            device.put(argument) if isinstance(argument, torch.Tensor) else argument for argument in arguments
        ]
        try:
            if out is None:
                result = getattr(torch.ops.orbbec, op)(*put)
                assert result.shape[2:] == tuple(arguments[4])
                assert result.dtype == arguments[0].dtype
            else:
                getattr(torch.ops.orbbec, f"{op}_out")(*put, device.put(out))
            outcomes["result"] += 1
        except REFUSALS:
            outcomes["refusal"] += 1

    call()
    assert min(outcomes.values()) > EXAMPLES // 20, f"the fuzz is lopsided: {outcomes}"
