"""The time that each resource needs for a launch, from its counts; see docs/project/gpu_model_cases.md."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tests.gpu.model.gpus import Gpu
from tests.gpu.model.opcodes import float64_slots, slots

Counts = dict[str, Any]
SECTOR = 32  # bytes
# A store of some bytes of a sector takes as long in L2 as so many whole sectors: fitted to the transpose
# without shared memory at yencal.github.io/gpu-matrix-transpose-optimization, 475 GB/s on an H100, whose copy
# runs at 3.0 TB/s.
PARTIAL_STORE = 4
_WARP = 32


@dataclass(frozen=True)
class Occupancy:
    """How many blocks fit a multiprocessor, and what limits them."""

    blocks: int
    warps: int  # of these blocks
    limited_by: str
    share: float  # of the warps that a multiprocessor can have


def occupancy(gpu: Gpu, threads: int, registers: int, shared_bytes: int) -> Occupancy:
    """The resident blocks per multiprocessor, by the allocation rules of CUDA's occupancy calculator.

    Raises:
        ValueError: no block fits.

    Example:
        >>> from tests.gpu.model.gpus import H200
        >>> occupancy(H200, threads=256, registers=72, shared_bytes=0)
        Occupancy(blocks=3, warps=24, limited_by='registers', share=0.375)
    """
    warps = -(-threads // _WARP)
    per_warp = -(-max(registers, 1) * _WARP // 256) * 256  # registers come in units of 256 per warp
    shared = -(-(shared_bytes + gpu.reserved_shared_bytes) // 128) * 128
    limits = {
        "blocks": gpu.blocks,
        "threads": gpu.warps // warps,
        "registers": gpu.registers // per_warp // warps,
        "shared memory": gpu.shared_bytes // shared if shared else gpu.blocks,
    }
    limit = min(limits, key=lambda name: limits[name])
    blocks = limits[limit]
    if blocks == 0:
        raise ValueError(f"{gpu.name}: no block of {threads} threads fits: {limit}")
    return Occupancy(blocks, blocks * warps, limit, blocks * warps / gpu.warps)


@dataclass(frozen=True)
class Bounds:
    """Seconds that a launch takes at least, by resource."""

    seconds: dict[str, float]
    ptx_issue_seconds: float  # if each PTX instruction were one of the GPU's
    occupancy: Occupancy
    waves: float

    @property
    def limited_by(self) -> str:
        return max(self.seconds, key=lambda name: self.seconds[name])

    @property
    def time(self) -> float:
        return self.seconds[self.limited_by]


def bounds(gpu: Gpu, counts: Counts, registers: int, factor: float = 1) -> Bounds:
    """The bounds of a launch of `factor` times the blocks that were counted.

    Args:
        gpu: where it is to run.
        counts: a line of the executor, see tests/gpu/ptx/counts.h.
        registers: per thread.
        factor: all counts but those of the slowest warp and the hottest atomic are multiplied by it.
    """
    threads = math.prod(counts["block"])
    blocks = math.prod(counts["grid"]) * factor
    shared = counts["static_shared_bytes"] + counts["dynamic_shared_bytes"]
    resident = occupancy(gpu, threads, registers, shared)
    waves = blocks / (gpu.multiprocessors * resident.blocks)
    # The multiprocessor with the most blocks decides.
    busiest = math.ceil(blocks / gpu.multiprocessors) / blocks
    per_multiprocessor = factor * busiest / gpu.clock_hz
    ptx = sum(counts["warp_instructions"].values())
    seconds = {
        "issue": issued(counts) / gpu.issue * per_multiprocessor,
        "load/store": load_store_clocks(gpu, counts) * per_multiprocessor,
        "float64": float64_instructions(counts) * _WARP / gpu.float64_lanes * per_multiprocessor,
        "L2": l2_bytes(counts) * factor / gpu.l2_bytes_per_clock / gpu.clock_hz,
        "DRAM": dram_bytes(counts) * factor / gpu.copy_bytes_per_second,
        "latency": latency_clocks(gpu, counts, waves, resident) / gpu.clock_hz,
        # One of the same address per clock: NVIDIA's white paper of Kepler GK110.
        "atomics": counts["hottest_atomic"] / gpu.clock_hz,
    }
    return Bounds(seconds, ptx / gpu.issue * per_multiprocessor, resident, waves)


def issued(counts: Counts) -> float:
    """Warp instructions of the GPU that the PTX instructions become, estimated."""
    return sum(slots(opcode) * warps for opcode, (warps, _) in counts["opcodes"].items())


def float64_instructions(counts: Counts) -> float:
    """Those of them that go to the units of FP64."""
    return sum(float64_slots(opcode) * warps for opcode, (warps, _) in counts["opcodes"].items())


def load_store_clocks(gpu: Gpu, counts: Counts) -> float:
    """Clocks of one multiprocessor for all requests: by their number, or by the bytes that pass L1."""
    directions = (counts["loads"], counts["stores"])
    requests = sum(direction["requests"] for direction in directions) + counts["local_requests"]
    moved = sum(SECTOR * direction["sectors"] for direction in directions) + counts["local_bytes"]
    passes = counts["shared_passes"]
    return max(
        (requests + passes) * _WARP / gpu.load_store_lanes,
        moved / gpu.l1_bytes + passes * 128 / gpu.l1_bytes,
    )


def l2_bytes(counts: Counts) -> int:
    """What blocks read for the first time and all that they write, in whole sectors."""
    stores = counts["stores"]
    written = stores["sectors"] + (PARTIAL_STORE - 1) * stores["partial_sectors"]
    return SECTOR * (counts["loads"]["unique_sectors_by_block"] + written)


def dram_bytes(counts: Counts) -> int:
    """Each sector once."""
    return SECTOR * (counts["loads"]["unique_sectors"] + counts["stores"]["unique_sectors"])


def latency_clocks(gpu: Gpu, counts: Counts, waves: float, resident: Occupancy) -> float:
    """Waves of average warps, or the slowest warp: no warp is faster than what it waits for."""
    blocks = math.prod(counts["grid"])
    warps = blocks * resident.warps / resident.blocks
    average = warp_clocks(gpu, counts["all_warps"]) / warps
    return max(average * max(waves, 1), warp_clocks(gpu, counts["slowest_warp"]))


def warp_clocks(gpu: Gpu, time: dict[str, int]) -> float:
    """Clocks of a warp alone on its scheduler: what it issues, or its dependent path; and its waits."""
    own = max(time["instructions"], gpu.arithmetic_latency * time["depth"])
    return own + sum(clocks * time[f"{level}_waits"] for level, clocks in gpu.latency.items())
