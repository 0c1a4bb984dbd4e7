"""Times the benchmarks of this tree and of another checkout, alternating: a change may cost no speed.

    python tools/compare_trees.py OTHER [--filter TEXT] [--rounds 9] [--threads 1] [--limit 1.05]

OTHER is a checkout with its own build. Each tree has its own process; for each case of `benchmarks/ops` and
`benchmarks/peers` the two alternate, and only orbbec's contenders run. A ratio is the median over the rounds
of this tree's time divided by the other's: CPU time with one thread, wall time with more. Cases above the
limit run again in two new pairs of processes, and the median of the three ratios counts. The addresses that
memory happens to have can shift a time by several per cent, so each sample shifts them by a random number of
bytes. Ends with 1 if a case is still above the limit.
"""

from __future__ import annotations

import argparse
import importlib
import multiprocessing
import os
import random
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SAMPLE_SECONDS = 0.05
# Memory once mapped stays mapped: the page faults of a large output can cost as much as its computation, and
# how many there are depends on what the process did before.
KEEP_MAPPED = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40)}
SHIFTS = (1 << 8, 1 << 14, 1 << 20, 1 << 24)  # bytes
FOLDERS = ("benchmarks/ops", "benchmarks/peers")
COLLECTED = {"__main__", "runs"}  # these have no cases of their own

Run = Callable[[], Any]


def cases_of(module: Any) -> list[Any]:
    """The cases of a module of benchmarks, or the workloads of one of the peers."""
    return list(getattr(module, "CASES", ()) or getattr(module, "WORKLOADS", ()))


def prepared(case: Any) -> list[tuple[str, Run]]:
    """Orbbec's contenders of a case, with their names."""
    if hasattr(case, "title"):
        scene = case.prepare("cpu")
        ours = [one for one in case.contenders if one.package == "orbbec"]
        return [(f"{case.title}: {one.name}", one.make(scene)) for one in ours]
    ours = [one for one in case.prepare("cpu").contenders if one.name.startswith("orbbec")]
    return [(f"{case.name}: {one.name}", one.run) for one in ours]


def sample(run: Run, count: int, threads: int) -> float:
    """Seconds per run, the mean of `count`."""
    clock = time.process_time if threads == 1 else time.perf_counter
    _shifts = [bytearray(random.randrange(size)) for size in SHIFTS for _ in range(4)]
    run()
    start = clock()
    for _ in range(count):
        run()
    return (clock() - start) / count


def serve(tree: str, threads: int, pipe: Connection) -> None:
    """Answers requests: (module, index) with the contenders' names, (contender,) with seconds."""
    os.chdir(tree)
    sys.path[:0] = [tree]
    import torch

    torch.set_num_threads(threads)
    runs: list[tuple[str, Run]] = []
    counts: list[int] = []
    while (request := pipe.recv()) is not None:
        if len(request) == 1:
            pipe.send(sample(runs[request[0]][1], counts[request[0]], threads))
            continue
        runs = prepared(cases_of(importlib.import_module(request[0]))[request[1]])
        counts = [max(1, round(SAMPLE_SECONDS / max(sample(run, 2, threads), 1e-6))) for _, run in runs]
        pipe.send([name for name, _ in runs])


def ask(pipe: Connection, *request: Any) -> Any:
    """The answer of a server."""
    pipe.send(request)
    return pipe.recv()


@contextmanager
def servers(trees: list[str], threads: int) -> Iterator[list[Connection]]:
    """One process for each tree."""
    os.environ.update(KEEP_MAPPED)
    context = multiprocessing.get_context("spawn")
    pipes = []
    for tree in trees:
        here, there = context.Pipe()
        context.Process(target=serve, args=(tree, threads, there), daemon=True).start()
        pipes.append(here)
    yield pipes
    for pipe in pipes:
        pipe.send(None)


def ratios(pipes: list[Connection], rounds: int, module: str, index: int) -> dict[str, float]:
    """By contender: the time of the first tree divided by that of the second."""
    names, others = (ask(pipe, module, index) for pipe in pipes)
    if len(names) != len(others):
        raise SystemExit(f"{module} {index}: the trees have different contenders: {names}, {others}")
    found = {}
    for i, name in enumerate(names):
        turns = [[ask(pipe, i) for pipe in pipes] for _ in range(rounds)]
        found[name] = statistics.median(own / other for own, other in turns)
    return found


def repeated(trees: list[str], threads: int, first: dict[str, float], *case: Any) -> dict[str, float]:
    """The medians of the first ratios and of those of two new pairs of processes."""
    runs = [first]
    for _ in range(2):
        with servers(trees, threads) as pipes:
            runs.append(ratios(pipes, *case))
    return {name: statistics.median(run[name] for run in runs) for name in first}


def cases(pattern: str) -> Iterator[tuple[str, int]]:
    """Modules of benchmarks and the indices of their cases that match."""
    sys.path[:0] = [str(ROOT)]
    for path in (path for folder in FOLDERS for path in sorted((ROOT / folder).glob("*.py"))):
        if path.stem in COLLECTED:
            continue
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for i, case in enumerate(cases_of(importlib.import_module(module))):
            title = getattr(case, "title", None) or case.name
            if re.search(pattern, f"{path.stem} {title}", re.IGNORECASE):
                yield module, i


def main() -> int:
    """Prints the ratio of each contender, then those above the limit."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("other", type=Path)
    parser.add_argument("--filter", default="", help="a regular expression for module and case")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--limit", type=float, default=1.05)
    options = parser.parse_args()
    trees = [str(ROOT), str(options.other.resolve())]
    every: dict[str, float] = {}
    with servers(trees, options.threads) as pipes:
        for case in cases(options.filter):
            found = ratios(pipes, options.rounds, *case)
            if max(found.values(), default=0.0) > options.limit:
                found = repeated(trees, options.threads, found, options.rounds, *case)
            for name, ratio in found.items():
                every[f"{case[0].split('.')[-1]}: {name}"] = ratio
                print(f"{ratio:.3f}  {case[0].split('.')[-1]}: {name}", flush=True)
    slower = {name: ratio for name, ratio in every.items() if ratio > options.limit}
    print(f"{len(every)} contenders, median {statistics.median(every.values()):.3f}, {len(slower)} slower:")
    for name, ratio in slower.items():
        print(f"{ratio:.3f}  {name}")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
