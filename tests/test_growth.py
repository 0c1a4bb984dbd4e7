"""tools/growth.py: its contenders' outputs, its files, and the times in its points."""

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.support.timing import measure
from tests.support.timing.benchmark import as_array, psnr

TOOLS = Path(__file__).parents[1] / "tools"

if hasattr(torch.ops.orbbec, "set_emulation"):
    pytest.skip("what is timed runs no kernel", allow_module_level=True)


@pytest.fixture(scope="module")
def growth():
    sys.path.insert(0, str(TOOLS))  # like `python tools/growth.py`
    try:
        yield importlib.import_module("growth")
    finally:
        sys.path.remove(str(TOOLS))


def results_of(work):
    return {contender.name: as_array(contender.run()) for contender in work.contenders}


def test_axes_are_as_promised(growth):
    points = {name: [point.at for point in make().points] for name, make in growth.PANELS.items()}
    assert points["batch"] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]
    assert points["side"] == [64, 128, 256, 512, 1024, 2048, 4096]
    assert points["length"] == list(range(1, 13))
    assert points["threads"][:2] == [1, 2]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_classifier_by_hand_gives_nearly_the_same(growth, threads):
    measure.set_threads(threads)
    work = growth.classify(3, (40, 50), 24, "cpu")
    results = results_of(work)
    measure.set_threads(1)
    assert np.array_equal(results[growth.BY_HAND], results[growth.USUAL])
    assert np.array_equal(results[growth.FUSED], work.expected)
    assert np.array_equal(results[growth.INTO], work.expected)
    assert (
        psnr(results[growth.BY_HAND], work.expected) > 40
    )  # measured: 53; OpenCV's resize uses 11-bit weights


def test_a_pipeline_by_hand_gives_nearly_the_bytes_of_the_exact_one(growth, monkeypatch):
    monkeypatch.setattr(growth, "IMAGES", 2)
    for length in (1, 5, 7):
        work = growth.augment_at_length(length, "cpu")
        results = results_of(work)
        assert np.array_equal(results[growth.EXACT], work.expected)
        assert psnr(results[growth.BY_HAND], work.expected) > 40, length
    assert len(growth.T.Compose(growth.PIPELINE).plan([(375, 500)], epoch=0).passes) == 1


def test_a_run_writes_samples_a_table_and_a_chart(growth, tmp_path, monkeypatch, capsys):
    def small():
        points = [
            growth.point(n, lambda device, n=n: growth.classify(n, (8, 9), 6, device), n) for n in (1, 2)
        ]
        return growth.Panel("Small", "images", "s per image", points, True)

    monkeypatch.setattr(growth, "PANELS", {"batch": small})
    monkeypatch.setattr(measure, "SAMPLE_SECONDS", 1e-6)
    monkeypatch.setattr(sys, "argv", ["growth.py", "batch", "--output", str(tmp_path)])
    growth.main()
    (page,) = tmp_path.glob("*/growth.md")
    assert capsys.readouterr().out.strip() == str(page)
    (panel,) = json.loads(page.with_suffix(".json").read_text())["panels"]
    assert [len(timing["cpu"]) for result in panel["results"] for timing in result["timings"]] == [7] * 8
    median = sorted(panel["results"][1]["timings"][2]["cpu"])[3]
    assert "| 2 | " in page.read_text()
    assert f" {1e6 * median / 2:.3g} |" in page.read_text()
    assert page.with_suffix(".png").read_bytes()[:4] == b"\x89PNG"


def timed(growth, at, **seconds):
    timings = [measure.Timing(name, True, None, cpu=[own] * 7) for name, own in seconds.items()]
    return measure.Result("growth", str(at), 1, 1, 0, "cpu", timings)


def test_losses_are_said_where_they_are(growth):
    points = [growth.point(n, None, 1) for n in (1, 2, 3)]
    panel = growth.Panel("Small", "transforms", "s per image", points, False)
    seconds = [(1, 2, 3), (3, 2, 1), (3, 2, 1)]  # by hand, fused, step by step
    names = (growth.BY_HAND, growth.FUSED, growth.EXACT)
    results = [timed(growth, n, **dict(zip(names, own, strict=True))) for n, own in enumerate(seconds, 1)]
    results[2].timings[1].psnr = 20.0
    text = "\n".join(growth.notes(panel, results))
    assert "By hand is faster at 1.\n" in text
    assert "The fused pipeline is slower than the step-by-step one at 2 and 3.\n" in text
    assert "From 3 transforms on the fused pipeline has 20.0 to 20.0 dB" in text


def test_a_run_of_one_panel_keeps_the_others(growth, tmp_path, monkeypatch):
    def small(title):
        points = [growth.point(1, lambda device: growth.classify(1, (8, 9), 6, device), 1)]
        return growth.Panel(title, "images", "s per image", points, True)

    monkeypatch.setattr(growth, "PANELS", {name: lambda name=name: small(name) for name in ("batch", "side")})
    monkeypatch.setattr(measure, "SAMPLE_SECONDS", 1e-6)
    for names in ([], ["side"]):
        monkeypatch.setattr(sys, "argv", ["growth.py", *names, "--output", str(tmp_path)])
        growth.main()
        (path,) = tmp_path.glob("*/growth.json")
        assert [panel["title"] for panel in json.loads(path.read_text())["panels"]] == ["batch", "side"]


def test_too_few_rounds_are_refused(growth, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["growth.py", "--rounds", "3"])
    with pytest.raises(SystemExit):
        growth.main()
