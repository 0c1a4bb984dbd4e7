"""Writes the figures of the documentation from the runs below docs/benchmarks.

    python tools/performance.py [--check]

Tables are between `<!-- table: NAME -->` and `<!-- end -->`, on the pages on performance in docs/project, on
docs/benchmarks/h100.md and in both READMEs. Each machine has a page, docs/benchmarks/MACHINE/README.md. The
chart is docs/images/workloads.png. With --check, nothing is written, and the exit status is 1 if any is
outdated.
"""

import json
import os
import re
import statistics
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.peers import chart  # noqa: E402
from tests.support.timing.measure import Result, Timing, result_of, row  # noqa: E402

PAGES = [ROOT / "docs" / "project" / name for name in ("performance.md", "performance_tables.md")]
READMES = [ROOT / "README.md", ROOT / "README.zh-CN.md"]
CHART = ROOT / "docs" / "images" / "workloads.png"
RUNS = ROOT / "docs" / "benchmarks"
GPU_PAGE, GPU_RUN = RUNS / "h100.md", RUNS / "h100.json"  # beside other libraries
GPU_PAGES = [GPU_PAGE, RUNS / "h200.md"]
BLOCK = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
PIPELINES = ("augment", "transforms")

# The table of the READMEs in their languages: heads, workloads, rivals, and the source of the figures.
TEXTS = json.loads((ROOT / "tools" / "performance_readme.json").read_text())


def newest(name: str, machine: str = "*") -> Path | None:
    """The newest run of a name on a machine, by default on any."""
    paths = sorted(RUNS.glob(f"{machine}/{name}.json"))
    return max(paths, key=lambda path: json.loads(path.read_text())["date"], default=None)


def shown_run(name: str, machine: str = "*") -> Path | None:
    """The newest run of a name; for the workloads on any machine, the one in which a rival does best."""
    if name != "peers" or machine != "*":
        return newest(name, machine)
    runs = [path for one in machines() if (path := newest(name, one.name))]
    return min(runs, key=_least_speed, default=None)


def _least_speed(path: Path) -> float:
    shown = chart.charted(results_of(path))
    return min(chart.speeds(one, one.best_rival)[1] for one in shown if one.best_rival)


def results_of(path: Path) -> list[Result]:
    return [result_of(result) for result in json.loads(path.read_text())["results"]]


def machine_of(path: Path) -> str:
    """The machine of a run, in words."""
    about = json.loads(path.read_text())
    return str(about["gpu"] or f"{about['cpu']}, {about['cores']} cores")


def link(path: Path, page: Path) -> str:
    return Path(os.path.relpath(path, page.parent)).as_posix()


def source_of(path: Path, page: Path) -> str:
    """A link from a page to the page of a run, with its machine and day."""
    day = json.loads(path.read_text())["date"]
    return f"[{path.stem}]({link(path.with_suffix('.md'), page)}) ({machine_of(path)}, {day})"


def operators() -> list[str]:
    return sorted(path.stem for path in ROOT.glob("benchmarks/ops/*.py"))


def figure(ratio: float) -> str:
    """A ratio, bold if the rival is faster."""
    return f"**{ratio:.2f}**" if ratio < 1 else f"{ratio:.2f}"


def cell(result: Result | None, rival: Timing | None = None) -> str:
    """The speed of orbbec relative to a rival, by default the best, and the name of that rival."""
    rival = rival or (result.best_rival if result else None)
    if result is None or rival is None or not result.ours:
        return ""
    return f"{figure(result.ratio(result.ours[0], rival))} ({rival.name})"


def by_case(results: Iterable[Result]) -> dict[str, dict[int, Result]]:
    """Results by case and number of threads, for cases with a rival."""
    cases: dict[str, dict[int, Result]] = {}
    for result in results:
        if result.headline is not None:
            cases.setdefault(result.case, {})[result.threads] = result
    return cases


def table_of(names: Iterable[str], page: Path, machine: str = "*") -> list[str]:
    """One row per case: one thread, two threads."""
    paths = [path for name in names if (path := newest(name, machine))]
    if not paths:
        return ["Not yet measured."]
    lines = [f"From {', '.join(source_of(path, page) for path in paths)}:", ""]
    lines += [row(["case", "one thread", "two threads"]), row(["---", "---", "---"])]
    for path in paths:
        for case, found in by_case(results_of(path)).items():
            lines.append(row([case, cell(found.get(1)), cell(found.get(2))]))
    return lines


def workload_table(page: Path, machine: str = "*") -> list[str]:
    """Per workload, one row for the best library and one for the best code by hand."""
    path = shown_run("peers", machine)
    if path is None:
        return ["Not yet measured."]
    lines = [f"From {source_of(path, page)}:", ""]
    lines += [row(["workload", "rival", "one thread", "two threads"]), row(["---"] * 4)]
    for case, found in by_case(results_of(path)).items():
        title = case
        for kind in ("best library", "best code by hand"):
            cells = [_of_kind(found.get(count), kind == "best code by hand") for count in (1, 2)]
            if any(cells):
                lines.append(row([title, kind, *cells]))
                title = ""
    return lines


def _of_kind(result: Result | None, by_hand: bool) -> str:
    rivals = chart.fastest(result) if result else {}
    own = [timing for name, timing in rivals.items() if (name == chart.BY_HAND) == by_hand]
    return cell(result, min(own, key=result.median)) if result and own else ""


def operator_table(page: Path, machine: str = "*") -> list[str]:
    """One row per operator: the worst, median and best of its cases, with one thread."""
    lines = [row(["operator", "cases", "worst", "median", "best", "run"]), row(["---", *["---:"] * 4, "---"])]
    for name in operators():
        path = newest(name, machine)
        if path is None or name in PIPELINES:
            continue
        speeds = [found[1].headline or 0.0 for found in by_case(results_of(path)).values() if 1 in found]
        if speeds:
            figures = (min(speeds), statistics.median(speeds), max(speeds))
            cells = [f"`{name}`", str(len(speeds)), *map(figure, figures), source_of(path, page)]
            lines.append(row(cells))
    return lines


def losses(machine: str = "*") -> tuple[list[tuple[str, float, str]], int]:
    """The cases that a rival wins, the worst first, and the number of all cases.

    Returns:
        The name of the run, the ratio and a line per loss; the number of cases.
    """
    lost, count = [], 0
    for name in ("peers", *operators()):
        path = shown_run(name, machine)
        for case, found in by_case(results_of(path)).items() if path else ():
            count += 1
            ratio = min(result.headline or 0.0 for result in found.values())
            if ratio < 1:
                shown = [f"{n} thread{'s' * (n > 1)}: {cell(found[n])}" for n in sorted(found)]
                title = case if name == "peers" else f"`{name}`: {case}"
                lost.append((name, ratio, f"- {title}. {'; '.join(shown)}"))
    return sorted(lost, key=lambda one: one[1]), count


def loss_list(page: Path, machine: str = "*") -> list[str]:
    """The cases that a rival wins with one thread or two, the worst first."""
    return [text for *_, text in losses(machine)[0]] or ["None in these runs."]


def worst_losses(page: Path) -> list[str]:
    """The number of losses, and the worst of each operator."""
    found, count = losses()
    worst = {name: text for name, _, text in reversed(found)}
    counted = f"With one thread or with two, a rival is faster in {len(found)} of {count} cases."
    return [f"{counted} The worst of each run:", "", *(text for *_, text in found if text in worst.values())]


def growth_table(page: Path, machine: str = "*") -> list[str]:
    """The speeds of growth.md, panel by panel."""
    path = newest("growth", machine)
    if path is None:
        return ["Not yet measured."]
    lines = [f"From {source_of(path, page)}. orbbec's speed, where that of code by hand is 1:", ""]
    for panel in json.loads(path.read_text())["panels"]:
        shown = [f"{one.case}: {figure(one.headline or 0.0)}" for one in map(result_of, panel["results"])]
        lines += [f"- {panel['title']}, by {panel['axis']}: {', '.join(shown)}."]
    return lines


def machines() -> list[Path]:
    return sorted(path for path in RUNS.iterdir() if any(path.glob("*.json")))


def machine_table(page: Path) -> list[str]:
    """One row per machine, with a link to its page."""
    lines = [row(["machine", "runs", "days"]), row(["---", "---:", "---"])]
    for folder in machines():
        paths = sorted(folder.glob("*.json"))
        days = sorted({json.loads(path.read_text())["date"] for path in paths})
        title = f"[{machine_of(paths[0])}]({link(folder / 'README.md', page)})"
        lines.append(row([title, str(len(paths)), " to ".join(dict.fromkeys([days[0], days[-1]]))]))
    return lines


def summary(page: Path) -> list[str]:
    """The workloads of a README, in its language."""
    path, texts = shown_run("peers"), TEXTS[page.name]
    if path is None:
        return ["Not yet measured."]
    lines = [row(texts["heads"]), row(["---", "---:", "---", "---:", "---:"])]
    shown = {result.case: result for result in chart.charted(results_of(path))}
    for case, title in texts["workloads"].items():
        rival = shown[case].best_rival if case in shown else None
        if rival is not None:
            result = shown[case]
            each = [f"{1000 * result.median(one) / result.images:#.3g}" for one in (rival, result.ours[0])]
            low, middle, high = chart.speeds(result, rival)
            name = texts["rivals"].get(rival.name, rival.name)
            lines.append(row([title, f"{figure(middle)} ({low:.2f}-{high:.2f})", name, *each]))
    about = json.loads(path.read_text())
    facts = {
        "threads": next(iter(shown.values())).threads,
        "machine": about["gpu"] or texts["machine"].format(**about),
        "date": about["date"],
        "link": link(path.with_suffix(".md"), page),
    }
    return [*lines, "", texts["source"].format(**facts)]


def gpu_speed(workload: dict[str, Any]) -> tuple[str, str, int]:
    """The ratio to the best rival on the GPU, this rival and its microseconds per call."""
    name, microseconds = min(workload["rivals"].items(), key=lambda one: one[1])
    return figure(microseconds / workload["orbbec"]), name, microseconds


def gpu_table(page: Path) -> list[str]:
    """One row per workload on the GPU: the best rival, and the others."""
    lines = [row(["workload", "orbbec, us", "times faster", "best rival", "other rivals, us"])]
    lines.append(row(["---", "---:", "---:", "---", "---"]))
    for workload in json.loads(GPU_RUN.read_text())["workloads"]:
        ratio, best, microseconds = gpu_speed(workload)
        others = [f"{name} {time:,}" for name, time in workload["rivals"].items() if name != best]
        cells = [workload["case"], f"{workload['orbbec']:,}", ratio, f"{best}, {microseconds:,}"]
        lines.append(row([*cells, "; ".join(others)]))
    return lines


def gpu_records(name: str, page: Path) -> list[str]:
    """The records of this name of the run that a page is about; their keys are the heads of the columns."""
    records = json.loads(page.with_suffix(".json").read_text())[name]
    lines = [row(records[0]), row(["---", *["---:"] * (len(records[0]) - 1)])]
    return lines + [
        row([f"{value:,}" if isinstance(value, int) else str(value) for value in one.values()])
        for one in records
    ]


def gpu_summary(page: Path) -> list[str]:
    """The workloads of a README on the GPU, in its language."""
    about, texts = json.loads(GPU_RUN.read_text()), TEXTS[page.name]
    lines = [row(texts["gpu_heads"]), row(["---", "---:", "---", "---:", "---:"])]
    for workload in about["workloads"]:
        if workload["case"] in texts["gpu_workloads"]:
            ratio, best, microseconds = gpu_speed(workload)
            name = texts["rivals"].get(best, best)
            cells = [texts["gpu_workloads"][workload["case"]], ratio, name]
            lines.append(row([*cells, f"{microseconds:,}", f"{workload['orbbec']:,}"]))
    return [*lines, "", texts["gpu_source"].format(link=link(GPU_PAGE, page), **about)]


TABLES: dict[str, Callable[[Path], list[str]]] = {
    "losses": worst_losses,
    "workloads": workload_table,
    "pipelines": lambda page: table_of(PIPELINES, page),
    "machines": machine_table,
    "summary": summary,
    "gpu": gpu_table,
    **{
        f"gpu_{name}": partial(gpu_records, name)
        for name in ("host", "loader", "resnet50", "jpeg", "kernels")
    },
    "gpu_summary": gpu_summary,
}


def written(page: Path) -> str:
    """A page with the tables of the runs."""

    def fill(found: re.Match[str]) -> str:
        return "\n".join([found[1], *TABLES[found[2]](page), "", found[3]])

    return BLOCK.sub(fill, page.read_text())


NOTE = """`python tools/performance.py` writes this page from the runs in this folder. Figures are the speed
of orbbec relative to the best rival with the same number of threads; bold figures below 1 are losses. Only
ratios within one run are comparable."""


def machine_page(folder: Path) -> str:
    """All tables of a machine."""
    page, machine = folder / "README.md", folder.name
    paths = sorted(folder.glob("*.json"))
    flags = ", ".join(json.loads(paths[0].read_text())["cpu_flags"])
    lines = [f"# Performance: {machine_of(paths[0])}", "", NOTE, "", f"Instruction sets: {flags}."]
    known = {"peers", "growth", *operators()}
    others = [path.stem for path in paths if path.stem not in known]
    sections: list[tuple[str, Iterable[str], Callable[[], list[str]]]] = [
        ("Whole workloads", ["peers"], lambda: workload_table(page, machine)),
        ("Pipelines", PIPELINES, lambda: table_of(PIPELINES, page, machine)),
        ("Operators, one thread", operators(), lambda: operator_table(page, machine)),
        ("Losses", operators(), lambda: loss_list(page, machine)),
        ("Scaling", ["growth"], lambda: growth_table(page, machine)),
        ("Other runs", others, lambda: table_of(others, page, machine)),
    ]
    for title, names, lines_of in sections:
        if any(newest(name, machine) for name in names):
            lines += ["", f"## {title}", "", *lines_of()]
    return "\n".join(lines) + "\n"


def chart_title(path: Path) -> str:
    about, shown = json.loads(path.read_text()), chart.charted(results_of(path))
    threads = "" if about["gpu"] else f", {shown[0].threads} threads"
    return f"Speed of orbbec relative to its rivals ({machine_of(path)}{threads}, {about['date']})"


def is_chart_current(path: Path) -> bool:
    wanted = chart.digest(results_of(path), chart_title(path))
    return CHART.exists() and wanted.encode() in CHART.read_bytes()


def main() -> Any:
    pages = {page: written(page) for page in (*PAGES, *GPU_PAGES, *READMES)}
    pages |= {folder / "README.md": machine_page(folder) for folder in machines()}
    run = shown_run("peers")
    old = [page for page, text in pages.items() if not page.exists() or page.read_text() != text]
    if run and not is_chart_current(run):
        old.append(CHART)
    if "--check" in sys.argv[1:]:
        names = ", ".join(page.name for page in old)
        return f"out of date: {names}; run python tools/performance.py" if old else None
    for page in old:
        if page == CHART and run:
            chart.draw(CHART, results_of(run), chart_title(run))
        else:
            page.write_text(pages[page])
    return None


if __name__ == "__main__":
    sys.exit(main())
