"""Times the workloads, with a separate process for each number of threads."""

from __future__ import annotations

import json
import multiprocessing
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from benchmarks.peers import (
    w1_warp,
    w2_crop,
    w3_load,
    w4_colors,
    w5_nms,
    w6_roi_align,
    w7_single,
    w8_targets,
)
from benchmarks.peers.contest import Absent, assemble
from orbbec.cli.bench_data import on_cores
from tests.support.timing.measure import (
    Result,
    progress,
    result_of,
    set_threads,
    time_case,
)

WORKLOADS = [
    workload
    for module in (w1_warp, w2_crop, w3_load, w4_colors, w5_nms, w6_roi_align, w7_single, w8_targets)
    for workload in module.WORKLOADS
]


Outcome = tuple[list[Result], list[Absent]]


def run(titles: Sequence[str], device: str, threads: int, rounds: int) -> Outcome:
    """Time the workloads of these titles in sequence; their contenders alternate."""
    results: list[Result] = []
    absent: list[Absent] = []
    chosen = [workload for workload in WORKLOADS if workload.title in titles]
    with on_cores(threads), progress(len(chosen)) as say:
        for workload in chosen:
            say(f"{workload.title}, {threads} thread{'s' * (threads > 1)}")
            set_threads(threads)
            work, missing = assemble(workload, device)
            absent += missing
            results += time_case("peers", workload.title, work, device, [threads], rounds)
    return results, absent


def run_apart(titles: Sequence[str], device: str, threads: int, rounds: int) -> Outcome:
    """`run` in a process whose environment sets the number of threads."""
    settle(threads)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
        return process.submit(run, titles, device, threads, rounds).result()


def settle(threads: int) -> None:
    """The environment variables that libraries read on import."""
    os.environ["RAYON_NUM_THREADS"] = str(threads)  # kornia_rs
    os.environ["NO_ALBUMENTATIONS_TELEMETRY"] = os.environ["ALBUMENTATIONS_NO_TELEMETRY"] = "1"
    os.environ["NO_ALBUMENTATIONS_UPDATE"] = "1"


def all_of(titles: Sequence[str], device: str, threads: Sequence[int], rounds: int) -> Outcome:
    """The results with each number of threads, by workload."""
    outcomes = [run_apart(titles, device, count, rounds) for count in threads]
    results = [result for found, _ in outcomes for result in found]
    absent = dict.fromkeys(one for _, missing in outcomes for one in missing)
    return sorted(results, key=lambda result: (titles.index(result.case), result.threads)), list(absent)


def kept_of(path: Path, titles: Sequence[str]) -> Outcome:
    """The previous results of other workloads."""
    if not path.exists():
        return [], []
    content = json.loads(path.read_text())
    results = [result for result in map(result_of, content["results"]) if result.case not in titles]
    absent = [Absent(**one) for one in content["not_timed"] if one["workload"] not in titles]
    return results, absent
