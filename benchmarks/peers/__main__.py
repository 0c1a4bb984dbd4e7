"""Times orbbec and its rivals: `make peers`, or python -m benchmarks.peers if they are installed.

    python -m benchmarks.peers [W2 W3 ...] [--device cpu|cuda] [--threads 1 2] [--rounds 9] [--apart]
        [--output DIR]

On the CPU contenders alternate, and each workload has a new process for each number of threads. On CUDA, or
with --apart, they are timed one after another, so that one that hangs or ends its process costs only itself.
Writes DIR/<machine>/peers.json and .md; workloads that are not run keep their previous results.
tools/performance.py then draws the chart.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from typing import Any

from benchmarks.peers import apart, report, runs
from benchmarks.peers.contest import versions
from orbbec.cli.doctor import collect
from tests.support.timing.benchmark import OURS
from tests.support.timing.measure import Result, machine_name, provenance, timing_arguments


def main() -> None:
    options = timing_arguments(
        "Times orbbec compared with its rivals.", 9, names="workloads, such as W2", can_be_apart=True
    )
    wanted = "|".join(options.names) if options.names else options.filter
    titles = [one.title for one in runs.WORKLOADS if re.search(wanted, one.title, re.IGNORECASE)]
    if not titles:
        raise SystemExit(f"no workload is like '{wanted}'")
    facts = collect()
    about: dict[str, Any] = {**provenance(facts, options.device, options.rounds), "versions": versions()}
    path = options.output / machine_name(facts, options.device) / "peers"
    earlier, absent = runs.earlier_of(path.with_suffix(".json"), titles)
    about["kept"] = list(dict.fromkeys(result.case for result in earlier))
    results = list(earlier)
    for found, missing in outcomes(titles, options):
        results, absent = [*results, *found], list(dict.fromkeys([*missing, *absent]))
        report.write(path, about, sorted(results, key=order_of), absent)
    print(path.with_suffix(".md").read_text())
    if failed := [f"{one.workload}, {one.name}: {one.why}" for one in absent if one.name.startswith(OURS)]:
        raise SystemExit("\n".join(failed))


def outcomes(titles: list[str], options: argparse.Namespace) -> Iterable[runs.Outcome]:
    """What is found, as it comes."""
    if options.apart or options.device == "cuda":
        return apart.all_of(titles, options.device, options.rounds)
    return runs.all_of(titles, options.device, options.threads, options.rounds)


def order_of(result: Result) -> int:
    return [workload.title for workload in runs.WORKLOADS].index(result.case)


if __name__ == "__main__":
    main()
