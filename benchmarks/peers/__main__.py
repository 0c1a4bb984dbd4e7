"""Times orbbec beside its rivals: `make peers`, or python -m benchmarks.peers where they are installed.

    python -m benchmarks.peers [--device cpu|cuda] [--threads 1 2] [--rounds 9] [--filter TEXT] [--output DIR]

Writes DIR/<machine>/peers.json, .md and .png.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

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
    FEWEST_ROUNDS,
    ROOT,
    Result,
    machine_name,
    progress,
    provenance,
    set_threads,
    time_case,
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


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Times orbbec beside its rivals.")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="on the CPU (default: 1 2)")
    parser.add_argument("--rounds", type=int, default=9, help=f"at least {FEWEST_ROUNDS} (default: 9)")
    parser.add_argument("--filter", default="", help="a regular expression: only workloads like '^W1'")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "benchmarks")
    given = parser.parse_args()
    if given.rounds < FEWEST_ROUNDS or min(given.threads) < 1:
        parser.error(f"expected --rounds of at least {FEWEST_ROUNDS} and --threads of at least 1")
    if given.device == "cuda" and not torch.cuda.is_available():
        parser.error("--device cuda: torch finds no GPU here")
    return given


def main() -> None:
    given = arguments()
    chosen = [one for one in WORKLOADS if re.search(given.filter, one.title, re.IGNORECASE)]
    if not chosen:
        raise SystemExit(f"no workload is like '{given.filter}'")
    threads = given.threads if given.device == "cpu" else [1]
    settle(max(threads))
    results, absent = run(chosen, given.device, threads, given.rounds)
    facts = collect()
    about: dict[str, Any] = {**provenance(facts, given.device, given.rounds), "versions": versions()}
    path = given.output / machine_name(facts, given.device) / "peers"
    report.write(path, about, results, absent)
    print(path.with_suffix(".md").read_text())


if __name__ == "__main__":
    main()
