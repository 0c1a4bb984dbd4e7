"""The time that each resource needs at least for a launch, from its counts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tests.gpu.model.gpus import Gpu
from tests.gpu.model.pipes import RATES

Counts = dict[str, Any]
SECTOR = 32  # bytes
WARP = 32


def bounds(gpu: Gpu, counts: Counts, pipes: Mapping[str, int], factor: float = 1) -> dict[str, float]:
    """Seconds by resource of a launch of `factor` times the blocks that were counted.

    Args:
        gpu: where it is to run.
        counts: a line of the executor, see tests/gpu/ptx/counts.h.
        pipes: warp instructions by pipe, of the machine code of this GPU.
        factor: all counts but those of the slowest warp and the hottest atomic are multiplied by it.
    """
    blocks = math.prod(counts["grid"]) * factor
    # The multiprocessor with the most blocks decides.
    busiest = math.ceil(blocks / gpu.multiprocessors) / blocks
    per_multiprocessor = factor * busiest / gpu.clock_hz
    rates = RATES[gpu.capability]
    lanes = {name: WARP * count for name, count in pipes.items()}
    clocks = {name: lanes.get(name, 0) / rate for name, rate in rates.items()}
    clocks["fma"] = (lanes.get("fma", 0) + lanes.get("imad", 0)) / rates["fma"]
    clocks["issue"] = sum(pipes.values()) / gpu.issue
    clocks["load/store"] = load_store_clocks(gpu, counts)
    return {
        **{name: value * per_multiprocessor for name, value in clocks.items()},
        "L2": l2_bytes(counts) * factor / gpu.l2_bytes_per_clock / gpu.clock_hz,
        "DRAM": dram_bytes(counts) * factor / gpu.copy_bytes_per_second,
        "slowest warp": warp_clocks(gpu, counts["slowest_warp"]) / gpu.clock_hz,
        # One of the same address per clock: NVIDIA's white paper of Kepler GK110.
        "atomics": counts["hottest_atomic"] / gpu.clock_hz,
    }


def load_store_clocks(gpu: Gpu, counts: Counts) -> float:
    """Clocks of one multiprocessor for all requests: by their number, or by the bytes that pass L1."""
    directions = (counts["loads"], counts["stores"])
    requests = sum(direction["requests"] for direction in directions) + counts["local_requests"]
    passed = sum(SECTOR * direction["sectors"] for direction in directions) + counts["local_bytes"]
    passes = counts["shared_passes"]
    return max(
        (requests + passes) * WARP / gpu.load_store_lanes,
        passed / gpu.l1_bytes + passes * 128 / gpu.l1_bytes,
    )


def l2_bytes(counts: Counts) -> int:
    """What blocks read for the first time and all that they write, in whole sectors."""
    return SECTOR * (counts["loads"]["unique_sectors_by_block"] + counts["stores"]["sectors"])


def dram_bytes(counts: Counts) -> int:
    """Each sector once."""
    return SECTOR * (counts["loads"]["unique_sectors"] + counts["stores"]["unique_sectors"])


def warp_clocks(gpu: Gpu, time: dict[str, int]) -> float:
    """Clocks of a warp alone on its scheduler: what it issues, or its dependent path; and its waits."""
    alone = max(time["instructions"], gpu.arithmetic_latency * time["depth"])
    return alone + sum(clocks * time[f"{level}_waits"] for level, clocks in gpu.latency.items())
