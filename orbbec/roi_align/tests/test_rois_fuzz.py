"""Arbitrary regions give the bits of the CPU; ORBBEC_FUZZ_EXAMPLES sets the number of calls."""

import math
import os

import pytest
import torch

hypothesis = pytest.importorskip("hypothesis")
from hypothesis import strategies as st

import orbbec
from tests.support import assert_same_bytes
from tests.support.rois import CASES, run_case

EXAMPLES = int(os.environ.get("ORBBEC_FUZZ_EXAMPLES", "200"))
REFUSALS = (ValueError, RuntimeError, TypeError)
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
NUMBERS = {"roi_align": 5, "roi_align_rotated": 6, "roi_pool": 5}
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-45, 3e9, 2.0**30, -(2.0**31), 1e30, math.inf, -math.inf, math.nan)
LONGS = (-(2**63), -1, 0, 1, 2, 2**31 - 1, 2**31, 2**63 - 1)
numbers = st.sampled_from(SPECIAL) | st.floats(-50, 50, width=32)

SETTINGS = hypothesis.settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(hypothesis.HealthCheck),
)


def mostly(draw, usual, other, draws=8):
    """Draw `usual` in all except one of `draws` draws."""
    return draw(other if draw(st.integers(1, draws)) == draws else usual)


@st.composite
def tensors(draw, shape, values, dtypes=FLOATS):
    """A tensor of this shape with any memory layout: dimensions in any order, strides of 0, gaps."""
    dtype = mostly(draw, st.sampled_from(dtypes), st.sampled_from((torch.uint8, torch.int64, torch.bool)), 16)
    order, strides, step = draw(st.permutations(range(len(shape)))), [0] * len(shape), 1
    for dimension in order:
        strides[dimension] = mostly(draw, st.just(step), st.sampled_from((0, 1, 2 * step)))
        step *= max(shape[dimension], 1) * 2
    reach = 1 + sum((side - 1) * stride for side, stride in zip(shape, strides, strict=True) if side > 0)
    drawn = draw(st.lists(values, min_size=1, max_size=12))
    memory = torch.tensor((drawn * (max(reach, 1) // len(drawn) + 1))[: max(reach, 1)], dtype=torch.float64)
    return memory.to(dtype).as_strided(shape, strides)


@st.composite
def calls(draw, op):
    """Arguments for `torch.ops.orbbec.<op>`, mostly valid."""
    sides = st.integers(0, 9)
    shape = [draw(st.integers(0, 3)), draw(st.sampled_from((0, 1, 3, 16, 65))), draw(sides), draw(sides)]
    shape = mostly(draw, st.just(shape), st.lists(st.integers(0, 4), max_size=5), 16)
    table = [draw(st.integers(0, 6)), NUMBERS[op]]
    rois = draw(tensors(mostly(draw, st.just(table), st.lists(sides, max_size=3), 16), numbers))
    if rois.dim() == 2 and rois.shape[1] > 0 and shape and shape[0] > 0 and draw(st.integers(0, 9)):
        rois = rois.clone()
        rois[:, 0] = torch.arange(len(rois)) % shape[0]
    size = mostly(
        draw,
        st.lists(st.integers(1, 6), min_size=2, max_size=2),
        st.lists(st.sampled_from(LONGS), max_size=3),
        16,
    )
    arguments = [draw(tensors(shape, numbers)), rois, size, mostly(draw, st.just(0.5), numbers)]
    if op != "roi_pool":
        arguments += [
            mostly(draw, st.integers(-1, 3), st.sampled_from((*LONGS, 20, 128))),
            draw(st.booleans()),
        ]
    return arguments


@pytest.mark.parametrize("op", CASES)
def test_any_call_gives_the_bits_of_the_cpu(accelerator, op):
    compared = 0

    @SETTINGS
    @hypothesis.given(calls(op))
    def call(arguments):
        nonlocal compared
        try:
            expected = getattr(torch.ops.orbbec, op)(*arguments)
        except REFUSALS:
            return  # only the CPU refuses a region of a missing image
        with accelerator.active():
            put = [accelerator.put(a) if isinstance(a, torch.Tensor) else a for a in arguments]
            actual = getattr(torch.ops.orbbec, op)(*put)
        for a, b in zip(actual, expected, strict=True) if op == "roi_pool" else [(actual, expected)]:
            assert_same_bytes(a.cpu(), b)
        compared += 1

    call()
    assert compared > EXAMPLES // 4


@pytest.mark.parametrize("op", CASES)
@SETTINGS
@hypothesis.given(seed=st.integers(0, 10000), channels=st.sampled_from((1, 16, 65)))
def test_twice_the_regions_give_twice_the_gradient(op, seed, channels):
    """Duplicates: the sum of a value with itself is exact, except for its position in the order."""
    case = CASES[op](seed % 1000, torch.float64, channels)
    one = run_case(op, case)
    rois, gradient = torch.cat([case.rois] * 2), torch.cat([case.gradient] * 2)
    two = run_case(
        op,
        type(case)(
            case.input, rois, case.size, case.spatial_scale, case.sampling_ratio, case.aligned, gradient
        ),
    )
    assert_same_bytes(two[0], torch.cat([one[0]] * 2))
    torch.testing.assert_close(two[1], 2 * one[1], rtol=1e-12, atol=1e-12)


@SETTINGS
@hypothesis.given(seed=st.integers(0, 10000), power=st.integers(-3, 6))
def test_a_scale_by_a_power_of_two_changes_nothing(seed, power):
    case = CASES["roi_align"](seed % 1000)
    rois = case.rois * torch.tensor([1.0] + [2.0**power] * 4)
    options = {**case.align_options(), "spatial_scale": case.spatial_scale / 2.0**power}
    expected = orbbec.roi_align(case.input, case.rois, **case.align_options())
    assert_same_bytes(orbbec.roi_align(case.input, rois, **options), expected)
