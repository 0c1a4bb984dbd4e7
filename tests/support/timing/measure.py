"""Compares the outputs of contenders, then times them alternately, round by round, in one process.

One thread is timed in CPU time of the process and its children, which other programs on the machine disturb
little; several threads are timed in wall time, CUDA by CUDA events.
"""

import argparse
import itertools
import math
import multiprocessing
import re
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import torch

from orbbec.bridge.arguments import Array
from orbbec.cli.doctor import Facts
from tests.support.timing.benchmark import OURS, Contender, Work, as_array, cv2, psnr

ROOT = Path(__file__).parents[3]
SAMPLE_SECONDS = 0.02  # a sample repeats runs until it lasts this long
WARM_SECONDS = 0.25  # threads restart when their number changes, which a longer run amortizes
FEWEST_ROUNDS = 7


@dataclass
class Timing:
    """The times of one contender: seconds per run, one number per round."""

    name: str
    exact: bool
    psnr: float | None
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    @property
    def is_ours(self) -> bool:
        return self.name.startswith(OURS)

    @property
    def output(self) -> str:
        """The agreement of its output with the expected one."""
        if self.psnr is None:
            return "same bytes" if self.exact else "another shape"
        return "same values" if math.isinf(self.psnr) else f"PSNR {self.psnr:.1f} dB"


@dataclass
class Result:
    """One case with one number of threads."""

    operator: str
    case: str
    threads: int
    images: int
    moved_bytes: int
    clock: str  # "cpu", "wall" or "cuda"
    timings: list[Timing]
    unit: str = "per image"

    def samples(self, timing: Timing) -> list[float]:
        return timing.cpu if self.clock == "cpu" else timing.wall

    def median(self, timing: Timing) -> float:
        return statistics.median(self.samples(timing))

    def spread(self, timing: Timing) -> float:
        low, _, high = statistics.quantiles(self.samples(timing), n=4)
        return (high - low) / self.median(timing)

    def ratio(self, timing: Timing, reference: Timing | None = None) -> float:
        """The speed relative to the reference, or to the first: the median of the ratios in each round."""
        pairs = zip(self.samples(reference or self.timings[0]), self.samples(timing), strict=True)
        return statistics.median(reference / own for reference, own in pairs)

    @property
    def ours(self) -> list[Timing]:
        return [timing for timing in self.timings if timing.is_ours]

    @property
    def best_rival(self) -> Timing | None:
        """The fastest rival with this number of threads; None if there is none."""
        return min((timing for timing in self.timings if not timing.is_ours), key=self.median, default=None)

    @property
    def headline(self) -> float | None:
        """The speed of our first contender relative to the fastest rival."""
        rival = self.best_rival
        return self.ratio(self.ours[0], rival) if rival and self.ours else None


def result_of(written: dict[str, Any]) -> Result:
    """The inverse of `asdict`."""
    return Result(**{**written, "timings": [Timing(**timing) for timing in written["timings"]]})


class Refused(SystemExit):
    """The output of a contender is wrong; its case is not timed."""


def check(contender: Contender, expected: Array) -> Timing:
    """Compare a contender's output with the expected one.

    Raises:
        Refused: it promises equal bytes but differs, or its PSNR is below its limit.
    """
    actual = as_array(contender.run())
    same = actual.dtype == expected.dtype and np.array_equal(actual, expected)
    if contender.exact and not same:
        raise Refused(f"{contender.name}: its output is not what is expected; nothing was timed")
    if actual.shape != expected.shape:
        if contender.least_psnr:
            raise Refused(f"{contender.name}: expected shape {expected.shape}, but got {actual.shape}")
        return Timing(contender.name, exact=False, psnr=None)
    off = None if same else round(psnr(actual, expected), 1)
    if off is not None and off < contender.least_psnr:
        raise Refused(f"{contender.name}: {off} dB, less than {contender.least_psnr}; nothing was timed")
    return Timing(contender.name, same, off)


def time_case(
    operator: str, case: str, work: Work, device: str, threads: list[int], rounds: int
) -> list[Result]:
    """Time all contenders alternately, with every number of threads."""
    measure = sample_on_cuda if device == "cuda" else sample_on_cpu
    timings, seconds = {}, {}
    for count in threads:
        set_threads(count)
        timings[count] = [check(contender, work.expected) for contender in work.contenders]
        seconds[count] = [seconds_a_run(contender.run, measure) for contender in work.contenders]
    for turn, index, count in itertools.product(range(rounds), range(len(work.contenders)), threads):
        # Each round begins with another one, so that none always runs after the same one.
        chosen = (turn + index) % len(work.contenders)
        run, lasts = work.contenders[chosen].run, seconds[count][chosen]
        set_threads(count)
        if lasts < WARM_SECONDS:
            run()
        wall, cpu = measure(run, max(1, math.ceil(SAMPLE_SECONDS / lasts)))
        timings[count][chosen].wall.append(wall)
        timings[count][chosen].cpu.append(cpu)
    about = (work.images, work.moved_bytes)
    return [
        Result(operator, case, count, *about, clock_of(device, count), timings[count], work.unit)
        for count in threads
    ]


def clock_of(device: str, threads: int) -> str:
    return "cuda" if device == "cuda" else "cpu" if threads == 1 else "wall"


def set_threads(threads: int) -> None:
    torch.set_num_threads(threads)
    if cv2 is not None:
        cv2.setNumThreads(threads)


def seconds_a_run(run: Callable[[], Any], measure: Callable[..., tuple[float, float]]) -> float:
    """The duration of the second run; the first is a warm-up."""
    run()
    return measure(run, 1)[0]


def cpu_seconds() -> float:
    """CPU seconds of this process and its children, those that have ended and those that run."""
    alive = sum(_cpu_seconds_of(child.pid) for child in multiprocessing.active_children() if child.pid)
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return alive + sum(usage.ru_utime + usage.ru_stime for usage in spent)


def _cpu_seconds_of(process: int) -> float:
    """CPU seconds of a running process, by Linux's clock_getcpuclockid(3)."""
    try:
        return time.clock_gettime(~process << 3 | 2)
    except OSError:  # it has ended meanwhile
        return 0.0


def sample_on_cpu(run: Callable[[], Any], runs: int) -> tuple[float, float]:
    """Wall and CPU seconds per run."""
    wall, cpu = time.perf_counter(), cpu_seconds()
    for _ in range(runs):
        run()
    return (time.perf_counter() - wall) / runs, (cpu_seconds() - cpu) / runs


def sample_on_cuda(run: Callable[[], Any], runs: int) -> tuple[float, float]:
    """Seconds per run between two events of the stream, and CPU seconds per run until all were queued."""
    event: Any = torch.cuda.Event
    begin, end = event(enable_timing=True), event(enable_timing=True)
    torch.cuda.synchronize()
    cpu = cpu_seconds()
    begin.record()
    for _ in range(runs):
        run()
    end.record()
    cpu = cpu_seconds() - cpu
    torch.cuda.synchronize()
    return begin.elapsed_time(end) / 1000 / runs, cpu / runs


def timing_arguments(
    description: str, rounds: int, names: str, can_be_apart: bool = False
) -> argparse.Namespace:
    """The arguments of a program that times contenders, with a default number of rounds."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("names", nargs="*", help=f"{names} (default: all)")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="on the CPU (default: 1 2)")
    parser.add_argument(
        "--rounds", type=int, default=rounds, help=f"at least {FEWEST_ROUNDS} (default: {rounds})"
    )
    parser.add_argument("--filter", default="", help="a regular expression, of the names of what is timed")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "benchmarks")
    if can_be_apart:
        parser.add_argument("--apart", action="store_true", help="one after another, as on CUDA")
    options = parser.parse_args()
    if options.rounds < FEWEST_ROUNDS or min(options.threads) < 1:
        parser.error(f"expected --rounds of at least {FEWEST_ROUNDS} and --threads of at least 1")
    if options.device == "cuda":
        if not torch.cuda.is_available():
            parser.error("--device cuda: torch finds no GPU here")
        options.threads = [1]
    return options


def machine_name(facts: Facts, device: str) -> str:
    """A file name for the processor, without identifying the machine.

    Example:
        >>> re.sub(r"[^a-z0-9]+", "-", "NVIDIA H200".lower())
        'nvidia-h200'
    """
    name = facts.gpus[0].name if device == "cuda" else f"{facts.cpu} {facts.cores} cores"
    name = re.sub(r"\((?:r|tm)\)|@", " ", name.lower())
    return re.sub(r"[^a-z0-9.]+", "-", name).strip("-")


def provenance(facts: Facts, device: str, rounds: int) -> dict[str, Any]:
    """The machine, time and versions of a run, without paths and host names."""
    kept = (
        "orbbec",
        "torch",
        "numpy",
        "cv2",
        "torchvision",
        "python",
        "cpu",
        "cpu_flags",
        "cores",
        "compiler",
        "binary_cuda",
    )
    everything = asdict(facts)
    commit = git("rev-parse", "--short", "HEAD")
    return {
        **{name: everything[name] for name in kept},
        "architectures": facts.architectures,
        "gpu": facts.gpus[0].name if device == "cuda" else "",
        "driver": facts.driver if device == "cuda" else "",
        "device": device,
        "rounds": rounds,
        "commit": commit + ("+changes" if commit and git("status", "--porcelain", "orbbec") else ""),
        "date": datetime.now(timezone.utc).date().isoformat(),
    }


def git(*arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()


def row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def heading(result: Result) -> str:
    """The heading of a table.

    Example:
        >>> heading(Result("peers", "W5 nms", 2, 1, 0, "wall", []))
        'W5 nms, 2 threads (wall time)'
    """
    threads = "" if result.clock == "cuda" else f", {result.threads} thread{'s' * (result.threads > 1)}"
    return f"{result.case}{threads} ({result.clock} time)"


def wins(result: Result) -> list[Timing]:
    """The rivals that are faster than our first contender."""
    if not result.ours:
        return []
    first = result.ours[0]
    return [each for each in result.timings if not each.is_ours and result.ratio(each, first) > 1]


def losses(results: list[Result]) -> list[str]:
    """One line per rival that wins a case."""
    lines = [
        f"- {heading(result)}: {timing.name}, {result.ratio(timing, result.ours[0]):.2f} times orbbec"
        for result in results
        for timing in wins(result)
    ]
    return lines or ["Nowhere in this run."]


@contextmanager
def progress(total: int) -> Iterator[Callable[[str], None]]:
    """Yield `say(what)`, to be called before each of `total` steps; it draws a bar if rich is installed."""
    try:
        from rich.progress import MofNCompleteColumn, Progress
    except ImportError:
        yield lambda what: print(what, file=sys.stderr)
        return
    with Progress(*Progress.get_default_columns(), MofNCompleteColumn(), transient=True) as bar:
        task = bar.add_task("", total=total + 1)
        yield lambda what: bar.update(task, advance=1, description=what)
