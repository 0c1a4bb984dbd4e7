"""Draws and runs calls of all operators, and prints those that fail, simplified, as Python.

    python -m tests.fuzz --calls 20000 --seed 0
    python -m tests.fuzz --op normalize --calls 5000
    python -m tests.fuzz --device emulated --calls 50000     the CUDA kernels under AddressSanitizer

A call may return a result, raise an error that begins with an operator's name, or raise torch's own error
about the schema or memory. Anything else is a failure: another exception, a crash, a run beyond the time
limit.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.fuzz.call import LIBRARY, Call, Outcome
from tests.fuzz.children import PAST_LIMIT, UNDER_ASAN, Limits, Runner
from tests.fuzz.draw import draw_call, operators
from tests.fuzz.shrink import MOST_SLOW_TRIES, MOST_TRIES, shrink
from tests.support import Device

ROOT = Path(__file__).resolve().parents[2]
CALLS_OF_A_CHILD = 2000
MOST_EMULATED = 1 << 20  # elements of a tensor


@dataclass
class Report:
    """The outcomes of the calls of each operator, and the failed calls."""

    kinds: dict[str, Counter[str]] = field(default_factory=dict)
    failures: list[tuple[int, Call, Outcome]] = field(default_factory=list)

    def add(self, index: int, call: Call, outcome: Outcome) -> None:
        self.kinds.setdefault(call.op, Counter())[outcome.kind] += 1
        if outcome.is_failure:
            self.failures.append((index, call, outcome))

    def fraction(self, op: str) -> float:
        """The fraction of an operator's calls that returned a result."""
        kinds = self.kinds[op]
        return kinds["result"] / max(sum(kinds.values()), 1)


def fuzz(
    ops: Sequence[str],
    calls: int,
    seed: int,
    runner: Runner,
    library: str = LIBRARY,
    most: int | None = None,
) -> Report:
    """Run `calls` calls, equally many of each operator; for `most` see `draw_call`."""
    report = Report()
    numbered = [(ops[i % len(ops)], i // len(ops)) for i in range(calls)]
    for number, first in enumerate(range(0, calls, CALLS_OF_A_CHILD)):
        chosen = numbered[first : first + CALLS_OF_A_CHILD]
        drawn = [draw_call(op, seed, index, library, most) for op, index in chosen]
        made = replace(runner, threads=1 + number % 2).outcomes(drawn)
        for (_, index), call, outcome in zip(chosen, drawn, made, strict=True):
            report.add(index, call, outcome)
    return report


def distinct(report: Report) -> list[tuple[int, Call, Outcome, int]]:
    """Print one failure of each kind and operator, and their number, since equal causes look alike."""
    found: dict[tuple[str, str, str], list[tuple[int, Call, Outcome]]] = {}
    for index, call, outcome in report.failures:
        words = "".join(c for c in outcome.detail[:120] if not c.isdigit())
        found.setdefault((call.op, outcome.kind, words), []).append((index, call, outcome))
    return [(*alike[0], len(alike)) for alike in found.values()]


def print_failures(report: Report, seed: int, runner: Runner) -> None:
    for index, call, outcome, times in distinct(report):
        most = MOST_SLOW_TRIES if outcome.kind == PAST_LIMIT else MOST_TRIES
        simplest = shrink(call, lambda tried, kind=outcome.kind: runner.outcome(tried).kind == kind, most)
        print(f"\n{call.op}, call {index} of seed {seed}: {outcome.kind}, {times} times")
        print(outcome.detail)
        print(simplest.source(), flush=True)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--calls", type=int, default=20000, help="of all operators together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--op", action="append", help="this operator (may be repeated); default: all")
    parser.add_argument("--device", choices=("cpu", "emulated"), default="cpu")
    parser.add_argument("--asan", action="store_true", help="AddressSanitizer for the CPU too")
    parser.add_argument("--fractions", action="store_true", help="print the fraction of results by operator")
    return parser.parse_args(arguments)


def begin_sanitized(arguments: Sequence[str]) -> None:
    """Restart this program with the library of AddressSanitizer and the emulated device."""
    from tests.emulation.run import environment

    chosen = environment("asan", "forward")
    chosen["ASAN_OPTIONS"] += ":max_allocation_size_mb=64"
    os.chdir(ROOT)
    os.execve(sys.executable, [sys.executable, "-m", "tests.fuzz", *arguments], chosen)


def main(arguments: Sequence[str]) -> int:
    """The program; its exit status."""
    options = parse(arguments)
    sanitized = options.asan or options.device == "emulated"
    if sanitized and not UNDER_ASAN:
        begin_sanitized(arguments)
    limits = Limits(cpu_seconds=60, wall_seconds=600) if sanitized else Limits()
    runner = Runner(limits, Device(options.device).active)
    began = time.monotonic()
    most = MOST_EMULATED if options.device == "emulated" else None
    report = fuzz(options.op or operators(), options.calls, options.seed, runner, most=most)
    if options.fractions:
        for op, kinds in sorted(report.kinds.items()):
            print(f"{op:32} {report.fraction(op):6.1%}  {dict(kinds)}")
    print_failures(report, options.seed, runner)
    total = sum((kinds for kinds in report.kinds.values()), Counter())
    print(
        f"{options.calls} calls of {len(report.kinds)} operators in {time.monotonic() - began:.0f} s: "
        f"{total['result']} results, {total['refusal']} named errors, {total['memory']} out of memory, "
        f"{total['unbuildable']} that torch cannot make, {len(report.failures)} failures"
    )
    return 1 if report.failures else 0
