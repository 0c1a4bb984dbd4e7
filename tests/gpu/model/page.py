"""Writes the pages of the model in docs/project, their chart, and the data that all are made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tests.gpu.model.gpus import GPUS, H200, Gpu
from tests.gpu.model.page_tables import (
    TORCHVISION,
    batch_sizes,
    number,
    results,
    torchvision,
    write_rows,
)
from tests.gpu.model.page_text import DOUBLE, HEAD, SUMMARY, TAIL
from tests.gpu.model.report import Row, rounded
from tests.gpu.model.targets import FLOAT64, verdict, why_missed
from tests.gpu.ptx.compile import ROOT

PAGE = ROOT / "docs" / "project" / "gpu_model.md"
CASES = ROOT / "docs" / "project" / "gpu_model_cases.md"
CHART = ROOT / "docs" / "images" / "gpu_model.png"
DATA = ROOT / "docs" / "benchmarks" / "gpu_model.json"
KEPT = [
    "case",
    "gpu",
    "launches",
    "equal_to_cpu",
    "executed_pixels",
    "modelled_pixels",
    "lane_instructions_per_pixel",
    "issued_per_pixel",
    "active_lanes",
    "sectors_per_load_request",
    "sectors_per_store_request",
    "minimal_bytes",
    "dram_bytes",
    "l2_bytes",
    "local_bytes",
    "hottest_atomic",
    "limited_by",
    "microseconds",
    "launch_microseconds",
    "share_of_floor",
]
LIMITS = ("DRAM", "L2", "load/store", "issue", "float64", "latency", "atomics")
COLORS = ("#2e7d32", "#00838f", "#1565c0", "#c62828", "#6a1b9a", "#ef6c00", "#5d4037")


def write_torchvision(tables: Sequence[list[Row]]) -> None:
    """Writes the data of torchvision's kernels, which the page is made of too."""
    names = ("case", "gpu", "launches", "equal_to_cpu", "limited_by", "microseconds")
    write_rows(
        TORCHVISION, ": torchvision", [rounded({name: rows[-1][name] for name in names}) for rows in tables]
    )


def write(found: Sequence[Row], tables: Sequence[list[Row]], ptx: Path) -> None:
    """Writes the pages from executed cases, the rows of each on each GPU, and the folder of their PTX."""
    totals = {(rows[-1]["case"], rows[-1]["gpu"]): rows[-1] for rows in tables}
    slowest = {
        rows[-1]["case"]: max(rows[:-1], key=lambda row: row["microseconds"])
        for rows in tables
        if rows[-1]["gpu"] == H200.name
    }
    kept = [rounded({name: row[name] for name in KEPT}) for row in totals.values()]
    write_rows(DATA, "", kept)
    draw(totals, [row["case"] for row in found])
    parts = [
        HEAD,
        constants(GPUS.values()),
        *results(found, totals),
        *batch_sizes(found, ptx),
        *torchvision(totals),
        "",
        *sentences(found, totals, slowest),
        *double_precision(found, totals),
        TAIL,
    ]
    PAGE.write_text(SUMMARY)
    CASES.write_text("\n".join(parts))


def constants(gpus: Iterable[Gpu]) -> str:
    """The table of the GPUs."""
    lines = [
        "| | multiprocessors | clock, GHz | FP64 lanes per clock | copy, TB/s | L2, bytes per clock |"
        " L2, MB | latency of L2, DRAM in clocks |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for gpu in gpus:
        lines.append(
            f"| {gpu.name} | {gpu.multiprocessors} | {gpu.clock_hz / 1e9:.2f} | {gpu.float64_lanes} |"
            f" {gpu.copy_bytes_per_second / 1e12:.2f} | {gpu.l2_bytes_per_clock} | {gpu.l2_bytes >> 20} |"
            f" {gpu.latency['l2']}, {gpu.latency['dram']} |"
        )
    return "\n".join(lines)


def sentences(found: Sequence[Row], totals: dict[tuple[str, str], Row], slowest: dict[str, Row]) -> list[str]:
    """What limits each case on an H200."""
    lines = ["## What limits each case on H200", ""]
    for row in found:
        total = totals[row["case"], H200.name]
        why = reason(total, slowest[row["case"]])
        lines.append(f"- `{row['case']}`: {row['what']}.{verdict(total)} {why}{why_missed(total)}")
    return [*lines, ""]


def double_precision(found: Sequence[Row], totals: dict[tuple[str, str], Row]) -> list[str]:
    """The cases with FP64 instructions in every pixel, and what needs them."""
    lines = ["## Double precision", "", DOUBLE, ""]
    for row in found:
        total = totals[row["case"], H200.name]
        instructions = total["warp_instructions_per_pixel"]["float64"] * 32
        if instructions >= 2:
            needs = FLOAT64[row["case"]]
            lines.append(f"- `{row['case']}`: {number(instructions)} per {total['unit']}, for {needs}.")
    return [*lines, ""]


def reason(total: Row, main: Row) -> str:
    """One sentence. `main` is the launch, or the kernel, that takes longest."""
    pixels, unit, limit = total["modelled_pixels"], total["unit"], total["limited_by"]
    per = {
        name: total[name] / pixels for name in ("minimal_bytes", "l2_bytes", "dram_bytes", "requested_bytes")
    }
    if limit == "issue":
        allowed = total["floor_microseconds"] * 1e-6 * H200.clock_hz * H200.multiprocessors * 4 * 32 / pixels
        issued, lanes = number(total["issued_per_pixel"]), total["active_lanes"]
        return (
            f"About {issued} instructions issue per {unit}, where the bytes leave time for {number(allowed)};"
            f" {lanes:.0f} of 32 lanes are active."
        )
    if limit == "latency":
        return latency_reason(total, main)
    if limit == "L2":
        moved, needed, sectors = per["l2_bytes"], per["minimal_bytes"], total["sectors_per_store_request"]
        return (
            f"{number(moved)} bytes per {unit} go through L2, where {number(needed)} are necessary: a store"
            f" touches {sectors:.1f} sectors, and parts of sectors count four times."
        )
    if limit == "load/store":
        requests, sectors = (
            total["load_requests"] + total["store_requests"],
            total["sectors_per_load_request"],
        )
        return (
            f"{number(requests * 32 / pixels)} requests per {unit} with {sectors:.1f} sectors per load, and"
            f" {number(total['bank_conflicts'])} bank conflicts, occupy the load/store units."
        )
    if limit == "float64":
        instructions = total["warp_instructions_per_pixel"]["float64"] * 32
        return f"{number(instructions)} FP64 instructions per {unit}."
    if limit == "atomics":
        return f"{number(total['hottest_atomic'])} atomics of the executed batch go to one address."
    ratio = per["dram_bytes"] / per["minimal_bytes"]
    return f"DRAM: {number(per['dram_bytes'])} bytes per {unit} move, {ratio:.2f} times the necessary ones."


def latency_reason(total: Row, main: Row) -> str:
    """Too few warps, or a warp that takes long."""
    launches = f"{total['launches']} launches in series. " if total["launches"] > 3 else ""
    warp = main["average_warp"]
    waits = sum(warp[f"{level}_waits"] for level in ("dram", "l2", "l1"))
    shared = f", {number(warp['shared_waits'])} for shared memory" if warp["shared_waits"] else ""
    if main["waves"] < 1:
        fill = f"the grid of {number(main['waves'])} waves leaves the GPU almost empty"
    else:
        by = main["occupancy_limited_by"]
        fill = f"{main['occupancy']:.0%} occupancy, limited by {by}, does not hide them"
    depth = number(warp["depth"])
    path = f"{number(waits)} waits for memory{shared} and a dependent path of {depth} instructions"
    return f"{launches}An average warp has {path}; {fill}."


def draw(totals: dict[tuple[str, str], Row], cases: Sequence[str]) -> None:
    """The fraction of the floor per case: a bar for H200 in the color of its limit, marks for the others."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    pyplot.rcParams.update({"font.size": 9})
    figure, axes = pyplot.subplots(figsize=(8, 0.235 * len(cases) + 1.4), dpi=100, layout="constrained")
    rows = [totals[case, H200.name] for case in cases]
    used: dict[str, Any] = {}
    for y, row in enumerate(rows):
        color = COLORS[LIMITS.index(row["limited_by"])]
        used[row["limited_by"]] = axes.barh(y, 100 * row["share_of_floor"], color=color, height=0.7)
    for gpu, mark in zip(list(GPUS.values())[1:], "o^s", strict=True):
        shares = [100 * totals[case, gpu.name]["share_of_floor"] for case in cases]
        used[gpu.name] = axes.plot(shares, range(len(cases)), mark, color="black", mfc="white", ms=4, lw=0)[0]
    least = min(row["share_of_floor"] for row in totals.values())
    axes.set(
        xscale="log", xlim=(max(100 * least / 1.5, 0.001), 130), yticks=range(len(cases)), yticklabels=cases
    )
    axes.set_ylim(len(cases) - 0.4, -0.6)
    axes.set_xticks([0.01, 0.1, 1, 10, 100], ["0.01 %", "0.1 %", "1 %", "10 %", "100 %"])
    axes.set_title("Predicted, not measured: time of the necessary bytes over predicted time", fontsize=10)
    axes.grid(axis="x", color="#dddddd")
    axes.set_axisbelow(True)
    names = [f"H200: {name}" if name in LIMITS else name for name in used]
    figure.legend(used.values(), names, loc="outside lower center", ncols=5, frameon=False)
    figure.savefig(CHART)
    pyplot.close(figure)
