"""Makes small faults in the package, one at a time, and lists those that no test finds.

    python tools/mutate.py [PATH ...] [--count 150] [--seed 0] [--covered-by PATH ...] [--output DIR]

Faults are made in a copy of the working tree. The tests run once under coverage, with samples of their
grids, which shows the lines that each test reaches and its duration. A random sample of mutations is then
run against the tests that reach their lines, those of the same folder first, until one fails or the time is
up. Survivors that are not faults are listed in `tests/mutations.json` with a reason, for one change of a line
or for all (`*`). Text goes to the
terminal, JSON to DIR. The exit status is 1 if more than 3 % survive without a reason.

Tests that need a missing library are skipped; `make mutate` installs all of them.
"""

from __future__ import annotations

import _thread
import argparse
import contextlib
import difflib
import hashlib
import importlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import accumulate
from pathlib import Path

import pytest
import torch
from mutations import Mutation, compiles, mutations_of

ROOT = Path(__file__).resolve().parents[1]
PATHS = ("orbbec/plan", "orbbec/batch", "orbbec/transforms", "orbbec/backends", "orbbec/data")
REASONS = ROOT / "tests" / "mutations.json"
MOST_WITHOUT_REASON = 0.03
OUTCOMES = ("killed", "elsewhere", "timeout", "survived")  # elsewhere: by tests of other folders alone
SECONDS_OF_TESTS = 40.0  # of a folder and of all others, to which a mutation is given
FIRST = 12  # tests that go alone: most mutations fail one, and few files are read for them
PATIENCE = 8.0  # times that: tests wait, and other work may run on the machine
OPTIONS = "addopts=--doctest-modules --import-mode=importlib"
QUIET = ["-q", "-x", "--tb=no", "--no-header", "-p", "no:cacheprovider", "-o", OPTIONS]
SAMPLES = ("--sampled", "--day", "0")  # of grids; the same whenever they are measured
# Their tests read all files, or the signatures of all that is public.
OF_SOURCES = ("tests/project/test_factory_calls.py", "tests/project/test_signatures.py")
HEAVY = ("torch", "torch._dynamo", "numpy", "cv2", "PIL.Image", "hypothesis", "torchvision", "albumentations")


@dataclass
class Coverage:
    """The tests that reach each line.

    Args:
        seconds: CPU seconds of each test, by id; other load does not change them.
        failed: tests that fail without any mutation, which are useless here.
        lines: ids of tests by file and line, as indices into `names`.
    """

    names: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)
    lines: dict[str, dict[int, list[int]]] = field(default_factory=dict)

    def tests_of(self, mutation: Mutation) -> tuple[list[str], list[str]]:
        """The tests that reach the lines of a mutation: those of its folder, and all others.

        If only imports run these lines, those that reach its file, and all of its folder.
        """
        by_line = self.lines.get(mutation.file, {})
        span = range(mutation.line, mutation.last_line + 1)
        found = {index for line in span for index in by_line.get(line, ())}
        if not found:
            found = {index for indices in by_line.values() for index in indices}
            folder = f"{mutation.file.rpartition('/')[0]}/tests/"
            found |= {index for index, name in enumerate(self.names) if name.startswith(folder)}
        of_sources = {name for name in self.names if name.startswith(OF_SOURCES)}
        names = ({self.names[index] for index in found} | of_sources) - self.failed
        folder = "/".join(mutation.file.split("/")[:2])
        nearby = {name for name in names if name.startswith(f"{folder}/")}
        nearest = mutation.file.rpartition("/")[0]
        return self._in_order(nearby, nearest), self._in_order(names - nearby, nearest)

    def _in_order(self, names: set[str], nearest: str) -> list[str]:
        """Sort tests: those of a folder, and of each function the fastest; no more than there is time for."""
        by_function: dict[str, list[str]] = defaultdict(list)
        for name in sorted(names, key=lambda name: (self.seconds.get(name, 0.0), name)):
            by_function[name.split("[")[0]].append(name)
        ranks = {name: position for group in by_function.values() for position, name in enumerate(group)}

        def order_of(name: str) -> tuple[object, ...]:
            return not name.startswith(f"{nearest}/"), ranks[name], self.seconds.get(name, 0.0), name

        ordered = sorted(names, key=order_of)
        totals = accumulate(self.seconds.get(name, 0.0) for name in ordered)
        return [name for name, total in zip(ordered, totals, strict=True) if total <= SECONDS_OF_TESTS]


class Recorder:
    """A pytest plugin that records the lines that each test reaches."""

    def __init__(self, scratch: Path, paths: list[str]) -> None:
        coverage = importlib.import_module("coverage")
        include = [f"{scratch}/{path}/*" for path in paths] + [f"{scratch}/{path}" for path in paths]
        self.scratch = scratch
        self.result = Coverage()
        self._trace: Callable[..., object] | None = None
        # A file per process: a fork that ends would replace that of its parent.
        data = {"data_file": str(scratch / ".coverage"), "data_suffix": True}
        self.coverage = coverage.Coverage(**data, config_file=False, include=include, messages=False)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.coverage.switch_context(item.nodeid)
        self._trace = sys.gettrace() or self._trace
        sys.settrace(self._trace)  # an earlier test may have left none
        begin = sum(os.times()[:4])
        try:
            return (yield)
        finally:
            self.result.seconds[item.nodeid] = sum(os.times()[:4]) - begin

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.result.failed.add(report.nodeid)

    def trace_threads(self) -> None:
        """Trace also the threads that are begun without `threading`, as a Loader's are."""
        begin = _thread.start_new_thread

        def traced(function: Callable[..., object], arguments: tuple[object, ...]) -> int:
            def run() -> None:
                sys.settrace(threading.gettrace())
                function(*arguments)

            return begin(run, ())

        _thread.start_new_thread = traced

    def finish(self) -> Coverage:
        """The lines of each test."""
        result = self.result
        result.names = sorted(result.seconds)
        index = {name: number for number, name in enumerate(result.names)}
        data = self.coverage.get_data()
        for file in data.measured_files():
            if "/tests/" not in file:
                contexts = data.contexts_by_lineno(file)
                tests = {n: sorted(index[c] for c in each if c in index) for n, each in contexts.items()}
                result.lines[str(Path(file).relative_to(self.scratch))] = tests
        return result


@contextlib.contextmanager
def copied_tree() -> Iterator[Path]:
    """A temporary copy of the files that git knows and of the binaries."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        **{"cwd": ROOT, "capture_output": True, "text": True, "check": True},
    ).stdout.split("\n")
    binaries = [str(path.relative_to(ROOT)) for path in (ROOT / "orbbec").rglob("*.so")]
    with tempfile.TemporaryDirectory(prefix="orbbec-mutate-") as folder:
        scratch = Path(folder)
        for name in filter(None, [*listed, *binaries]):
            if (ROOT / name).is_file() and not (ROOT / name).is_symlink():
                (scratch / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, scratch / name)
        yield scratch


def in_child(scratch: Path, work: Callable[[], int], seconds: float) -> int | None:
    """The exit status of `work()` in a fork that runs in the copy; None if it took too long.

    torch is imported once, before forking, and not for each mutation.
    """
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.setsid()
            os.chdir(scratch)
            sys.path[:] = [str(scratch), *(entry for entry in sys.path if entry not in ("", str(ROOT)))]
            os.environ["PYTHONPATH"] = str(scratch)
            sys.dont_write_bytecode = True
            silence = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silence, 1)
            os.dup2(silence, 2)
            status = work()
        finally:
            os._exit(int(status))
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None


def fingerprint(scratch: Path, paths: list[str], tests: list[str]) -> str:
    """A hash of all Python files of the package and the tests, and of the request."""
    digest = hashlib.sha256(repr((paths, tests)).encode())
    folders = {scratch / "orbbec", *(scratch / test for test in tests)}
    for path in sorted({path for folder in folders for path in folder.rglob("*.py")}):
        digest.update(str(path.relative_to(scratch)).encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def measured(scratch: Path, paths: list[str], tests: list[str], folder: Path) -> Coverage:
    """The coverage of `tests`, from an earlier run if no file has changed."""
    path = folder / f"coverage-{fingerprint(scratch, paths, tests)}.json"
    if not path.exists():

        def work() -> int:
            recorder = Recorder(scratch, paths)
            recorder.coverage.start()
            recorder.trace_threads()
            pytest.main([*[each for each in QUIET if each != "-x"], *SAMPLES, *tests], plugins=[recorder])
            recorder.coverage.stop()
            found = recorder.finish()
            path.write_text(json.dumps({**asdict(found), "failed": sorted(found.failed)}))
            return 0

        if in_child(scratch, work, 3 * 3600) != 0:
            raise SystemExit("mutate: the tests could not be measured")
    raw = json.loads(path.read_text())
    lines = {file: {int(n): tests for n, tests in each.items()} for file, each in raw["lines"].items()}
    return Coverage(raw["names"], raw["seconds"], set(raw["failed"]), lines)


def found_again(scratch: Path, names: list[str], folder: Path) -> set[str]:
    """The tests whose ids are the same in another process; some ids contain addresses."""
    path = folder / "found.json"

    class Noted:
        def pytest_collection_finish(self, session: pytest.Session) -> None:
            path.write_text(json.dumps([item.nodeid for item in session.items]))

    def work() -> int:
        files = sorted({name.split("::")[0] for name in names})
        return pytest.main([*QUIET, "--collect-only", *files], plugins=[Noted()])

    if in_child(scratch, work, 900) != 0:
        raise SystemExit("mutate: the tests could not be listed")
    return set(json.loads(path.read_text()))


def sample(scratch: Path, paths: list[str], count: int, seed: int) -> list[Mutation]:
    """A uniform random sample of mutations, determined by seed and files."""
    files = sorted(
        path
        for name in paths
        for path in ([scratch / name] if name.endswith(".py") else (scratch / name).rglob("*.py"))
        if "tests" not in path.parts and not path.name.startswith("bench")
    )
    found = [
        each for path in files for each in mutations_of(str(path.relative_to(scratch)), path.read_text())
    ]
    random.Random(seed).shuffle(found)
    chosen = []
    for mutation in found:
        if len(chosen) == count:
            break
        if mutation.needs_cuda and not torch.cuda.is_available():
            continue
        if compiles(mutation.applied((scratch / mutation.file).read_bytes())):
            chosen.append(mutation)
    return chosen


def outcome(scratch: Path, mutation: Mutation, coverage: Coverage) -> tuple[str, int]:
    """The outcome of a mutation, one of `OUTCOMES`, and the number of tests that reach it."""
    nearby, others = coverage.tests_of(mutation)
    path = scratch / mutation.file
    source = path.read_bytes()
    path.write_bytes(mutation.applied(source))
    stages = [
        (kind, some)
        for kind, tests in (("killed", nearby), ("elsewhere", others))
        for some in (tests[:FIRST], tests[FIRST:])
        if some
    ]
    try:
        for kind, tests in stages:
            seconds = 120 + PATIENCE * sum(coverage.seconds[name] for name in tests)
            status = in_child(scratch, partial(pytest.main, [*QUIET, *tests]), seconds)
            if status != 0:
                return "timeout" if status is None else kind, len(nearby + others)
    finally:
        path.write_bytes(source)
    return "survived", len(nearby + others)


def difference(scratch: Path, mutation: Mutation) -> str:
    source = (scratch / mutation.file).read_bytes()
    before, after = (text.decode().splitlines(keepends=True) for text in (source, mutation.applied(source)))
    return "".join(difflib.unified_diff(before, after, mutation.file, mutation.file, n=1))


def reasons() -> dict[tuple[str, str, str], str]:
    """The reasons why surviving mutations are not faults; `*` stands for all of a line."""
    entries = json.loads(REASONS.read_text()) if REASONS.exists() else []
    return {(each["file"], each["line"], each["mutation"]): each["reason"] for each in entries}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="*", default=list(PATHS), help="what is mutated")
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--covered-by", nargs="+", default=["orbbec", "tests"], help="the tests to run")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "mutate")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    for name in HEAVY:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    with copied_tree() as scratch:
        coverage = measured(scratch, options.paths, options.covered_by, options.output)
        coverage.failed |= set(coverage.names) - found_again(scratch, coverage.names, options.output)
        chosen = sample(scratch, options.paths, options.count, options.seed)
        return report(scratch, chosen, coverage, options.output / f"mutations-{options.seed}.json")


def report(scratch: Path, chosen: list[Mutation], coverage: Coverage, output: Path) -> int:
    """Try all mutations and print the outcomes."""
    known, rows = reasons(), []
    for number, mutation in enumerate(chosen, 1):
        begin = time.monotonic()
        result, tests = outcome(scratch, mutation, coverage)
        keys = mutation.key, (*mutation.key[:2], "*")
        reason = next((known[key] for key in keys if key in known), "") if result == "survived" else ""
        diff = difference(scratch, mutation)
        position = f"{mutation.file}:{mutation.line}"
        line = f"[{number}/{len(chosen)}] {result:9} {position} {mutation.key[2]}"
        print(f"{line} ({tests} tests, {time.monotonic() - begin:.0f} s)", flush=True)
        if result == "survived":
            print(f"{diff}{f'No fault: {reason}' if reason else 'No reason is given.'}\n", flush=True)
        file, source_line, change = mutation.key
        rows.append(
            {
                **{"file": file, "number": mutation.line, "line": source_line, "mutation": change},
                **{"outcome": result, "tests": tests, "reason": reason, "diff": diff},
            }
        )
        output.write_text(json.dumps(rows, indent=1) + "\n")
    outcomes = Counter(row["outcome"] for row in rows)
    faults = sum(row["outcome"] == "survived" and not row["reason"] for row in rows)
    print(f"{len(rows)} mutations: {', '.join(f'{outcomes[each]} {each}' for each in OUTCOMES)}, of which")
    print(f"{faults} without a reason ({faults / max(len(rows), 1):.1%}); {output}")
    return int(faults > MOST_WITHOUT_REASON * len(rows))


if __name__ == "__main__":
    sys.exit(main())
