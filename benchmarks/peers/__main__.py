"""Times orbbec beside its rivals: `make peers`, or python -m benchmarks.peers where they are installed.

    python -m benchmarks.peers [--device cpu|cuda] [--threads 1 2] [--rounds 9] [--filter TEXT] [--output DIR]

Writes DIR/<machine>/peers.json, .md and .png.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

from benchmarks.peers import (
    report,
    w1_warp,
    w2_crop,
    w3_load,
    w4_colors,
    w5_nms,
    w6_roi_align,
)
from benchmarks.peers.contest import Absent, Workload, assemble, versions
from orbbec.data.bench_data import on_cores
from orbbec.doctor import collect
from orbbec.testing.measure import (
    Result,
    machine_name,
    progress,
    provenance,
    set_threads,
    time_case,
    timing_arguments,
)

WORKLOADS = [
    workload
    for module in (w1_warp, w2_crop, w3_load, w4_colors, w5_nms, w6_roi_align)
    for workload in module.WORKLOADS
]


def run(
    workloads: Sequence[Workload], device: str, threads: list[int], rounds: int
) -> tuple[list[Result], list[Absent]]:
    """Time the workloads, one after the other, their contenders in turns."""
    results: list[Result] = []
    absent: list[Absent] = []
    with on_cores(max(threads)), progress(len(workloads)) as say:
        for workload in workloads:
            say(workload.title)
            set_threads(max(threads))
            work, missing = assemble(workload, device)
            absent += missing
            results += time_case("peers", workload.title, work, device, threads, rounds)
    return results, absent


def settle(threads: int) -> None:
    """What libraries read of the environment when they are imported."""
    os.environ["RAYON_NUM_THREADS"] = str(threads)  # of kornia_rs
    os.environ["NO_ALBUMENTATIONS_TELEMETRY"] = os.environ["ALBUMENTATIONS_NO_TELEMETRY"] = "1"
    os.environ["NO_ALBUMENTATIONS_UPDATE"] = "1"


def main() -> None:
    given = timing_arguments("Times orbbec beside its rivals.", 9)
    chosen = [one for one in WORKLOADS if re.search(given.filter, one.title, re.IGNORECASE)]
    if not chosen:
        raise SystemExit(f"no workload is like '{given.filter}'")
    settle(max(given.threads))
    results, absent = run(chosen, given.device, given.threads, given.rounds)
    facts = collect()
    about: dict[str, Any] = {**provenance(facts, given.device, given.rounds), "versions": versions()}
    path = given.output / machine_name(facts, given.device) / "peers"
    report.write(path, about, results, absent)
    print(path.with_suffix(".md").read_text())


if __name__ == "__main__":
    main()
