"""The records of a run: all samples as JSON, a page of tables, and a chart."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.peers.contest import Absent
from tests.support.timing.measure import Result, heading, losses, row, wins
from tests.support.timing.records import write_records

WINS = "**wins**"
TICKS = (0.25, 0.5, 1, 2, 4, 8, 16, 32, 64)  # of the chart
NEVER_RUN = "Never run on a GPU: what `--device cuda` does with torchvision, Kornia, DALI and CV-CUDA."
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
    lines += [] if about["gpu"] else [NEVER_RUN, ""]
    lines += ["## Compared with the best rival", "", HEADLINE, "", *summary(results), ""]
    lines += ["![Speed compared with the best rival's](peers.png)", "", "## Where a rival wins", ""]
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


def draw(path: Path, results: Sequence[Result]) -> None:
    """One row per workload: the speed relative to the best rival, with the quartiles of the rounds."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullLocator

    counts = sorted({result.threads for result in results})
    titles = list(dict.fromkeys(result.case for result in results))
    figure = Figure(figsize=(9, 1 + 0.4 * len(titles)), layout="constrained")
    axes = figure.add_subplot()
    for position, count in enumerate(counts):
        shown = [result for result in results if result.threads == count and result.best_rival]
        quartiles = [statistics.quantiles(_speeds(result), n=4) for result in shown]
        middles = [middle for _, middle, _ in quartiles]
        spans = [
            [middle - low for low, middle, _ in quartiles],
            [high - middle for _, middle, high in quartiles],
        ]
        rows = [titles.index(result.case) + 0.2 * position for result in shown]
        axes.errorbar(middles, rows, xerr=spans, fmt="o", label=f"{count} thread{'s' * (count > 1)}")
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_yticks(range(len(titles)), titles)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("times faster than the best rival; left of the line the rival wins")
    axes.grid(alpha=0.3, axis="x")
    axes.legend()
    figure.savefig(path, dpi=100)


def _speeds(result: Result) -> list[float]:
    """The speed of our first contender relative to the best rival, round by round."""
    rival = result.best_rival
    assert rival is not None
    pairs = zip(result.samples(rival), result.samples(result.ours[0]), strict=True)
    return [theirs / own for theirs, own in pairs]


def write(path: Path, about: Mapping[str, Any], results: Sequence[Result], absent: Sequence[Absent]) -> None:
    """Write `path`.json, `path`.md and `path`.png."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {
        **about,
        "results": [asdict(result) for result in results],
        "not_timed": [asdict(one) for one in absent],
    }
    write_records(path.with_suffix(".json"), content)
    path.with_suffix(".md").write_text(page(about, results, absent))
    draw(path.with_suffix(".png"), results)
