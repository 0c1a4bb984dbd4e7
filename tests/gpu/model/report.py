"""From executed cases to rows of figures: one per launch and one for all launches of a case."""

from __future__ import annotations

import math
import re
import subprocess
from collections.abc import Iterable, Sequence
from typing import Any

from tests.gpu.model.bounds import Bounds, bounds, dram_bytes, issued, l2_bytes
from tests.gpu.model.gpus import LAUNCH_SECONDS, Gpu

Row = dict[str, Any]
MOST_LAUNCHES = 12  # of a case; beyond, launches of one kernel share a row
CLASSES = ("integer", "float32", "float64", "division64", "load", "store", "atomic", "branch", "other")


def demangled(names: Sequence[str]) -> list[str]:
    """Names of kernels as C++ has them, without namespaces and parameters."""
    try:
        run = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return list(names)
    return [short_name(line) for line in run.stdout.splitlines()]


def short_name(name: str) -> str:
    """A demangled kernel's name and its template arguments.

    Example:
        >>> short_name("void orbbec::(anonymous namespace)::warp<orbbec::Linear<float> >(int)")
        'warp<Linear<float>>'
    """
    name = name.replace("(anonymous namespace)::", "").replace("orbbec::", "").removeprefix("void ")
    name = name.removeprefix("static ").replace("> >", ">>").replace("> >", ">>")
    return re.sub(r"\([^()]*\)( \[clone.*)?$", "", name)


def merged(launches: Sequence[Row]) -> list[Row]:
    """The launches, or if there are many, one per kernel with the sum of its figures."""
    if len(launches) <= MOST_LAUNCHES:
        return list(launches)
    by_kernel: dict[str, Row] = {}
    for launch in launches:
        first = by_kernel.setdefault(launch["kernel"], launch)
        if first is not launch:
            by_kernel[launch["kernel"]] = _sum(first, launch)
    return list(by_kernel.values())


def _sum(first: Row, second: Row) -> Row:
    summed = dict(first)
    for name, value in second.items():
        if isinstance(value, (int, float)) and not isinstance(value, bool) and name in _SUMMED:
            summed[name] = first[name] + value
        elif name in ("seconds_by_resource", "warp_instructions_per_pixel"):
            summed[name] = {key: first[name][key] + value[key] for key in value}
    return summed | _ratios(summed)


_SUMMED = set(
    [
        "launches",
        "lane_instructions",
        "warp_lanes",
        "load_requests",
        "store_requests",
        "load_sectors",
        "store_sectors",
        "requested_bytes",
        "l2_bytes",
        "dram_bytes",
        "local_bytes",
        "bank_conflicts",
        "microseconds",
        "ptx_issue_microseconds",
        "launch_microseconds",
        "issued_per_pixel",
    ]
)


def row_of(executed: Row, counts: Row, gpu: Gpu, registers: int) -> Row:
    """The figures of a launch at the modelled batch."""
    factor, pixels = executed["factor"], executed["modelled_pixels"]
    bound = bounds(gpu, counts, registers, factor)
    lanes = sum(counts["lane_instructions"].values())
    both = (counts["loads"], counts["stores"])
    warps = math.prod(counts["grid"]) * -(-math.prod(counts["block"]) // 32)
    row = {
        "case": executed["case"],
        "kernel": counts["kernel"],
        "gpu": gpu.name,
        "launches": 1,
        "grid": counts["grid"],
        "block": counts["block"],
        "registers": registers,
        "shared_bytes": [counts["static_shared_bytes"], counts["dynamic_shared_bytes"]],
        "occupancy": bound.occupancy.share,
        "occupancy_limited_by": bound.occupancy.limited_by,
        "resident_blocks": bound.occupancy.blocks,
        "waves": bound.waves,
        "average_warp": {name: value / warps for name, value in counts["all_warps"].items()},
        "warp_instructions_per_pixel": {
            name: counts["warp_instructions"][name] / executed["executed_pixels"] for name in CLASSES
        },
        "lane_instructions": lanes * factor,
        "warp_lanes": sum(counts["warp_instructions"].values()) * 32 * factor,
        "issued_per_pixel": issued(counts) * 32 / executed["executed_pixels"],
        "load_requests": counts["loads"]["requests"] * factor,
        "store_requests": counts["stores"]["requests"] * factor,
        "load_sectors": counts["loads"]["sectors"] * factor,
        "store_sectors": counts["stores"]["sectors"] * factor,
        "requested_bytes": sum(direction["bytes"] for direction in both) * factor,
        "l2_bytes": l2_bytes(counts) * factor,
        "dram_bytes": dram_bytes(counts) * factor,
        "local_bytes": counts["local_bytes"] * factor,
        "bank_conflicts": counts["bank_conflicts"] * factor,
        "hottest_atomic": counts["hottest_atomic"],
        "modelled_pixels": pixels,
        **_times(bound),
    }
    return row | _ratios(row)


def _times(bound: Bounds) -> Row:
    return {
        "seconds_by_resource": bound.seconds,
        "limited_by": bound.limited_by,
        "microseconds": bound.time * 1e6,
        "ptx_issue_microseconds": bound.ptx_issue_seconds * 1e6,
        "launch_microseconds": LAUNCH_SECONDS * 1e6,
    }


def _ratios(row: Row) -> Row:
    return {
        "lane_instructions_per_pixel": row["lane_instructions"] / row["modelled_pixels"],
        "active_lanes": 32 * row["lane_instructions"] / max(row["warp_lanes"], 1),
        "sectors_per_load_request": row["load_sectors"] / max(row["load_requests"], 1),
        "sectors_per_store_request": row["store_sectors"] / max(row["store_requests"], 1),
        "limited_by": max(row["seconds_by_resource"], key=lambda name: row["seconds_by_resource"][name]),
    }


def rows_of(executed: Row, gpu: Gpu, registers: dict[str, int]) -> list[Row]:
    """The rows of a case; the last, of kernel "total", is all its launches, one after the other."""
    launches = executed["launches"]
    rows = [row_of(executed, counts, gpu, registers[counts["kernel"]]) for counts in launches]
    minimal = executed["minimal_bytes"] * executed["factor"]
    floor = minimal / gpu.copy_bytes_per_second * 1e6
    common = {name: executed[name] for name in ("equal_to_cpu", "unit", "executed_pixels", "modelled_pixels")}
    total = total_of(rows)
    shown = [*merged(rows), total]
    names = demangled([row["kernel"] for row in shown])
    for row, name in zip(shown, names, strict=True):
        row |= {**common, "kernel": name, "minimal_bytes": minimal, "floor_microseconds": floor}
        row["share_of_floor"] = floor / row["microseconds"]
    return shown


def total_of(rows: Sequence[Row]) -> Row:
    """All launches: sums, and the resource that limits most of the time."""
    total = rows[0]
    for row in rows[1:]:
        total = _sum(total, row)
    by_limit: dict[str, float] = {}
    for row in rows:
        by_limit[row["limited_by"]] = by_limit.get(row["limited_by"], 0) + row["microseconds"]
    total = {name: value for name, value in total.items() if name not in _OF_A_LAUNCH}
    hottest = max(row["hottest_atomic"] for row in rows)
    limited_by = max(by_limit, key=lambda name: by_limit[name])
    return total | {"kernel": "total", "limited_by": limited_by, "hottest_atomic": hottest}


_OF_A_LAUNCH = set(
    [
        "grid",
        "block",
        "registers",
        "shared_bytes",
        "occupancy",
        "occupancy_limited_by",
        "resident_blocks",
        "waves",
        "average_warp",
    ]
)


def text_of(rows: Iterable[Row]) -> str:
    """The rows of a case, to be read."""
    lines: list[str] = []
    for row in rows:
        if not lines:
            equal = "equal to the CPU" if row["equal_to_cpu"] else "DIFFERENT FROM THE CPU"
            lines.append(f"{row['case']} on {row['gpu']}: {equal}")
            lines.append(
                f"  executed_pixels {row['executed_pixels']}, modelled_pixels {row['modelled_pixels']}"
                f" ({row['unit']}s); minimal {_bytes(row['minimal_bytes'])}, floor"
                f" {row['floor_microseconds']:.1f} us"
            )
        lines += _lines(row)
    return "\n".join(lines)


def _lines(row: Row) -> list[str]:
    times = f" x{row['launches']}" if row["launches"] > 1 else ""
    per_pixel = ", ".join(
        f"{name} {value * 32:.3g}" for name, value in row["warp_instructions_per_pixel"].items() if value
    )
    lines = [f"  {row['kernel'][:150]}{times}"]
    if "grid" in row:
        grid, block = ("x".join(map(str, row[name])) for name in ("grid", "block"))
        lines.append(
            f"    grid {grid} (executed), block {block}, {row['registers']} registers, shared"
            f" {row['shared_bytes'][0]}+{row['shared_bytes'][1]}, occupancy {row['occupancy']:.0%}"
            f" ({row['occupancy_limited_by']}), {row['waves']:.1f} waves"
        )
    seconds = ", ".join(f"{name} {value * 1e6:.1f}" for name, value in row["seconds_by_resource"].items())
    return [
        *lines,
        f"    warp instructions x 32 per {row['unit']}: {per_pixel}; lanes"
        f" {row['lane_instructions_per_pixel']:.1f}, active {row['active_lanes']:.1f} of 32",
        f"    sectors per request: load {row['sectors_per_load_request']:.1f}, store"
        f" {row['sectors_per_store_request']:.1f}; requested {_bytes(row['requested_bytes'])}, unique sectors"
        f" {_bytes(row['dram_bytes'])}, local {_bytes(row['local_bytes'])}; bank conflicts"
        f" {row['bank_conflicts']:.0f}; hottest atomic {row['hottest_atomic']}",
        f"    us: {seconds}; issue of the PTX alone {row['ptx_issue_microseconds']:.1f}",
        f"    {row['microseconds']:.1f} us, limited by {row['limited_by']}:"
        f" {row['share_of_floor']:.1%} of the floor; launches {row['launch_microseconds']:.1f} us more",
    ]


def _bytes(count: float) -> str:
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.4g} {unit}"
        count /= 1000
    return f"{count:.4g} GB"


def rounded(row: Row, digits: int = 4) -> Row:
    """A row for a file: numbers with so many digits."""
    return {name: _rounded(value, digits) for name, value in row.items()}


def _rounded(value: Any, digits: int) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(item, digits) for name, item in value.items()}
    if not isinstance(value, float) or not math.isfinite(value) or value == 0:
        return value
    shown = round(value, digits - 1 - math.floor(math.log10(abs(value))))
    return int(shown) if shown == int(shown) else shown
