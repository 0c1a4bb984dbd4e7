"""The figures of the documentation match docs/benchmarks, and there are no others."""

import importlib.util
import json
import re
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from tests.support.timing.measure import Result, Timing

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def performance():
    spec = importlib.util.spec_from_file_location("performance", ROOT / "tools" / "performance.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["performance"] = module
    spec.loader.exec_module(module)
    return module


def test_the_pages_are_what_the_runs_say(performance, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["performance.py", "--check"])
    assert performance.main() is None
    texts = [page.read_text() for page in performance.READMES]
    texts += [page.read_text() for page in (*performance.PAGES, performance.GPU_PAGE)]
    assert [[name for _, name, _ in performance.BLOCK.findall(text)] for text in texts] == [
        ["summary", "gpu_summary"],
        ["summary", "gpu_summary"],
        ["workloads", "machines"],
        ["losses", "pipelines"],
        ["gpu", "gpu_host", "gpu_loader", "gpu_resnet50"],
    ]


def test_no_measured_figure_stands_outside_of_the_tables(performance):
    for page in performance.PAGES:
        outside = performance.BLOCK.sub("", page.read_text())
        assert re.findall(r"\d+\.\d+", outside) == []


def test_the_tables_of_the_summary_have_at_most_forty_lines(performance):
    rows = re.findall(r"^\|", performance.PAGES[0].read_text(), re.MULTILINE)
    assert 0 < len(rows) <= 40


def test_the_readmes_show_a_loss_and_name_run_machine_and_day(performance):
    run = performance.shown_run("peers")
    about = json.loads(run.read_text())
    for page in performance.READMES:
        text = page.read_text()
        assert re.search(r"\*\*0\.\d+\*\*", text), "a row that orbbec loses"
        assert f"]({performance.link(run.with_suffix('.md'), page)})" in text
        assert about["cpu"] in text
        assert about["date"] in text


def test_a_rival_that_is_faster_on_the_gpu_stands_in_bold(performance, tmp_path, monkeypatch):
    workloads = [
        {"case": "crop", "orbbec": 600, "rivals": {"slow": 1200, "grid_sample": 300}},
        {"case": "resize", "orbbec": 100, "rivals": {"other": 1250}},
    ]
    monkeypatch.setattr(performance, "GPU_RUN", tmp_path / "h100.json")
    performance.GPU_RUN.write_text(json.dumps({"workloads": workloads}))
    assert performance.gpu_table(performance.GPU_PAGE)[2:] == [
        "| crop | 600 | **0.50** | grid_sample, 300 | slow 1,200 |",
        "| resize | 100 | 12.50 | other, 1,250 |  |",
    ]


def test_the_readmes_show_what_a_gpu_loses(performance):
    lost = [
        one
        for one in json.loads(performance.GPU_RUN.read_text())["workloads"]
        if "**" in performance.gpu_speed(one)[0]
    ]
    assert lost
    for page in performance.READMES:
        assert any(performance.gpu_speed(one)[0] in page.read_text() for one in lost)


def run_of(date, *cases):
    """The JSON of a page: the seconds of orbbec and its rivals for each case, with one thread."""
    results = []
    for case, seconds in cases:
        timings = [Timing(name, True, None, cpu=[own] * 7) for name, own in seconds.items()]
        results.append(asdict(Result("op", case, 1, 1, 0, "cpu", timings)))
    about = {"gpu": "", "cpu": "A processor", "cpu_flags": ["avx2"], "cores": 2, "date": date}
    return json.dumps({**about, "results": results})


@pytest.fixture
def runs(performance, tmp_path, monkeypatch):
    folder = tmp_path / "docs" / "benchmarks"
    monkeypatch.setattr(performance, "RUNS", folder)
    page = tmp_path / "docs" / "project" / "performance.md"
    page.parent.mkdir(parents=True)
    monkeypatch.setattr(performance, "PAGES", [page])
    monkeypatch.setattr(performance, "READMES", [])
    monkeypatch.setattr(performance, "GPU_PAGE", page)
    monkeypatch.setattr(performance, "operators", lambda: ["blur", "noise", "transforms"])
    for machine, name, text in (
        ("old", "blur", run_of("2026-01-01", ("5x5", {"cv2": 1, "orbbec": 9}))),
        ("new", "blur", run_of("2026-01-02", ("5x5", {"slow": 9, "cv2": 4, "orbbec": 2}))),
        (
            "old",
            "noise",
            run_of("2026-01-01", ("bytes", {"orbbec": 4, "torch": 1}), ("alone", {"orbbec": 1})),
        ),
        ("old", "transforms", run_of("2026-01-01", ("crop", {"cv2": 3, "orbbec": 2}))),
    ):
        (folder / machine).mkdir(parents=True, exist_ok=True)
        (folder / machine / f"{name}.json").write_text(text)


def test_a_figure_is_the_ratio_to_the_best_rival_of_the_newest_run(performance, runs):
    lines = performance.operator_table(performance.PAGES[0])[2:]
    assert [line.split(" | ")[:5] for line in lines] == [
        ["| `blur`", "1", "2.00", "2.00", "2.00"],
        ["| `noise`", "1", "**0.25**", "**0.25**", "**0.25**"],
    ]
    assert "(../benchmarks/new/blur.md) (A processor, 2 cores, 2026-01-02)" in lines[0]


def test_the_machine_where_a_rival_does_best_is_shown(performance, runs):
    for machine, seconds in (("old", 3), ("new", 2)):
        workload = run_of("2026-01-0" + str(seconds), ("W1 warp, uint8", {"cv2": 4, "orbbec": seconds}))
        (performance.RUNS / machine / "peers.json").write_text(workload)
    assert performance.shown_run("peers").parent.name == "old"
    assert performance.shown_run("peers", "new").parent.name == "new"


def test_every_loss_is_listed_with_its_rival(performance, runs):
    assert performance.loss_list(performance.PAGES[0]) == ["- `noise`: bytes. 1 thread: **0.25** (torch)"]


def test_a_case_names_its_best_rival(performance, runs):
    assert performance.table_of(["transforms"], performance.PAGES[0])[-1] == "| crop | 1.50 (cv2) |  |"


def test_a_page_that_differs_from_the_runs_is_refused(performance, runs, monkeypatch):
    performance.PAGES[0].write_text("<!-- table: losses -->\n- none\n<!-- end -->\n")
    monkeypatch.setattr(sys, "argv", ["performance.py", "--check"])
    assert (
        performance.main()
        == "out of date: performance.md, README.md, README.md; run python tools/performance.py"
    )
    monkeypatch.setattr(sys, "argv", ["performance.py"])
    assert performance.main() is None
    assert "**0.25** (torch)" in performance.PAGES[0].read_text()
    monkeypatch.setattr(sys, "argv", ["performance.py", "--check"])
    assert performance.main() is None


def test_a_machine_has_a_page_with_its_own_runs(performance, runs):
    page = performance.machine_page(performance.RUNS / "old")
    assert page.startswith("# Performance: A processor, 2 cores\n")
    assert re.findall(r"^## (.*)$", page, re.MULTILINE) == ["Pipelines", "Operators, one thread", "Losses"]
    assert "| `blur` | 1 | **0.11** |" in page
    assert "[blur](blur.md) (A processor, 2 cores, 2026-01-01)" in page


def test_code_by_hand_has_a_row_of_its_own(performance, runs):
    seconds = {"orbbec": 2, "DALI": 6, "cv2 loop": 1, "Kornia": 8}
    (performance.RUNS / "new" / "peers.json").write_text(run_of("2026-01-02", ("W", seconds)))
    assert performance.workload_table(performance.PAGES[0])[-2:] == [
        "| W | best library | 3.00 (DALI) |  |",
        "|  | best code by hand | **0.50** (cv2 loop) |  |",
    ]


def test_an_outdated_chart_is_refused(performance, runs, tmp_path, monkeypatch):
    path = performance.RUNS / "new" / "peers.json"
    path.write_text(run_of("2026-01-02", ("W", {"orbbec": 2, "DALI": 6})))
    monkeypatch.setattr(performance, "CHART", tmp_path / "chart.png")
    assert not performance.is_chart_current(path)
    performance.chart.draw(performance.CHART, performance.results_of(path), performance.chart_title(path))
    assert performance.is_chart_current(path)
    path.write_text(run_of("2026-01-02", ("W", {"orbbec": 2, "DALI": 7})))
    assert not performance.is_chart_current(path)
