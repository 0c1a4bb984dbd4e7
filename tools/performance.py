"""Writes the tables of the pages on performance in docs/project from the newest runs in docs/benchmarks.

    python tools/performance.py [--check]

Tables are between `<!-- table: NAME -->` and `<!-- end -->`. With --check, nothing is written, and the exit
status is 1 if a page is outdated.
"""

import json
import os
import re
import statistics
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.support.timing.measure import Result, result_of, row  # noqa: E402

PAGES = [ROOT / "docs" / "project" / name for name in ("performance.md", "performance_tables.md")]
RUNS = ROOT / "docs" / "benchmarks"
BLOCK = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
PIPELINES = ("augment", "transforms")


def newest(name: str) -> Path | None:
    """The newest run of a name on any machine."""
    paths = sorted(RUNS.glob(f"*/{name}.json"))
    return max(paths, key=lambda path: json.loads(path.read_text())["date"], default=None)


def results_of(path: Path) -> list[Result]:
    return [result_of(result) for result in json.loads(path.read_text())["results"]]


def source_of(path: Path) -> str:
    """A link to the page of a run, with its machine and day."""
    about = json.loads(path.read_text())
    where = about["gpu"] or f"{about['cpu']}, {about['cores']} cores"
    page = os.path.relpath(path.with_suffix(".md"), PAGES[0].parent)
    return f"[{path.stem}]({page}) ({where}, {about['date']})"


def operators() -> list[str]:
    return sorted(path.stem for path in ROOT.glob("benchmarks/ops/*.py"))


def cell(result: Result | None) -> str:
    """The speed of orbbec relative to the best rival, and the name of that rival."""
    if result is None or result.headline is None or result.best_rival is None:
        return ""
    shown = f"{result.headline:.2f} ({result.best_rival.name})"
    return f"**{shown}**" if result.headline < 1 else shown


def by_case(results: Iterable[Result]) -> dict[str, dict[int, Result]]:
    """Results by case and number of threads, for cases with a rival."""
    cases: dict[str, dict[int, Result]] = {}
    for result in results:
        if result.headline is not None:
            cases.setdefault(result.case, {})[result.threads] = result
    return cases


def table_of(names: Iterable[str]) -> list[str]:
    """One row per case: one thread, two threads."""
    paths = [path for path in map(newest, names) if path]
    lines = [f"From {', '.join(map(source_of, paths))}:", ""] if paths else ["Not yet measured."]
    if paths:
        lines += [row(["case", "one thread", "two threads"]), row(["---", "---", "---"])]
    for path in paths:
        for case, found in by_case(results_of(path)).items():
            lines.append(row([case, cell(found.get(1)), cell(found.get(2))]))
    return lines


def operator_table() -> list[str]:
    """One row per operator: the worst, median and best of its cases, with one thread."""
    lines = [row(["operator", "cases", "worst", "median", "best", "run"]), row(["---", *["---:"] * 4, "---"])]
    for name in operators():
        path = newest(name)
        if path is None or name in PIPELINES:
            continue
        speeds = [found[1].headline or 0.0 for found in by_case(results_of(path)).values() if 1 in found]
        if speeds:
            figures = (min(speeds), statistics.median(speeds), max(speeds))
            lines.append(
                row([f"`{name}`", str(len(speeds)), *(f"{x:.2f}" for x in figures), source_of(path)])
            )
    return lines


def loss_list() -> list[str]:
    """The cases that a rival wins with one thread or two, the worst first."""
    lost = []
    for name in ("peers", *operators()):
        path = newest(name)
        for case, found in by_case(results_of(path)).items() if path else ():
            worst = min(found.values(), key=lambda result: result.headline or 0.0)
            if (worst.headline or 0.0) < 1:
                shown = "; ".join(
                    f"{count} thread{'s' * (count > 1)}: {cell(found[count])}" for count in sorted(found)
                )
                title = case if name == "peers" else f"`{name}`: {case}"
                lost.append((worst.headline or 0.0, f"- {title}. {shown}"))
    return [line for _, line in sorted(lost)] or ["None in these runs."]


def growth_table() -> list[str]:
    """The speeds of growth.md, panel by panel."""
    path = newest("growth")
    if path is None:
        return ["Not yet measured."]
    lines = [f"From {source_of(path)}. orbbec's speed, where that of code by hand is 1:", ""]
    for panel in json.loads(path.read_text())["panels"]:
        shown = []
        for result in map(result_of, panel["results"]):
            value = result.headline or 0.0
            shown.append(f"{result.case}: " + (f"**{value:.2f}**" if value < 1 else f"{value:.2f}"))
        lines += [f"- {panel['title']}, by {panel['axis']}: {', '.join(shown)}."]
    return lines


TABLES: dict[str, Callable[[], list[str]]] = {
    "workloads": lambda: table_of(["peers"]),
    "pipelines": lambda: table_of(PIPELINES),
    "operators": operator_table,
    "losses": loss_list,
    "growth": growth_table,
}


def written(page: str) -> str:
    """The page with the tables of the runs."""

    def fill(found: re.Match[str]) -> str:
        return "\n".join([found[1], *TABLES[found[2]](), "", found[3]])

    return BLOCK.sub(fill, page)


def main() -> Any:
    for page in PAGES:
        text = page.read_text()
        made = written(text)
        if "--check" not in sys.argv[1:]:
            page.write_text(made)
        elif made != text:
            return f"{page.name} is out of date: run python tools/performance.py"
    return None


if __name__ == "__main__":
    sys.exit(main())
