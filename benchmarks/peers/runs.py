"""Times the workloads, each with each number of threads in a separate process."""

from __future__ import annotations

import itertools
import json
import multiprocessing
import os
from collections.abc import Iterator, Sequence
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


def run(title: str, device: str, threads: int, rounds: int) -> Outcome:
    """Time a workload; its contenders alternate."""
    (workload,) = (workload for workload in WORKLOADS if workload.title == title)
    with on_cores(threads):
        set_threads(threads)
        work, absent = assemble(workload, device)
        return time_case("peers", title, work, device, [threads], rounds), absent


def run_apart(title: str, device: str, threads: int, rounds: int) -> Outcome:
    """`run` in a new process whose environment sets the number of threads.

    Some libraries read that number only once. And a process in which other workloads ran has idle threads of
    many libraries, for which OpenMP waits less patiently: one image per call then takes up to twice as long.
    """
    settle(threads)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
        return process.submit(run, title, device, threads, rounds).result()


def settle(threads: int) -> None:
    """The environment variables that libraries read on import."""
    os.environ["RAYON_NUM_THREADS"] = str(threads)  # kornia_rs
    os.environ["NO_ALBUMENTATIONS_TELEMETRY"] = os.environ["ALBUMENTATIONS_NO_TELEMETRY"] = "1"
    os.environ["NO_ALBUMENTATIONS_UPDATE"] = "1"


def all_of(titles: Sequence[str], device: str, threads: Sequence[int], rounds: int) -> Iterator[Outcome]:
    """The results of each workload, as they come."""
    with progress(len(titles) * len(threads)) as say:
        for title, count in itertools.product(titles, threads):
            say(f"{title}, {count} thread{'s' * (count > 1)}")
            yield run_apart(title, device, count, rounds)


def earlier_of(path: Path, titles: Sequence[str]) -> Outcome:
    """The previous results of other workloads."""
    if not path.exists():
        return [], []
    content = json.loads(path.read_text())
    results = [result for result in map(result_of, content["results"]) if result.case not in titles]
    absent = [Absent(**one) for one in content["not_timed"] if one["workload"] not in titles]
    return results, absent
