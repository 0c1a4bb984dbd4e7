"""The model of time: figures worked by hand, and kernels whose speed is published. Needs nvcc and g++."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.gpu.model.bounds import bounds, occupancy
from tests.gpu.model.gpus import A100, GPUS, H200, L4, T4
from tests.gpu.model.opcodes import GROUPS, SLOTS
from tests.gpu.model.registers import registers_for
from tests.gpu.model.report import CLASSES, rows_of, text_of
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
    "uncoalesced": ([np.int32(4 * COUNT)], 4 * COUNT // 64),
    "division64": ([np.int64(1), np.int64(COUNT)], COUNT),
    "float64": ([np.float64(0.5), np.int32(COUNT)], COUNT),
}


@pytest.fixture(scope="module")
def sample():
    """The module, and registers by GPU."""
    folder = compile_ptx([], [SAMPLE], architecture="compute_90", folder="sample")
    text = (folder / "tests_gpu_model_sample.ptx").read_text()
    registers = {gpu.name: registers_for(kernels_of(text), folder, gpu.capability) for gpu in GPUS.values()}
    module = Module(text)
    return module, registers


def modelled(sample, gpu, kernel):
    """The bounds of a kernel on a matrix of MODELLED x MODELLED, and bytes read and written per second."""
    module, registers = sample
    source, target = aligned(4 * COUNT).view(np.float32), aligned(4 * COUNT).view(np.float32)
    if kernel in STREAMS:
        arguments, threads = STREAMS[kernel]
        grid, block = (-(-threads // 256),), (256,)
    else:
        arguments, grid, block = [np.int32(SIDE)], (SIDE // 32, SIDE // 32), (32, 8)
    counts = counts_of(module, kernel, grid, block, [source, target, *arguments])
    found = bounds(gpu, counts, registers[gpu.name][kernel], (MODELLED / SIDE) ** 2)
    return found, 8 * MODELLED**2 / found.time


def aligned(count_of_bytes):
    """An array of bytes at a sector's begin, as device memory is allocated."""
    buffer = np.zeros(count_of_bytes + 32, np.uint8)
    start = -buffer.ctypes.data % 32
    return buffer[start : start + count_of_bytes]


@needs_nvcc
@pytest.mark.parametrize("gpu", GPUS.values(), ids=list(GPUS))
@pytest.mark.parametrize("kernel", ["copy", "normalize"])
def test_streams_run_at_the_copy_rate(sample, gpu, kernel):
    found, rate = modelled(sample, gpu, kernel)
    assert found.limited_by == "DRAM", found.seconds
    assert rate == pytest.approx(gpu.copy_bytes_per_second)
    assert max(value for name, value in found.seconds.items() if name != "DRAM") < 0.9 * found.time


# Of the rate of a copy, as published: 16 % for the transpose without shared memory and 97 % with it on an
# H100 (yencal.github.io/gpu-matrix-transpose-optimization, of 3.0 TB/s); on another GPU 32 % without, 57 %
# with bank conflicts and 90 % without conflicts (sjang1594.github.io/portfolio/cuda-image-transposed).
@needs_nvcc
@pytest.mark.parametrize("gpu", [H200, A100], ids=["h200", "a100"])
@pytest.mark.parametrize(
    ("kernel", "limited_by", "least", "most"),
    [
        ("transpose_naive", "L2", 0.10, 0.32),
        ("transpose_conflicts", "load/store", 0.35, 0.65),
        ("transpose_tiled", "DRAM", 0.85, 1.01),
    ],
)
def test_transposes_run_as_published(sample, gpu, kernel, limited_by, least, most):
    found, rate = modelled(sample, gpu, kernel)
    assert found.limited_by == limited_by, found.seconds
    assert least < rate / gpu.copy_bytes_per_second < most


@needs_nvcc
def test_slow_kernels_are_told_apart(sample):
    limits = {kernel: modelled(sample, H200, kernel)[0].limited_by for kernel in STREAMS}
    assert limits == {
        "copy": "DRAM",
        "normalize": "DRAM",
        "uncoalesced": "L2",
        "division64": "issue",
        "float64": "float64",
    }


@needs_nvcc
@pytest.mark.parametrize(("gpu", "lanes"), [(H200, 64), (A100, 32), (L4, 2), (T4, 2)], ids=list(GPUS))
def test_float64_instructions_take_their_units(sample, gpu, lanes):
    found, _ = modelled(sample, gpu, "float64")
    # A multiplication and an addition in each of 16 steps and two conversions, by all threads.
    clocks = 34 * MODELLED**2 / lanes / gpu.multiprocessors
    assert found.seconds["float64"] == pytest.approx(clocks / gpu.clock_hz, rel=0.01)


@pytest.mark.parametrize(
    ("gpu", "threads", "registers", "shared", "blocks", "limited_by"),
    [
        (H200, 256, 32, 0, 8, "threads"),
        (H200, 256, 144, 0, 1, "registers"),
        (H200, 256, 112, 0, 2, "registers"),
        (H200, 32, 16, 0, 32, "blocks"),
        (H200, 256, 32, 48 * 1024, 4, "shared memory"),  # 49 KB of 228 with the reserved one
        (A100, 1024, 64, 0, 1, "registers"),
        (L4, 256, 40, 0, 6, "threads"),
        (T4, 256, 32, 32 * 1024, 2, "shared memory"),
    ],
)
def test_occupancy(gpu, threads, registers, shared, blocks, limited_by):
    found = occupancy(gpu, threads, registers, shared)
    assert (found.blocks, found.limited_by) == (blocks, limited_by)
    assert found.share == blocks * threads / 32 / gpu.warps


def test_a_block_that_fits_nowhere_is_refused():
    with pytest.raises(ValueError, match="T4: no block of 256 threads fits: shared memory"):
        occupancy(T4, 256, 32, 65 * 1024)


# One block of one warp: 10 additions in a dependent path, a load from DRAM, and 4 stores of whole sectors.
ONE = {
    "grid": [1, 1, 1],
    "block": [32, 1, 1],
    "static_shared_bytes": 0,
    "dynamic_shared_bytes": 0,
    "warp_instructions": {"integer": 10, "load": 1, "store": 1},
    "opcodes": {"add.s32": [10, 320], "ld.global.u32": [1, 32], "st.global.u32": [1, 32]},
    "loads": {"requests": 1, "sectors": 4, "unique_sectors": 4, "unique_sectors_by_block": 4},
    "stores": {"requests": 1, "sectors": 4, "unique_sectors": 4, "partial_sectors": 0},
    "local_requests": 0,
    "local_bytes": 0,
    "shared_passes": 0,
    "hottest_atomic": 7,
    "all_warps": {
        "instructions": 12,
        "depth": 12,
        "dram_waits": 1,
        "l2_waits": 0,
        "l1_waits": 0,
        "shared_waits": 0,
    },
}
ONE["slowest_warp"] = ONE["all_warps"]


@pytest.mark.parametrize(("factor", "busiest"), [(1, 1), (132, 1), (133, 2)])
def test_bounds_worked_by_hand(factor, busiest):
    found = bounds(H200, ONE, 16, factor)
    clocks = {name: seconds * H200.clock_hz for name, seconds in found.seconds.items()}
    assert clocks["load/store"] == pytest.approx(2 * busiest)  # two requests, each 32 addresses
    assert clocks["issue"] == pytest.approx((10 * SLOTS["int32"] + 2 * SLOTS["memory"]) / 4 * busiest)
    assert clocks["latency"] == pytest.approx(12 * 4 + 479)
    assert clocks["L2"] == pytest.approx(factor * 256 / 5120)
    assert clocks["atomics"] == pytest.approx(7)
    assert found.seconds["DRAM"] == pytest.approx(factor * 256 / 4.3e12)
    assert found.waves == factor / (132 * 32)
    assert found.limited_by == "latency"


def test_every_group_of_opcodes_has_a_weight():
    assert [group for group, _, _ in GROUPS] == list(SLOTS)


def test_rows_have_the_fields_and_sums():
    """Two launches, modelled at twice the batch: sums over launches, and the largest of their bounds."""
    zero = dict.fromkeys(CLASSES, 0)
    launch = {
        **ONE,
        "kernel": "k",
        "bank_conflicts": 0,
        "warp_instructions": zero | ONE["warp_instructions"],
        "lane_instructions": zero | {"integer": 160, "load": 32, "store": 32},
        "loads": {**ONE["loads"], "bytes": 128},
        "stores": {**ONE["stores"], "bytes": 128},
    }
    executed = {
        "case": "one",
        "unit": "pixel",
        "equal_to_cpu": True,
        "factor": 2,
        "executed_pixels": 32,
        "modelled_pixels": 64,
        "minimal_bytes": 430,
        "launches": [launch, launch],
    }
    *rows, total = rows_of(executed, H200, {"k": 16})
    assert [row["kernel"] for row in (*rows, total)] == ["k", "k", "total"]
    for row in (*rows, total):
        assert row["minimal_bytes"] == 860
        assert row["floor_microseconds"] == pytest.approx(2e-4)
        assert row["share_of_floor"] == pytest.approx(2e-4 / row["microseconds"])
        assert (row["case"], row["gpu"], row["equal_to_cpu"]) == ("one", "H200", True)
        assert (row["sectors_per_load_request"], row["sectors_per_store_request"]) == (4, 4)
        assert row["limited_by"] == "latency"
        assert row["local_bytes"] == 0
    assert rows[0]["lane_instructions_per_pixel"] == 7
    assert rows[0]["dram_bytes"] == 512
    assert rows[0]["microseconds"] == pytest.approx(527 / 1755)
    assert rows[0]["active_lanes"] == pytest.approx(224 / 12)
    for name in ("lane_instructions_per_pixel", "dram_bytes", "microseconds", "launch_microseconds"):
        assert total[name] == pytest.approx(2 * rows[0][name])
    assert "limited by latency" in text_of([*rows, total])
