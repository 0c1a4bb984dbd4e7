"""The benchmark tool refuses wrong outputs, and writes its measurements."""

import importlib.util
import json
import statistics
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from orbbec.cli.doctor import collect
from tests.support.timing import measure
from tests.support.timing.benchmark import Case, Contender, Work, source_positions, touched_pixels
from tests.support.timing.warp_work import WarpShape

ROOT = Path(__file__).parents[1]
ONES = np.ones((2, 3, 4, 1), np.uint8)


@pytest.fixture(scope="module")
def bench():
    spec = importlib.util.spec_from_file_location("bench", ROOT / "tools" / "bench.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["bench"] = module
    spec.loader.exec_module(module)
    return module


def work_of(*contenders):
    return Work(contenders, ONES, images=2, moved_bytes=48)


def test_every_file_has_cases(bench):
    operators = {operator for operator, _ in bench.find_cases("")}
    assert operators == {path.stem for path in ROOT.glob("benchmarks/ops/*.py")} != set()


def test_filter_looks_at_operator_and_case(bench):
    found = list(bench.find_cases("WARPAFFINE uint8 512"))
    assert found
    assert all(operator == "warpaffine" and "uint8 512" in case.name for operator, case in found)


def test_an_output_that_differs_from_a_promised_one_stops_the_benchmark():
    wrong = Contender("liar", lambda: ONES + 1)
    with pytest.raises(SystemExit, match="liar: its output is not what is expected"):
        measure.check(wrong, ONES)


def test_an_output_of_another_dtype_is_not_the_same():
    with pytest.raises(SystemExit, match="float"):
        measure.check(Contender("float", lambda: ONES.astype(np.float32)), ONES)


def test_an_output_that_need_not_be_equal_gets_its_psnr():
    tensor = torch.ones(2, 1, 3, 4, dtype=torch.uint8)
    same = measure.check(Contender("tensor", lambda: tensor), ONES)
    close = measure.check(Contender("close", lambda: ONES + 1, exact=False), ONES)
    assert (same.exact, same.psnr) == (True, None)
    assert (close.exact, close.psnr) == (False, 48.1)  # 20 log10(255 / 1)


def test_an_output_below_its_least_psnr_stops_the_benchmark():
    with pytest.raises(SystemExit, match=r"poor: 48.1 dB, less than 50"):
        measure.check(Contender("poor", lambda: ONES + 1, exact=False, least_psnr=50), ONES)


def test_an_output_of_another_shape_has_no_psnr_and_is_below_any_least():
    part = measure.check(Contender("part", lambda: ONES[:1], exact=False), ONES)
    assert part.output == "another shape"
    with pytest.raises(SystemExit, match=r"part: expected shape \(2, 3, 4, 1\), but got \(1, 3, 4, 1\)"):
        measure.check(Contender("part", lambda: ONES[:1], exact=False, least_psnr=1), ONES)


def test_ratio_is_the_median_of_the_ratios_of_rounds():
    reference = measure.Timing("a", True, None, wall=[2.0, 4.0, 60.0], cpu=[1.0, 1.0, 1.0])
    fast = measure.Timing("b", True, None, wall=[1.0, 2.0, 30.0], cpu=[4.0, 4.0, 4.0])
    result = measure.Result("op", "case", 2, 8, 100, "wall", [reference, fast])
    assert result.ratio(fast) == 2.0
    assert result.median(fast) == 2.0
    assert measure.Result("op", "case", 1, 8, 100, "cpu", [reference, fast]).ratio(fast) == 0.25


def test_machine_name_holds_nothing_but_the_processor():
    facts = collect()
    name = measure.machine_name(facts, "cpu")
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789.-")
    assert name.endswith(f"-{facts.cores}-cores")


def test_a_run_writes_all_samples_and_a_table(bench, tmp_path, monkeypatch, capsys):
    case = Case(
        "tiny", lambda device: work_of(Contender("one", lambda: ONES), Contender("two", lambda: ONES))
    )
    monkeypatch.setattr(bench, "find_cases", lambda text: [("op", case)])
    monkeypatch.setattr(measure, "SAMPLE_SECONDS", 1e-6)
    before = torch.get_num_threads()
    monkeypatch.setattr(sys, "argv", ["bench.py", "--rounds", "7", "--output", str(tmp_path)])
    try:
        bench.main()
    finally:
        measure.set_threads(before)
    (path,) = tmp_path.glob("*/op.json")
    written = json.loads(path.read_text())
    assert written["torch"] == torch.__version__
    assert [(result["threads"], result["clock"]) for result in written["results"]] == [
        (1, "cpu"),
        (2, "wall"),
    ]
    timing = written["results"][1]["timings"][0]
    assert len(timing["wall"]) == len(timing["cpu"]) == 7
    shown = capsys.readouterr().out
    assert f"| {1000 * statistics.median(timing['wall']) / 2:.4f} |" in shown
    assert path.with_suffix(".md").read_text().strip() in shown
    assert str(ROOT) not in path.read_text()


@pytest.mark.parametrize("arguments", [["--rounds", "3"], ["--threads", "0"]])
def test_too_few_rounds_or_threads_are_refused(bench, arguments, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["bench.py", *arguments])
    with pytest.raises(SystemExit):
        bench.main()


@pytest.mark.parametrize(("interpolation", "expected"), [("nearest", 12), ("linear", 20), ("cubic", 42)])
def test_touched_pixels_counts_each_pixel_once(interpolation, expected):
    # 3 x 4 positions a quarter pixel off: 3 x 4, 4 x 5 and 6 x 7 source pixels.
    x, y = source_positions(np.array([[1.0, 0, 5.25], [0, 1, 5.25]]), (3, 4))
    assert touched_pixels(x, y, (20, 20), interpolation) == expected


@pytest.mark.parametrize("operator", ["warpaffine", "warpperspective", "remap"])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
def test_contenders_of_the_warps_give_the_same_bytes(operator, dtype):
    prepare = importlib.import_module(f"benchmarks.ops.{operator}").prepare
    work = prepare(WarpShape(images=3, source=(40, 56), target=(24, 30), dtype=dtype), "cpu")
    timings = [measure.check(contender, work.expected) for contender in work.contenders]
    assert timings[0].name.startswith("cv2")
    assert all(timing.exact for timing in timings)
    assert work.images == 3


def test_grid_sample_comes_near_to_the_same_warp():
    prepare = importlib.import_module("benchmarks.ops.warpaffine").prepare
    shape = WarpShape(images=3, source=(40, 56), target=(24, 30))
    work = prepare(shape, "cpu", beside_grid_sample=True)
    rival = measure.check(work.contenders[-1], work.expected)
    # 67.3 dB with torch 2.13: single levels, from rounding. An error of one pixel gives about 15.
    assert rival.psnr is None or rival.psnr > 55


def test_the_root_of_a_recorded_run_is_the_repository():
    assert measure.ROOT == ROOT
