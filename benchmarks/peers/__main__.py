"""Times orbbec and its rivals: `make peers`, or python -m benchmarks.peers if they are installed.

    python -m benchmarks.peers [W2 W3 ...] [--device cpu|cuda] [--threads 1 2] [--rounds 9] [--apart]
        [--output DIR]

On the CPU contenders alternate, and each number of threads has a separate process, because some libraries
read it only once. On CUDA, or with --apart, they are timed one after another, so that one that hangs or ends
its process costs only itself. Writes DIR/<machine>/peers.json and .md; workloads that are not run keep their
previous results. tools/performance.py then draws the chart.
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
    given = timing_arguments(
        "Times orbbec compared with its rivals.", 9, names="workloads, such as W2", can_be_apart=True
    )
    wanted = "|".join(given.names) if given.names else given.filter
    titles = [one.title for one in runs.WORKLOADS if re.search(wanted, one.title, re.IGNORECASE)]
    if not titles:
        raise SystemExit(f"no workload is like '{wanted}'")
    facts = collect()
    about: dict[str, Any] = {**provenance(facts, given.device, given.rounds), "versions": versions()}
    path = given.output / machine_name(facts, given.device) / "peers"
    earlier, absent = runs.kept_of(path.with_suffix(".json"), titles)
    about["kept"] = list(dict.fromkeys(result.case for result in earlier))
    results = list(earlier)
    for found, missing in outcomes(titles, given):
        results, absent = [*results, *found], [*missing, *absent]
        report.write(path, about, sorted(results, key=order_of), absent)
    print(path.with_suffix(".md").read_text())
    if failed := [f"{one.workload}, {one.name}: {one.why}" for one in absent if one.name.startswith(OURS)]:
        raise SystemExit("\n".join(failed))


def outcomes(titles: list[str], given: argparse.Namespace) -> Iterable[runs.Outcome]:
    """What is found, as it comes."""
    if given.apart or given.device == "cuda":
        return apart.all_of(titles, given.device, given.rounds)
    return [runs.all_of(titles, given.device, given.threads, given.rounds)]


def order_of(result: Result) -> int:
    return [workload.title for workload in runs.WORKLOADS].index(result.case)


if __name__ == "__main__":
    main()
