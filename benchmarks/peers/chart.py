"""The chart of all workloads: the speed of orbbec relative to each library and to the best code by hand."""

from __future__ import annotations

import hashlib
import json
import re
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.support.timing.measure import Result, Timing

BY_HAND = "code by hand"
# The libraries of the rivals by their names, in this order; other rivals are written by hand.
LIBRARIES = {
    r"torchvision|DataLoader, torchvision": "torchvision",
    r"AlbumentationsX|DataLoader, AlbumentationsX": "AlbumentationsX",
    r"kornia_rs": "kornia_rs",
    r"Kornia": "Kornia",
    r"DALI": "DALI",
    r"CV-CUDA": "CV-CUDA",
    r"SPDL": "SPDL",
    r"cv2\.dnn": "cv2.dnn",
    r"Pillow, ": "Pillow",
}
COLORS = ("#d55e00", "#0072b2", "#56b4e9", "#009e73", "#cc79a7", "#6a3d9a", "#8a6d3b", "#e69f00", "#7a7a7a")
TICKS, LIMITS = (0.5, 1, 2, 4, 8, 16, 32, 64, 128), (0.5, 200)
WIDTH, DPI = 8, 200  # inches; pixels per inch, twice those of a page that is 800 pixels wide


def library_of(name: str) -> str:
    """The library of a rival.

    Example:
        >>> library_of("DataLoader, torchvision v2"), library_of("DataLoader, cv2 and NumPy")
        ('torchvision', 'code by hand')
    """
    return next((library for start, library in LIBRARIES.items() if re.match(start, name)), BY_HAND)


def fastest(result: Result) -> dict[str, Timing]:
    """The fastest rival of each library."""
    found: dict[str, Timing] = {}
    for timing in sorted(result.timings, key=result.median, reverse=True):
        if not timing.is_ours:
            found[library_of(timing.name)] = timing
    return found


def speeds(result: Result, rival: Timing) -> tuple[float, float, float]:
    """The speed of orbbec relative to a rival: the quartiles of the rounds."""
    pairs = zip(result.samples(rival), result.samples(result.ours[0]), strict=True)
    low, middle, high = statistics.quantiles((theirs / own for theirs, own in pairs), n=4)
    return low, middle, high


def charted(results: Sequence[Result]) -> list[Result]:
    """The results that the chart shows: those with the largest number of threads."""
    threads = max(result.threads for result in results)
    return [result for result in results if result.threads == threads and result.best_rival and result.ours]


def digest(results: Sequence[Result], title: str) -> str:
    """A digest of what the chart shows, which its file contains."""
    shown = [
        (result.case, library, speeds(result, rival))
        for result in charted(results)
        for library, rival in fastest(result).items()
    ]
    return hashlib.sha256(json.dumps([title, shown]).encode()).hexdigest()


def draw(path: Path, results: Sequence[Result], title: str) -> None:
    """Write the chart as PNG: one row per workload, one dot per library, with quartiles."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullLocator

    shown = charted(results)
    figure = Figure(figsize=(WIDTH, 1.7 + 0.34 * len(shown)), layout="constrained")
    axes = figure.add_subplot()
    axes.axvspan(0.01, 1, color=COLORS[0], alpha=0.07, linewidth=0)
    axes.axvline(1, color="black", linewidth=1)
    libraries = dict.fromkeys([*LIBRARIES.values(), BY_HAND])
    for library, color in zip(libraries, (*COLORS, "black"), strict=True):
        _draw_library(axes, shown, library, color)
    _name_best_rivals(axes, shown)
    axes.set_yticks(range(len(shown)), [result.case for result in shown], fontsize=9)
    axes.set_ylim(len(shown) - 0.5, -0.9)
    axes.set_xscale("log")
    axes.set_xlim(*LIMITS)
    axes.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS], fontsize=9)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.grid(alpha=0.35, axis="x")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_xlabel("times faster than the rival, log scale (shaded: the rival is faster)", fontsize=9)
    figure.suptitle(title, fontsize=10)
    figure.legend(loc="outside lower center", ncols=5, fontsize=9, frameon=False, handletextpad=0.2)
    figure.savefig(path, dpi=DPI, metadata={"Description": digest(results, title), "Software": None})


def _draw_library(axes: Any, shown: Sequence[Result], library: str, color: str) -> None:
    """The dots of a library: medians, with quartiles as lines."""
    found = {
        row: speeds(each, own[library]) for row, each in enumerate(shown) if library in (own := fastest(each))
    }
    if not found:
        return
    middles = [middle for _, middle, _ in found.values()]
    below = [middle - low for low, middle, _ in found.values()]
    above = [high - middle for _, middle, high in found.values()]
    axes.errorbar(
        middles,
        list(found),
        xerr=[below, above],
        fmt="D" if library == BY_HAND else "o",
        markersize=6,
        color=color,
        markeredgecolor="white",
        markeredgewidth=0.6,
        elinewidth=1.5,
        label=library,
        zorder=4 if library == BY_HAND else 3,
    )


def _name_best_rivals(axes: Any, shown: Sequence[Result]) -> None:
    """The headline of each row, to the right of the axes."""
    texts = [("best rival", "normal")]
    for result in shown:
        rival, ratio = result.best_rival, result.headline
        if rival is not None and ratio is not None:
            shown_ratio = f"{ratio:.2f}" if ratio < 10 else f"{ratio:.1f}"
            texts.append((f"{shown_ratio}  {library_of(rival.name)}", "bold" if ratio < 1 else "normal"))
    for row, (text, weight) in enumerate(texts, start=-1):
        at = (1.02, row if row >= 0 else -0.75)
        axes.annotate(text, at, None, ("axes fraction", "data"), va="center", fontsize=9, fontweight=weight)
