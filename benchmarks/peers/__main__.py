"""Times orbbec and its rivals: `make peers`, or python -m benchmarks.peers if they are installed.

    python -m benchmarks.peers [W2 W3 ...] [--device cpu|cuda] [--threads 1 2] [--rounds 9] [--output DIR]

Each number of threads has a separate process, because some libraries read it only once. Writes
DIR/<machine>/peers.json and .md; workloads that are not run keep their previous results. tools/performance.py
then draws the chart.
"""

from __future__ import annotations

import re
from typing import Any

from benchmarks.peers import report, runs
from benchmarks.peers.contest import versions
from orbbec.cli.doctor import collect
from tests.support.timing.measure import machine_name, provenance, timing_arguments


def main() -> None:
    given = timing_arguments("Times orbbec compared with its rivals.", 9, names="workloads, such as W2")
    wanted = "|".join(given.names) if given.names else given.filter
    titles = [one.title for one in runs.WORKLOADS if re.search(wanted, one.title, re.IGNORECASE)]
    if not titles:
        raise SystemExit(f"no workload is like '{wanted}'")
    results, absent = runs.all_of(titles, given.device, given.threads, given.rounds)
    facts = collect()
    about: dict[str, Any] = {**provenance(facts, given.device, given.rounds), "versions": versions()}
    path = given.output / machine_name(facts, given.device) / "peers"
    kept, missing = runs.kept_of(path.with_suffix(".json"), titles)
    about["kept"] = list(dict.fromkeys(result.case for result in kept))
    order = [workload.title for workload in runs.WORKLOADS]
    results = sorted([*results, *kept], key=lambda result: order.index(result.case))
    report.write(path, about, results, [*absent, *missing])
    print(path.with_suffix(".md").read_text())


if __name__ == "__main__":
    main()
