"""Times operators and their rivals: every case in `benchmarks/ops`.

    python tools/bench.py [OPERATOR ...] [--device cpu|cuda] [--threads 1 2] [--rounds 11] [--filter TEXT]
        [--output DIR]

All outputs are compared before timing: byte for byte if a contender promises that, else by PSNR, which may
have a lower limit. Then contenders alternate, round by round, in one process; figures are medians over the
rounds, with the distance between the quartiles. One thread is timed in CPU time of the process, which other
programs on the machine disturb little; several threads are timed in wall time, CUDA by CUDA events. Every
sample, by both clocks, goes to DIR/<machine>/<operator>.json. Only torch and NumPy are required; cv2 and
torchvision are rivals if they are installed. A case that fails does not stop the others; the exit status is
then 1.
"""

import argparse
import importlib
import itertools
import re
import statistics
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import torch

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from orbbec.cli.doctor import Facts, collect  # noqa: E402
from tests.support.timing.benchmark import Case  # noqa: E402
from tests.support.timing.measure import (  # noqa: E402
    Refused,
    Result,
    heading,
    losses,
    machine_name,
    progress,
    provenance,
    row,
    sample_on_cuda,
    time_case,
    timing_arguments,
)
from tests.support.timing.records import write_records  # noqa: E402

COPY_BYTES = 2**30  # of the copy that measures a GPU's rate: far more than any cache


def find_cases(text: str) -> Iterator[tuple[str, Case]]:
    """The cases whose operator and name match `text`, a regular expression."""
    for path in sorted(ROOT.glob("benchmarks/ops/*.py")):
        for case in importlib.import_module(f"benchmarks.ops.{path.stem}").CASES:
            if re.search(text, f"{path.stem} {case.name}", re.IGNORECASE):
                yield path.stem, case


def copy_rate(device: str) -> float | None:
    """Bytes per second, read and written, of a copy within GPU memory; the median of 11."""
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


def table(results: list[Result], rate: float | None) -> str:
    """The cases that a rival wins, and a Markdown table per case; speeds are relative to the best rival."""
    lines = ["## Where a rival wins", "", *losses(results), ""]
    for result in results:
        lines += [f"### {result.operator}: {heading(result)}", ""]
        reference = result.best_rival or result.timings[0]
        head = ["contender", f"ms {result.unit}", "spread", "speed, best rival = 1", "output"]
        head += ["GB/s", "of the copy rate"] if rate else []
        lines += [row(head), row(["---", *["---:"] * (len(head) - 1)])]
        for timing in result.timings:
            each = result.median(timing) / result.images
            cells = [timing.name, f"{1000 * each:.4f}", f"{result.spread(timing):.0%}"]
            cells += [f"{result.ratio(timing, reference):.2f}", timing.output]
            if rate:
                speed = result.moved_bytes / result.median(timing)
                cells += [f"{speed / 1e9:.0f}", f"{speed / rate:.0%}"]
            lines.append(row(cells))
        lines.append("")
    return "\n".join(lines)


def scaling_table(results: list[Result]) -> str:
    """The speedup of each contender with several threads, in wall time."""
    single = {(r.operator, r.case, t.name): t for r in results if r.threads == 1 for t in r.timings}
    lines = [row(["case", "contender", "threads", "times one thread"]), row(["---", "---", "---:", "---:"])]
    for result in results:
        for timing in result.timings:
            one = single.get((result.operator, result.case, timing.name))
            if result.threads > 1 and one:
                gain = statistics.median(a / b for a, b in zip(one.wall, timing.wall, strict=True))
                lines.append(row([result.case, timing.name, str(result.threads), f"{gain:.2f}"]))
    return "\n".join(lines) if len(lines) > 2 else ""


def main() -> None:
    options = timing_arguments("Times the operators compared with their rivals.", 11, names="operators")
    wanted = f"^({'|'.join(options.names)}) .*{options.filter}" if options.names else options.filter
    cases = list(find_cases(wanted))
    if not cases:
        raise SystemExit(f"no case is like '{wanted}'")
    facts = collect()
    rate = copy_rate(options.device)
    folder = options.output / machine_name(facts, options.device)
    failed: list[str] = []
    with progress(len(cases)) as say:
        for operator, own in itertools.groupby(cases, key=lambda found: found[0]):
            results: list[Result] = []
            for _, case in own:
                say(f"{operator}: {case.name}")
                try:
                    work = case.prepare(options.device)
                    results += time_case(
                        operator, case.name, work, options.device, options.threads, options.rounds
                    )
                except (Exception, Refused) as error:  # the other cases are to run
                    failed.append(f"{operator}, {case.name}: {type(error).__name__}: {error}")
                    print(f"FAILED: {failed[-1]}", flush=True)
            if results:
                write(folder / operator, results, rate, facts, options)
    if failed:
        raise SystemExit("\n".join(["these cases failed:", *failed]))


def write(
    path: Path, results: list[Result], rate: float | None, facts: Facts, options: argparse.Namespace
) -> None:
    """Write `path`.json and `path`.md, and print the latter."""
    about = provenance(facts, options.device, options.rounds)
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
    write_records(Path(f"{path}.json"), content)
    Path(f"{path}.md").write_text(text.rstrip() + "\n")
    print(text, flush=True)


if __name__ == "__main__":
    main()
