"""What the kernels execute and what that takes at least: figures worked by hand, and measured times."""

import json
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tests.gpu.model.bounds import bounds
from tests.gpu.model.gpus import A100, GPUS, H100, L4, T4
from tests.gpu.model.machine import Machine, lines_of, located, machines_of
from tests.gpu.model.page import DATA, measured, text
from tests.gpu.model.pipes import PIPES, RATES
from tests.gpu.model.report import row_of, text_of
from tests.gpu.ptx.compile import compile_ptx
from tests.gpu.ptx.executor import Module, counts_of
from tests.gpu.ptx.launched import kernels_of

SAMPLE = Path(__file__).with_name("sample.cu")
NVCC = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
needs_nvcc = pytest.mark.skipif(NVCC is None, reason="there is no nvcc")
SIDE, MODELLED = 128, 8192  # of a matrix of floats, executed and modelled
COUNT = SIDE * SIDE
# By kernel: arguments after the two pointers, and threads in x.
STREAMS = {
    "copy": ([np.int32(COUNT // 4)], COUNT // 4),
    "normalize": ([np.float32(0.5), np.float32(4), np.int32(COUNT)], COUNT),
    "division64": ([np.int64(1), np.int64(COUNT)], COUNT),
    "float64": ([np.float64(0.5), np.int32(COUNT)], COUNT),
}


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    """The module, and machine code by compute capability."""
    folder = tmp_path_factory.mktemp("sample")
    compiled = compile_ptx([], [SAMPLE], architecture="compute_75", folder="sample")
    ptx = located((compiled / "tests_gpu_model_sample.ptx").read_text())
    (folder / "sample.ptx").write_text(ptx)
    capabilities = {gpu.capability for gpu in GPUS.values()}
    machines = {number: machines_of(kernels_of(ptx), folder, number) for number in capabilities}
    return Module(ptx), machines


def executed(sample, gpu, kernel):
    """The machine instructions by pipe of a kernel on a matrix of SIDE x SIDE, and its bounds on MODELLED."""
    module, machines = sample
    source, target = aligned(4 * COUNT).view(np.float32), aligned(4 * COUNT).view(np.float32)
    arguments, threads = STREAMS[kernel]
    counts = counts_of(module, kernel, (-(-threads // 256),), (256,), [source, target, *arguments])
    pipes = machines[gpu.capability][kernel].executed(counts["lines"])
    return pipes, bounds(gpu, counts, pipes, (MODELLED / SIDE) ** 2)


def aligned(count_of_bytes):
    """An array of bytes at a sector's begin, as device memory is allocated."""
    buffer = np.zeros(count_of_bytes + 32, np.uint8)
    start = -buffer.ctypes.data % 32
    return buffer[start : start + count_of_bytes]


@needs_nvcc
@pytest.mark.parametrize("gpu", GPUS.values(), ids=list(GPUS))
@pytest.mark.parametrize("kernel", ["copy", "normalize"])
def test_streams_need_the_time_of_a_copy(sample, gpu, kernel):
    _, found = executed(sample, gpu, kernel)
    assert max(found, key=found.get) == "DRAM", found
    assert 8 * MODELLED**2 / found["DRAM"] == pytest.approx(gpu.copy_bytes_per_second)


@needs_nvcc
def test_the_machine_instructions_of_a_stream_are_those_of_its_code(sample):
    pipes, _ = executed(sample, H100, "normalize")
    warps = COUNT // 32
    assert pipes["fma"] == 2 * warps  # a subtraction and a multiplication
    assert pipes["memory"] >= 2 * warps  # a load and a store, and constants
    assert pipes["fp64"] == pipes["conversion"] == 0


@needs_nvcc
@pytest.mark.parametrize(("gpu", "lanes"), [(H100, 64), (A100, 32), (L4, 2), (T4, 2)])
def test_float64_instructions_take_their_units(sample, gpu, lanes):
    _, found = executed(sample, gpu, "float64")
    # A multiplication and an addition in each of 16 steps.
    clocks = 32 * MODELLED**2 / lanes / gpu.multiprocessors
    assert found["fp64"] == pytest.approx(clocks / gpu.clock_hz, rel=0.01)


@needs_nvcc
def test_integer_division_needs_the_integer_pipes(sample):
    pipes, found = executed(sample, H100, "division64")
    assert pipes["alu"] + pipes["imad"] > 10 * pipes["fma"]
    assert found["alu"] > found["DRAM"]


# One block of one warp: it waits once for DRAM, and its longest path has 12 instructions.
ONE = {
    "grid": [1, 1, 1],
    "block": [32, 1, 1],
    "warp_instructions": {"integer": 10, "load": 1, "store": 1},
    "lane_instructions": {"integer": 160, "load": 32, "store": 32},
    "loads": {"requests": 1, "sectors": 4, "unique_sectors": 4, "unique_sectors_by_block": 4},
    "stores": {"requests": 1, "sectors": 4, "unique_sectors": 4, "partial_sectors": 0},
    "local_requests": 0,
    "local_bytes": 0,
    "shared_passes": 0,
    "bank_conflicts": 0,
    "hottest_atomic": 7,
    "slowest_warp": {
        "instructions": 12,
        "depth": 12,
        "dram_waits": 1,
        "l2_waits": 0,
        "l1_waits": 0,
        "shared_waits": 0,
    },
    "kernel": "k",
    "lines": {"3": 1, "5": 4},
}
MACHINE = Machine(40, {3: Counter(LDG=1, IADD3=2), 5: Counter(FFMA=1, IMAD=3, I2F=1), 9: Counter(STG=1)})
EXECUTED = {
    "case": "one",
    "unit": "pixel",
    "equal_to_cpu": True,
    "factor": 2,
    "executed_pixels": 32,
    "modelled_pixels": 64,
    "minimal_bytes": 430,
    "launches": [ONE, ONE],
}


def test_an_instruction_counts_as_often_as_its_line_ran():
    assert MACHINE.executed(ONE["lines"]) == Counter(memory=1, alu=2, fma=4, imad=12, conversion=4)


@pytest.mark.parametrize(("factor", "busiest"), [(1, 1), (132, 1), (133, 2)])
def test_bounds_worked_by_hand(factor, busiest):
    found = bounds(H100, ONE, MACHINE.executed(ONE["lines"]), factor)
    clocks = {name: seconds * H100.clock_hz for name, seconds in found.items()}
    assert clocks["load/store"] == pytest.approx(2 * busiest)  # two requests, each 32 addresses
    assert clocks["alu"] == pytest.approx(2 * 32 / 64 * busiest)
    assert clocks["imad"] == pytest.approx(12 * 32 / 64 * busiest)
    assert clocks["fma"] == pytest.approx((4 + 12) * 32 / 128 * busiest)
    assert clocks["conversion"] == pytest.approx(4 * 32 / 16 * busiest)
    assert clocks["issue"] == pytest.approx(23 / 4 * busiest)
    assert clocks["slowest warp"] == pytest.approx(12 * 4 + 479)
    assert clocks["L2"] == pytest.approx(factor * 256 / 5120)
    assert clocks["atomics"] == pytest.approx(7)
    assert found["DRAM"] == pytest.approx(factor * 256 / 3.0e12)


def test_every_architecture_has_a_rate_for_each_pipe():
    assert {gpu.capability for gpu in GPUS.values()} <= set(RATES)
    for rates in RATES.values():
        assert set(rates) == set(PIPES) - {"memory", "uniform", "control"}


def test_a_row_has_sums_over_the_launches():
    row = row_of(EXECUTED, H100, {"k": MACHINE})
    assert (row["case"], row["gpu"], row["launches"], row["registers"]) == ("one", "H100", 2, 40)
    assert row["instructions"]["imad"] == 2 * 12
    assert row["active_lanes"] == pytest.approx(224 / 12)
    assert (row["sectors_per_load"], row["minimal_bytes"], row["dram_bytes"]) == (4, 860, 1024)
    assert row["floor_microseconds"] == pytest.approx(860 / 3.0e6)
    assert row["limited_by"] == "slowest warp"
    assert row["microseconds"] == pytest.approx(2 * 527 / 1980)
    assert "imad 24" in text_of(row)
    assert "| `one` | 3 | 0.000287 | 0.532 | 18% | slowest warp |" in text(
        [row], {"one": "one"}, {"one": 3.0}
    )


def test_no_measured_call_is_faster_than_its_bounds():
    rows = {row["case"]: row for row in json.loads(DATA.read_text())["rows"]}
    times = measured()
    assert len(times) > 40
    assert {case for case, time in times.items() if rows[case]["microseconds"] > time} == set()
    assert {case for case, row in rows.items() if not row["equal_to_cpu"]} == set()


def test_lines_of_a_listing_leave_padding_out():
    body = '\t//## File "ptx", line 7\n        /*0000*/   @P0 FADD R0, R1, R2 ;\n        /*0010*/   NOP;\n'
    assert {line: +opcodes for line, opcodes in lines_of(body).items()} == {7: Counter(FADD=1)}
