"""benchmarks/peers: available contenders are compared and timed, others are named, losses are marked."""

import doctest
import json
import os
import time
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from benchmarks.peers import __main__ as peers
from benchmarks.peers import apart, chart, contest, report, runs, w1_warp
from benchmarks.peers.contest import Rival, Workload, assemble
from tests.support.timing import measure
from tests.support.timing.measure import Refused, Result, Timing
from tests.support.timing.warp_work import WarpShape

TINY = WarpShape(images=2, source=(40, 56), target=(24, 30))
OURS = w1_warp.OURS[0]


@pytest.fixture(autouse=True)
def _short_samples(monkeypatch):
    monkeypatch.setattr(measure, "SAMPLE_SECONDS", 1e-6)
    before = torch.get_num_threads()
    yield
    measure.set_threads(before)


def tiny(*contenders):
    return Workload("tiny", partial(w1_warp.Scene, TINY), contenders)


@pytest.mark.parametrize("module", [chart, contest, measure, w1_warp], ids=lambda module: module.__name__)
def test_examples_of_docstrings_run(module):
    tried = doctest.testmod(module)
    assert tried.attempted > 0
    assert tried.failed == 0


def test_a_run_writes_a_page_and_every_sample(tmp_path, monkeypatch):
    nowhere = Rival("nobody", "no_such_package", w1_warp.by_kornia, 60)
    workload = tiny(OURS, *w1_warp.CV2, nowhere)
    monkeypatch.setattr(runs, "WORKLOADS", [workload])
    monkeypatch.setattr(runs, "run_apart", runs.run)
    monkeypatch.setattr("sys.argv", ["peers", "--rounds", "7", "--output", str(tmp_path)])
    peers.main()
    (path,) = tmp_path.glob("*/peers.json")
    written = json.loads(path.read_text())
    timed = [(result["threads"], result["clock"]) for result in written["results"]]
    assert timed == [(1, "cpu"), (2, "wall")]
    names = [timing["name"] for timing in written["results"][0]["timings"]]
    assert names == [OURS.name, "cv2, OpenCV's threads", "cv2, a pool of threads"]
    assert all(len(timing["cpu"]) == 7 for result in written["results"] for timing in result["timings"])
    assert written["not_timed"] == [{"workload": "tiny", "name": "nobody", "why": "not installed"}]
    assert written["versions"]["opencv-python-headless"]
    page = path.with_suffix(".md").read_text()
    assert page.count(f"| {OURS.name} |") == 2
    assert page.count("| tiny, 1 thread (cpu time) | ") == 1
    assert "| tiny | nobody | not installed |" in page


def test_a_rival_below_its_least_is_refused_and_the_others_are_timed():
    def wrong(scene):
        return lambda: np.zeros_like(scene.expected)

    work, absent = assemble(tiny(OURS, Rival("poor", "numpy", wrong, 60), w1_warp.CV2[0]), "cpu")
    assert [contender.name for contender in work.contenders] == [OURS.name, "cv2, OpenCV's threads"]
    assert [one.name for one in absent] == ["poor"]
    assert "dB, less than 60" in absent[0].why


def test_a_rival_that_fails_is_named_with_its_error():
    def broken(scene):
        raise RuntimeError("no such\nlibrary")

    _, absent = assemble(tiny(OURS, Rival("broken", "numpy", broken, 60)), "cpu")
    assert absent[0].why == "RuntimeError: no such library"


def test_ours_may_not_be_wrong():
    wrong = Rival("orbbec", "orbbec", lambda scene: lambda: scene.expected + 1)
    with pytest.raises(Refused, match=r"^tiny: orbbec: .* not what is expected"):
        assemble(tiny(wrong), "cpu")


@pytest.mark.parametrize("workload", runs.WORKLOADS, ids=lambda workload: workload.title)
def test_ours_gives_what_every_workload_expects(workload):
    measure.set_threads(2)
    ours = [rival for rival in workload.contenders if rival.package == "orbbec" and "cpu" in rival.devices]
    work, absent = assemble(replace(workload, contenders=ours), "cpu")
    assert [contender.name for contender in work.contenders] == [rival.name for rival in ours]
    assert {one.name for one in absent} == set(workload.left_out)


def test_a_rival_that_wins_is_marked_and_our_variants_are_not():
    timings = [
        Timing(name, True, None, cpu=[seconds] * 7)
        for name, seconds in (("orbbec", 2.0), ("orbbec, out=", 1.0), ("fast", 1.0), ("slow", 4.0))
    ]
    result = Result("peers", "W", 1, 1, 0, "cpu", timings)
    assert measure.losses([result]) == ["- W, 1 thread (cpu time): fast, 2.00 times orbbec"]
    rows = {line.split(" | ")[0][2:]: line for line in report.table(result)[4:]}
    assert "| 2.00 **wins** |" in rows["fast"]
    assert all("wins" not in rows[name] for name in ("orbbec", "orbbec, out=", "slow"))


def test_every_workload_begins_with_orbbec_and_knows_the_versions_of_its_rivals():
    assert len({workload.title for workload in runs.WORKLOADS}) == len(runs.WORKLOADS)
    known = {"orbbec", "numpy", "torch", *contest.PACKAGES}
    for workload in runs.WORKLOADS:
        assert workload.contenders[0].package == "orbbec"
        assert {contender.package for contender in workload.contenders} <= known


def test_a_container_of_threads_is_made_once_for_each_number():
    built = contest.by_threads(lambda threads: lambda: threads)
    measure.set_threads(2)
    assert built() == 2
    measure.set_threads(1)
    assert built() == 1


def test_the_headline_is_the_ratio_to_the_best_rival():
    timings = [
        Timing(name, True, None, cpu=[seconds] * 7)
        for name, seconds in (("slow", 4.0), ("fast", 1.0), ("orbbec", 2.0), ("orbbec, out=", 0.5))
    ]
    result = Result("peers", "W", 1, 1, 0, "cpu", timings)
    assert result.headline == 0.5
    (line,) = report.summary([result])[2:]
    assert line == "| W, 1 thread (cpu time) | 2000.0000 | fast | 1000.0000 | 0.50, **fast wins** |"


def test_a_run_of_one_workload_keeps_the_others_of_the_page(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "run_apart", runs.run)
    first, second = (replace(tiny(OURS), title=title) for title in ("W1 tiny", "W2 tiny"))
    monkeypatch.setattr(runs, "WORKLOADS", [first, second])
    for names in ([], ["w2"]):
        monkeypatch.setattr("sys.argv", ["peers", *names, "--rounds", "7", "--output", str(tmp_path)])
        peers.main()
        (path,) = tmp_path.glob("*/peers.json")
        results = json.loads(path.read_text())["results"]
        assert ("Of earlier runs: W1 tiny." in path.with_suffix(".md").read_text()) == bool(names)
        assert [(result["case"], result["threads"]) for result in results] == [
            ("W1 tiny", 1),
            ("W1 tiny", 2),
            ("W2 tiny", 1),
            ("W2 tiny", 2),
        ]


def test_each_workload_has_a_process_whose_environment_has_the_number_of_threads(monkeypatch):
    monkeypatch.setattr(runs, "run", environment_of_rayon)
    for name in (
        "RAYON_NUM_THREADS",
        "NO_ALBUMENTATIONS_TELEMETRY",
        "ALBUMENTATIONS_NO_TELEMETRY",
        "NO_ALBUMENTATIONS_UPDATE",
    ):
        monkeypatch.setenv(name, "0")
    here = str(os.getpid())
    runs_of = [runs.run_apart("", "cpu", count, 7) for count in (1, 2, 2)]
    assert [threads for threads, _ in runs_of] == ["1", "2", "2"]
    assert len({here, *(process for _, process in runs_of)}) == 4


def environment_of_rayon(title, device, threads, rounds):
    return os.environ["RAYON_NUM_THREADS"], str(os.getpid())


def test_every_rival_has_its_library():
    packages = {
        "AlbumentationsX": "albumentations",
        "CV-CUDA": "cvcuda",
        "DALI": "nvidia.dali",
        "Kornia": "kornia",
        "SPDL": "spdl.io",
        "cv2.dnn": "cv2",
        "Pillow": "PIL",
    }
    for rival in (rival for workload in runs.WORKLOADS for rival in workload.contenders):
        library = chart.library_of(rival.name)
        if library == chart.BY_HAND:
            assert rival.package in ("orbbec", "cv2", "numpy", "torch", "simplejpeg", "PIL"), rival.name
        else:
            assert rival.package == packages.get(library, library), rival.name


def results_of_two_rivals():
    """With orbbec 2 s, with a library 6 s, and by hand 1, 2 and 4 s."""
    samples = {"orbbec": [2.0] * 3, "DALI": [6.0] * 3, "DALI, slow": [9.0] * 3, "cv2 loop": [1.0, 2.0, 4.0]}
    timings = [Timing(name, True, None, wall=own) for name, own in samples.items()]
    return [Result("peers", "W", threads, 1, 0, "wall", timings) for threads in (1, 2)]


def test_the_chart_has_the_fastest_rival_of_each_library_and_its_quartiles():
    (shown,) = chart.charted(results_of_two_rivals())
    assert shown.threads == 2
    speeds = {library: chart.speeds(shown, rival) for library, rival in chart.fastest(shown).items()}
    assert speeds == {"DALI": (3, 3, 3), "code by hand": (0.5, 1, 2)}


def test_the_chart_contains_a_digest_of_what_it_shows(tmp_path):
    path, results = tmp_path / "a.png", results_of_two_rivals()
    chart.draw(path, results, "a title")
    assert path.read_bytes()[:4] == b"\x89PNG"
    assert chart.digest(results, "a title").encode() in path.read_bytes()
    assert chart.digest(results, "another") != chart.digest(results, "a title")
    results[1].timings[1].wall[1] = 7.0
    assert chart.digest(results, "a title").encode() not in path.read_bytes()


def hangs(scene):
    time.sleep(100)


def raises(scene):
    raise RuntimeError("no such library")


APART = [
    OURS,
    Rival("hangs", "numpy", hangs),
    Rival("dies", "numpy", lambda scene: os._exit(3)),
    Rival("raises", "numpy", raises),
    Rival("absent", "no_such_package", raises),
    w1_warp.CV2[0],
]


TIME_RUNS = apart.time_runs


def of_the_apart(connection, planned, device, rounds):
    """`time_runs` in a process that does not know the workloads of the test."""
    runs.WORKLOADS[:] = [tiny(*APART)]
    measure.SAMPLE_SECONDS = 1e-6
    TIME_RUNS(connection, planned, device, rounds)


def test_a_rival_that_hangs_or_dies_costs_only_itself(monkeypatch):
    monkeypatch.setattr(runs, "WORKLOADS", [tiny(*APART)])
    monkeypatch.setattr(apart, "time_runs", of_the_apart)
    lines = []
    ((found, absent),) = apart.all_of(
        ["tiny"], "cpu", 7, seconds=5.0, show=lambda line, **_: lines.append(line)
    )
    assert [timing.name for timing in found[0].timings] == [OURS.name, w1_warp.CV2[0].name]
    assert all(len(timing.wall) == 7 for timing in found[0].timings)
    assert {one.name: one.why for one in absent} == {
        "hangs": "not done after 5 s",
        "dies": "its process ended with status 3",
        "raises": "RuntimeError: no such library",
        "absent": "not installed",
    }
    assert len(lines) == len(APART)
