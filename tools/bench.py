"""Times the operators beside their rivals: every case of every `orbbec/*/bench.py`.

Usage: python tools/bench.py [--device cpu|cuda] [--threads 1 2] [--rounds 11] [--filter TEXT] [--output DIR]

Before anything is timed, every output is compared: byte for byte where a contender promises that, else by its
PSNR, which may have a least. Then contenders take turns, round by round, in one process; figures are medians
over the rounds, with the distance between the quartiles. One thread is timed in CPU time of the process, that
other programs on the machine disturb little; several threads are timed in wall time, CUDA by its own events.
Every sample, by both clocks, goes to DIR/<machine>/<operator>.json. Needs torch and NumPy alone; cv2 and
torchvision are rivals where they are there.
"""

import argparse
import importlib
import itertools
import json
import math
import re
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

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from orbbec.doctor import Facts, collect  # noqa: E402
from orbbec.testing.benchmark import Case, Contender, Work, as_array, cv2, psnr  # noqa: E402

SAMPLE_SECONDS = 0.02  # a sample is of so many runs that it lasts this long at least
FEWEST_ROUNDS = 7
COPY_BYTES = 2**30  # of the copy that a GPU's rate is measured with: far more than any cache holds


@dataclass
class Timing:
    """What one contender took: seconds a run, one number a round."""

    name: str
    exact: bool
    psnr: float | None
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)


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
    unit: str = "an image"

    def samples(self, timing: Timing) -> list[float]:
        return timing.cpu if self.clock == "cpu" else timing.wall

    def median(self, timing: Timing) -> float:
        return statistics.median(self.samples(timing))

    def spread(self, timing: Timing) -> float:
        low, _, high = statistics.quantiles(self.samples(timing), n=4)
        return (high - low) / self.median(timing)

    def ratio(self, timing: Timing) -> float:
        """How many times faster than the reference: the median of the rounds' own ratios."""
        pairs = zip(self.samples(self.timings[0]), self.samples(timing), strict=True)
        return statistics.median(reference / own for reference, own in pairs)


def find_cases(text: str) -> Iterator[tuple[str, Case]]:
    """The cases of all `bench.py` in whose operator and name `text`, a regular expression, is found."""
    for path in sorted(ROOT.glob("orbbec/*/bench.py")):
        operator = path.parent.name
        for case in importlib.import_module(f"orbbec.{operator}.bench").CASES:
            if re.search(text, f"{operator} {case.name}", re.IGNORECASE):
                yield operator, case


def check(work: Work) -> list[Timing]:
    """Compare the outputs of all contenders with what is expected.

    Raises:
        SystemExit: one that promises the same bytes gives others, or one is below its least PSNR.
    """
    timings = []
    for contender in work.contenders:
        actual = as_array(contender.run())
        same = actual.dtype == work.expected.dtype and np.array_equal(actual, work.expected)
        if contender.exact and not same:
            raise SystemExit(f"{contender.name}: its output is not what is expected; nothing was timed")
        off = None if same or actual.shape != work.expected.shape else round(psnr(actual, work.expected), 1)
        if off is not None and off < contender.least_psnr:
            raise SystemExit(
                f"{contender.name}: {off} dB, less than {contender.least_psnr}; nothing was timed"
            )
        timings.append(Timing(contender.name, same, off))
    return timings


def time_case(operator: str, case: Case, device: str, threads: list[int], rounds: int) -> list[Result]:
    """Time every contender with every number of threads, in turns."""
    work = case.prepare(device)
    measure = sample_on_cuda if device == "cuda" else sample_on_cpu
    timings, runs = {}, {}
    for count in threads:
        set_threads(count)
        timings[count] = check(work)
        runs[count] = [runs_a_sample(contender, measure) for contender in work.contenders]
    for turn, place, count in itertools.product(range(rounds), range(len(work.contenders)), threads):
        # Another one begins each round, so that nobody always follows the same neighbour.
        chosen = (turn + place) % len(work.contenders)
        run = work.contenders[chosen].run
        set_threads(count)
        if runs[count][chosen] > 1:
            run()  # threads start anew when their number changes, which only a short run feels
        wall, cpu = measure(run, runs[count][chosen])
        timings[count][chosen].wall.append(wall)
        timings[count][chosen].cpu.append(cpu)
    about = (work.images, work.moved_bytes)
    return [
        Result(operator, case.name, count, *about, clock_of(device, count), timings[count], work.unit)
        for count in threads
    ]


def clock_of(device: str, threads: int) -> str:
    return "cuda" if device == "cuda" else "cpu" if threads == 1 else "wall"


def set_threads(threads: int) -> None:
    torch.set_num_threads(threads)
    if cv2 is not None:
        cv2.setNumThreads(threads)


def runs_a_sample(contender: Contender, measure: Callable[..., tuple[float, float]]) -> int:
    """How many runs last `SAMPLE_SECONDS`; also warms up."""
    contender.run()
    return max(1, math.ceil(SAMPLE_SECONDS / measure(contender.run, 1)[0]))


def sample_on_cpu(run: Callable[[], Any], runs: int) -> tuple[float, float]:
    """Wall and CPU seconds a run."""
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(runs):
        run()
    return (time.perf_counter() - wall) / runs, (time.process_time() - cpu) / runs


def sample_on_cuda(run: Callable[[], Any], runs: int) -> tuple[float, float]:
    """Seconds a run between two events of the stream, and CPU seconds a run until all were queued."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize()
    cpu = time.process_time()
    begin.record()
    for _ in range(runs):
        run()
    end.record()
    cpu = time.process_time() - cpu
    torch.cuda.synchronize()
    return begin.elapsed_time(end) / 1000 / runs, cpu / runs


def copy_rate(device: str) -> float | None:
    """Bytes a second, read and written, of a copy inside of the GPU's memory; the median of 11."""
    if device != "cuda":
        return None
    source = torch.zeros(COPY_BYTES, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    sample_on_cuda(lambda: target.copy_(source), 3)
    return (
        2
        * COPY_BYTES
        / statistics.median(sample_on_cuda(lambda: target.copy_(source), 3)[0] for _ in range(11))
    )


def machine_name(facts: Facts, device: str) -> str:
    """A file name that says which processor, and nothing about whose machine it is.

    Example:
        >>> re.sub(r"[^a-z0-9]+", "-", "NVIDIA H200".lower())
        'nvidia-h200'
    """
    name = facts.gpus[0].name if device == "cuda" else f"{facts.cpu} {facts.cores} cores"
    name = re.sub(r"\((?:r|tm)\)|@", " ", name.lower())
    return re.sub(r"[^a-z0-9.]+", "-", name).strip("-")


def provenance(facts: Facts, device: str, rounds: int) -> dict[str, Any]:
    """Where, when and of what the figures are. No path and no host name."""
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


def table(results: list[Result], rate: float | None) -> str:
    """A Markdown table a case."""
    lines = []
    for result in results:
        threads = "" if rate else f", {result.threads} thread{'s' if result.threads > 1 else ''}"
        lines += [f"### {result.operator}: {result.case}{threads} ({result.clock} time)", ""]
        head = ["contender", f"ms {result.unit}", "spread", "times the first", "output"]
        head += ["GB/s", "of the copy rate"] if rate else []
        lines += [row(head), row(["---", *["---:"] * (len(head) - 1)])]
        for timing in result.timings:
            each = result.median(timing) / result.images
            output = "same bytes" if timing.exact else "another shape"
            if timing.psnr is not None:
                output = "same values" if math.isinf(timing.psnr) else f"PSNR {timing.psnr:.1f} dB"
            cells = [timing.name, f"{1000 * each:.4f}", f"{result.spread(timing):.0%}"]
            cells += [f"{result.ratio(timing):.2f}", output]
            if rate:
                speed = result.moved_bytes / result.median(timing)
                cells += [f"{speed / 1e9:.0f}", f"{speed / rate:.0%}"]
            lines.append(row(cells))
        lines.append("")
    return "\n".join(lines)


def scaling_table(results: list[Result]) -> str:
    """How many times faster each is with several threads than with one, in wall time."""
    single = {(r.operator, r.case, t.name): t for r in results if r.threads == 1 for t in r.timings}
    lines = [row(["case", "contender", "threads", "times one thread"]), row(["---", "---", "---:", "---:"])]
    for result in results:
        for timing in result.timings:
            one = single.get((result.operator, result.case, timing.name))
            if result.threads > 1 and one:
                gain = statistics.median(a / b for a, b in zip(one.wall, timing.wall, strict=True))
                lines.append(row([result.case, timing.name, str(result.threads), f"{gain:.2f}"]))
    return "\n".join(lines) if len(lines) > 2 else ""


def row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


@contextmanager
def progress(total: int) -> Iterator[Callable[[str], None]]:
    """Gives `say(what)`, to be called before each of `total` steps; a bar where rich is installed."""
    try:
        from rich.progress import MofNCompleteColumn, Progress
    except ImportError:
        yield lambda what: print(what, file=sys.stderr)
        return
    with Progress(*Progress.get_default_columns(), MofNCompleteColumn(), transient=True) as bar:
        task = bar.add_task("", total=total + 1)
        yield lambda what: bar.update(task, advance=1, description=what)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Times the operators beside their rivals.")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="on the CPU (default: 1 2)")
    parser.add_argument("--rounds", type=int, default=11, help=f"at least {FEWEST_ROUNDS} (default: 11)")
    parser.add_argument("--filter", default="", help="a regular expression: only cases like '^nms '")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "benchmarks")
    given = parser.parse_args()
    if given.rounds < FEWEST_ROUNDS or min(given.threads) < 1:
        parser.error(f"expected --rounds of at least {FEWEST_ROUNDS} and --threads of at least 1")
    if given.device == "cuda" and not torch.cuda.is_available():
        parser.error("--device cuda: torch finds no GPU here")
    return given


def main() -> None:
    given = arguments()
    cases = list(find_cases(given.filter))
    if not cases:
        raise SystemExit(f"no case is like '{given.filter}'")
    threads = given.threads if given.device == "cpu" else [1]
    facts = collect()
    rate = copy_rate(given.device)
    folder = given.output / machine_name(facts, given.device)
    with progress(len(cases)) as say:
        for operator, own in itertools.groupby(cases, key=lambda found: found[0]):
            results: list[Result] = []
            for _, case in own:
                say(f"{operator}: {case.name}")
                results += time_case(operator, case, given.device, threads, given.rounds)
            write(folder / operator, results, rate, facts, given)


def write(
    path: Path, results: list[Result], rate: float | None, facts: Facts, given: argparse.Namespace
) -> None:
    """Write `path`.json and `path`.md, and print the latter."""
    about = provenance(facts, given.device, given.rounds)
    content = {**about, "copy_bytes_a_second": rate, "results": [asdict(result) for result in results]}
    where = about["gpu"] or f"{about['cpu']}, {about['cores']} cores"
    versions = ", ".join(
        f"{name} {about[name]}" for name in ("orbbec", "torch", "cv2", "torchvision") if about[name]
    )
    head = f"# {where}, {about['date']}\n\n{versions}, at {about['commit'] or 'an unknown commit'}; "
    head += f"medians of {about['rounds']} interleaved rounds.\n"
    head += f"The GPU copies {rate / 1e9:.0f} GB/s, read and written.\n" if rate else ""
    text = "\n".join(filter(None, [head, table(results, rate), scaling_table(results)]))
    path.parent.mkdir(parents=True, exist_ok=True)
    Path(f"{path}.json").write_text(json.dumps(content, indent=1) + "\n")
    Path(f"{path}.md").write_text(text.rstrip() + "\n")
    print(text)


if __name__ == "__main__":
    main()
