"""What a run leaves behind: every sample as JSON, a page of tables, and bars."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.peers.contest import Absent
from orbbec.testing.measure import Result, Timing, row

WINS = "**wins**"
NEVER_RUN = "Never run on a GPU: what `--device cuda` does with torchvision, Kornia, DALI and CV-CUDA."
NOTE = """Every contender gets the same input and the same draws. Its output is compared first: the last
column. *times orbbec*: how often it is done while the first row is done once; below 1 it is slower. Others
that are faster than the first row are marked. One thread is CPU time of all that a contender runs; two
threads are wall time. Only ratios of one run mean anything."""


def is_ours(timing: Timing) -> bool:
    return timing.name.startswith("orbbec")


def wins(result: Result) -> list[Timing]:
    """The rivals that are faster than the first of ours."""
    return [timing for timing in result.timings if not is_ours(timing) and result.ratio(timing) > 1]


def page(about: Mapping[str, Any], results: Sequence[Result], absent: Sequence[Absent]) -> str:
    """The Markdown of a run."""
    where = about["gpu"] or f"{about['cpu']}, {about['cores']} cores"
    listed = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    lines = [f"# orbbec beside its rivals: {where}, {about['date']}", ""]
    lines += [
        f"orbbec {about['orbbec']} at {about['commit'] or 'an unknown commit'}, torch {about['torch']},"
    ]
    lines += [f"{listed}.", f"Medians of {about['rounds']} interleaved rounds.", "", NOTE, ""]
    lines += [] if about["gpu"] else [NEVER_RUN, ""]
    lines += ["![Time beside orbbec's](peers.png)", "", "## Where a rival wins", ""]
    lines += losses(results)
    for result in results:
        lines += ["", *table(result)]
    if absent:
        lines += ["", "## Not timed", "", row(["workload", "who", "why"]), row(["---"] * 3)]
        lines += [row([one.workload, one.name, one.why.replace("|", "/")]) for one in absent]
    return "\n".join(lines) + "\n"


def heading(result: Result) -> str:
    """Of a table.

    Example:
        >>> heading(Result("peers", "W5 nms", 2, 1, 0, "wall", []))
        'W5 nms, 2 threads (wall time)'
    """
    threads = "" if result.clock == "cuda" else f", {result.threads} thread{'s' * (result.threads > 1)}"
    return f"{result.case}{threads} ({result.clock} time)"


def losses(results: Sequence[Result]) -> list[str]:
    """A line for each case that a rival wins."""
    lines = []
    for result in results:
        for timing in wins(result):
            lines.append(f"- {heading(result)}: {timing.name}, {result.ratio(timing):.2f} times orbbec")
    return lines or ["Nowhere in this run."]


def table(result: Result) -> list[str]:
    """The rows of one case."""
    won = wins(result)
    lines = [f"## {heading(result)}", ""]
    lines += [row(["contender", f"ms {result.unit}", "spread", "times orbbec", "output"])]
    lines += [row(["---", "---:", "---:", "---:", "---:"])]
    for timing in result.timings:
        each = f"{1000 * result.median(timing) / result.images:.4f}"
        ratio = f"{result.ratio(timing):.2f}" + (f" {WINS}" if timing in won else "")
        lines.append(row([timing.name, each, f"{result.spread(timing):.0%}", ratio, timing.output]))
    return lines


def draw(path: Path, results: Sequence[Result]) -> None:
    """Bars of the times beside orbbec's, of the fewest threads, a panel a case."""
    from matplotlib import pyplot

    fewest = min(result.threads for result in results)
    shown = [result for result in results if result.threads == fewest]
    heights = [len(result.timings) + 2 for result in shown]
    figure, panels = pyplot.subplots(
        len(shown),
        1,
        figsize=(10, 0.27 * sum(heights)),
        height_ratios=heights,
        squeeze=False,
        layout="constrained",
    )
    for panel, result in zip(panels[:, 0], shown, strict=True):
        _draw_case(panel, result)
    figure.savefig(path, dpi=100)
    pyplot.close(figure)


def _draw_case(panel: Any, result: Result) -> None:
    won = wins(result)
    times = [1 / result.ratio(timing) for timing in result.timings]
    colours = [
        "tab:blue" if is_ours(timing) else "tab:red" if timing in won else "tab:gray"
        for timing in result.timings
    ]
    bars = panel.barh([timing.name for timing in result.timings], times, color=colours)
    panel.bar_label(bars, [f"{time:.2f}" for time in times], padding=3, fontsize=8)
    panel.set_xscale("log")
    panel.set_xlim(min(0.5, *times) / 1.3, max(2.0, *times) * 1.6)
    panel.axvline(1, color="black", linewidth=0.8, zorder=0)
    panel.xaxis.set_major_formatter("{x:g}")
    panel.xaxis.set_minor_formatter("")
    panel.invert_yaxis()
    panel.tick_params(labelsize=8)
    panel.set_title(f"{heading(result)}: time beside orbbec's, shorter is faster", fontsize=9, loc="left")


def write(path: Path, about: Mapping[str, Any], results: Sequence[Result], absent: Sequence[Absent]) -> None:
    """Write `path`.json, `path`.md and `path`.png."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {
        **about,
        "results": [asdict(result) for result in results],
        "not_timed": [asdict(one) for one in absent],
    }
    path.with_suffix(".json").write_text(json.dumps(content, indent=1) + "\n")
    path.with_suffix(".md").write_text(page(about, results, absent))
    draw(path.with_suffix(".png"), results)
