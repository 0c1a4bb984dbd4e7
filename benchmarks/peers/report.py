"""The records of a run: all samples as JSON, and a page of tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.peers.contest import Absent
from tests.support.timing.measure import Result, heading, losses, row, wins
from tests.support.timing.records import write_records

WINS = "**wins**"
ON_GPU = "On a GPU, torchvision, Kornia, DALI and CV-CUDA are compared with orbbec in [h100.md](../h100.md)."
NOTE = """Every contender gets the same input and random parameters. Outputs are compared before timing: last
column. *speed* is relative to the first row; below 1 is slower, and rivals that are faster are marked. One
thread is CPU time; two threads are wall time. Rivals use two threads in the way that suits them best, most of
them a pool of Python threads. Only ratios within one run are comparable."""
HEADLINE = """Speed of the first row of orbbec relative to the best rival."""


def page(about: Mapping[str, Any], results: Sequence[Result], absent: Sequence[Absent]) -> str:
    """The Markdown of a run."""
    where = about["gpu"] or f"{about['cpu']}, {about['cores']} cores"
    listed = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    lines = [f"# orbbec and its rivals: {where}, {about['date']}", ""]
    lines += [
        f"orbbec {about['orbbec']} at {about['commit'] or 'an unknown commit'}, torch {about['torch']},"
    ]
    lines += [f"{listed}.", f"Medians of {about['rounds']} interleaved rounds.", "", NOTE, ""]
    lines += [f"Of earlier runs: {', '.join(about['kept'])}.", ""] if about["kept"] else []
    lines += [] if about["gpu"] else [ON_GPU, ""]
    lines += ["## Compared with the best rival", "", HEADLINE, "", *summary(results), ""]
    lines += ["## Where a rival wins", ""]
    lines += losses(list(results))
    for result in results:
        lines += ["", *table(result)]
    if absent:
        lines += ["", "## Not timed", "", row(["workload", "who", "why"]), row(["---"] * 3)]
        lines += [row([one.workload, one.name, one.why.replace("|", "/")]) for one in absent]
    return "\n".join(lines) + "\n"


def summary(results: Sequence[Result]) -> list[str]:
    """One row per case: orbbec, and the best rival with this number of threads."""
    lines = [row(["workload", "orbbec, ms", "best rival", "its ms", "times faster"])]
    lines += [row(["---", "---:", "---", "---:", "---:"])]
    for result in results:
        rival, ratio = result.best_rival, result.headline
        if rival is not None and ratio is not None:
            each = [f"{1000 * result.median(one) / result.images:.4f}" for one in (result.ours[0], rival)]
            shown = f"{ratio:.2f}" + (f", **{rival.name} wins**" if ratio < 1 else "")
            lines.append(row([heading(result), each[0], rival.name, each[1], shown]))
    return lines


def table(result: Result) -> list[str]:
    """The rows of one case."""
    won = wins(result)
    lines = [f"## {heading(result)}", ""]
    lines += [row(["contender", f"ms {result.unit}", "spread", "speed, orbbec = 1", "output"])]
    lines += [row(["---", "---:", "---:", "---:", "---:"])]
    for timing in result.timings:
        each = f"{1000 * result.median(timing) / result.images:.4f}"
        ratio = f"{result.ratio(timing):.2f}" + (f" {WINS}" if timing in won else "")
        lines.append(row([timing.name, each, f"{result.spread(timing):.0%}", ratio, timing.output]))
    return lines


def write(path: Path, about: Mapping[str, Any], results: Sequence[Result], absent: Sequence[Absent]) -> None:
    """Write `path`.json and `path`.md."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {
        **about,
        "results": [asdict(result) for result in results],
        "not_timed": [asdict(one) for one in absent],
    }
    write_records(path.with_suffix(".json"), content)
    path.with_suffix(".md").write_text(page(about, results, absent))
