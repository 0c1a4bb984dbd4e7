"""From an executed case to its row of figures: all its launches, at the modelled batch."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

from tests.gpu.model.bounds import WARP, bounds, dram_bytes, l2_bytes
from tests.gpu.model.gpus import Gpu
from tests.gpu.model.machine import Machine
from tests.gpu.model.pipes import PIPES

Row = dict[str, Any]


def row_of(executed: Row, gpu: Gpu, machines: Mapping[str, Machine]) -> Row:
    """The figures of a case, from what its launches did and the machine code of their kernels.

    Bytes and instructions are sums over the launches. A bound is the sum of those of the launches, and the
    bound of the case is the sum of the largest of each launch, since they run in series.
    """
    factor, pixels, launches = executed["factor"], executed["executed_pixels"], executed["launches"]
    pipes = [machines[counts["kernel"]].executed(counts["lines"]) for counts in launches]
    found = [bounds(gpu, counts, own, factor) for counts, own in zip(launches, pipes, strict=True)]
    total: Counter[str] = sum(pipes, Counter())
    seconds = {name: sum(bound[name] for bound in found) for name in found[0]}
    loads, stores = ([counts[way] for counts in launches] for way in ("loads", "stores"))
    lanes = sum(sum(counts["lane_instructions"].values()) for counts in launches)
    warps = sum(sum(counts["warp_instructions"].values()) for counts in launches)
    minimal = executed["minimal_bytes"] * factor
    return {
        "case": executed["case"],
        "gpu": gpu.name,
        "unit": executed["unit"],
        "equal_to_cpu": executed["equal_to_cpu"],
        "launches": len(launches),
        "registers": max(machines[counts["kernel"]].registers for counts in launches),
        "executed_pixels": pixels,
        "modelled_pixels": executed["modelled_pixels"],
        "instructions": {name: total[name] * WARP / pixels for name in PIPES},
        "machine_per_ptx": sum(total.values()) / max(warps, 1),
        "active_lanes": lanes / max(warps, 1),
        "sectors_per_load": ratio(loads),
        "sectors_per_store": ratio(stores),
        "minimal_bytes": minimal,
        "dram_bytes": sum(map(dram_bytes, launches)) * factor,
        "l2_bytes": sum(map(l2_bytes, launches)) * factor,
        "local_bytes": sum(counts["local_bytes"] for counts in launches) * factor,
        "bank_conflicts": sum(counts["bank_conflicts"] for counts in launches) * factor,
        "floor_microseconds": minimal / gpu.copy_bytes_per_second * 1e6,
        "bounds_microseconds": {name: value * 1e6 for name, value in seconds.items()},
        "microseconds": sum(max(bound.values()) for bound in found) * 1e6,
        "limited_by": max(seconds, key=lambda name: seconds[name]),
    }


def ratio(ways: list[Row]) -> float:
    """Sectors of 32 bytes per request."""
    requests = sum(way["requests"] for way in ways)
    return float(sum(way["sectors"] for way in ways) / max(requests, 1))


def text_of(row: Row) -> str:
    """The row of a case, to be read."""
    equal = "equal to the CPU" if row["equal_to_cpu"] else "DIFFERENT FROM THE CPU"
    pipes, least = (
        ", ".join(f"{name} {value:.3g}" for name, value in row[key].items() if value >= 0.05)
        for key in ("instructions", "bounds_microseconds")
    )
    return "\n".join(
        [
            f"{row['case']} on {row['gpu']}: {equal}",
            f"  {row['launches']} launches, {row['registers']} registers",
            f"  instructions per {row['unit']}: {pipes}; {row['active_lanes']:.1f} of 32 lanes active",
            f"  bytes: necessary {row['minimal_bytes']:.4g}, DRAM {row['dram_bytes']:.4g}, L2"
            f" {row['l2_bytes']:.4g}, local {row['local_bytes']:.4g}; sectors per load"
            f" {row['sectors_per_load']:.1f}, per store {row['sectors_per_store']:.1f}; bank conflicts"
            f" {row['bank_conflicts']:.0f}",
            f"  at least, us: {least}; all launches {row['microseconds']:.1f}, most by {row['limited_by']}",
        ]
    )


def rounded(value: Any, digits: int = 4) -> Any:
    """A row for a file: numbers with so many digits.

    Example:
        >>> rounded({"a": 12345.6, "b": {"c": 0.00123456}})
        {'a': 12350, 'b': {'c': 0.001235}}
    """
    if isinstance(value, dict):
        return {name: rounded(item, digits) for name, item in value.items()}
    if not isinstance(value, float) or not math.isfinite(value) or value == 0:
        return value
    shown = round(value, digits - 1 - math.floor(math.log10(abs(value))))
    return int(shown) if shown == int(shown) else shown
