"""The report of a loader."""

import json
import re
import threading
import time
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from orbbec.data import Loader, Report, Sample, live
from orbbec.transforms import RandomResizedCrop

SOURCE = [Sample(np.zeros((20, 20, 3), np.uint8), {}, i) for i in range(12)]


def test_a_report_says_how_long_the_model_waited():
    class Slow(list):
        def __getitem__(self, index):
            time.sleep(0.02)
            return super().__getitem__(index)

    loader = Loader(Slow(SOURCE), 2, [RandomResizedCrop(4)], threads=1)
    assert loader.report().advice == "No batch was taken yet."
    list(loader)
    report = loader.report()
    assert report.images == 12
    assert report.speed_fraction < 0.2
    assert report.seconds > 0.2
    assert report.advice.startswith("Reading takes most")
    assert report.spent["read"] > 0.2


def test_a_report_says_that_the_loader_keeps_up():
    loader = Loader(SOURCE, 2, [RandomResizedCrop(4)], threads=1)
    for _ in range(3):
        for _ in loader:
            time.sleep(0.05)
    assert loader.report().speed_fraction > 0.5
    assert " % waiting; " in loader.report().line
    assert loader.report().spent["idle"] > 0.2  # the thread waited for the model


@pytest.mark.parametrize("part", ["read", "decode", "augment", "copy"])
def test_advice_is_about_what_takes_most(part):
    report = Report(10, 1.0, 0.5, {"read": 0.1, "decode": 0.1, part: 3.0}, threads=2)
    starts = {"read": "Reading", "decode": "Decoding", "augment": "Augmentation", "copy": "Copying"}
    assert report.advice.startswith(starts[part])
    assert Report(10, 1.0, 0.01, {}, threads=2).advice.startswith("The loader keeps up")


@pytest.mark.parametrize(
    ("synthetic", "keeps_up"), [(0.0, True), (1000.0, True), (1030.0, True), (900.0, True), (7000.0, False)]
)
def test_advice_agrees_with_the_share_of_the_synthetic_bound(synthetic, keeps_up):
    """The report once said '14 % are reached' and 'the loader keeps up' together."""
    report = Report(1000, 1.0, 0.02, {"decode": 1.0, "idle": 0.5}, threads=3, synthetic=synthetic)
    assert report.advice.startswith("The loader keeps up") == keeps_up
    if not keeps_up:
        assert "of which 14 % are reached" in str(report)
        assert report.advice.startswith("The model seldom waits, but its steps are slower than alone: ")
        assert "threads (3 now) take cores" in report.advice


def test_advice_where_both_sides_wait():
    report = Report(10, 1.0, 0.5, {"read": 0.1, "decode": 1.0, "idle": 0.4}, threads=2)
    assert (
        report.advice == "Threads wait too: epochs are short, or batch times vary and need a larger prefetch."
    )


def test_the_share_of_the_synthetic_bound():
    loader = Loader(SOURCE, 2, [RandomResizedCrop(4)], threads=1)
    assert "One batch" not in str(loader.report())
    *_, batch = loader
    steps = []
    for same in loader.synthetic(batch, steps=5):
        assert same is batch
        steps.append(time.sleep(0.01))
    assert len(steps) == 3 + 5  # three warm-up steps
    assert 100 < loader.report().synthetic <= 200  # two images per 10 ms; measured 196
    assert loader.report().images == 12
    assert "One batch repeated: " in str(loader.report())


def test_the_line_is_live(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    screen = StringIO()
    console = Console(file=screen, force_terminal=True, width=200)
    loader = Loader(SOURCE, 2, [RandomResizedCrop(4)], threads=1)
    ids = []
    for batch in live(loader, "epoch 1", console):
        ids += batch.sample_ids.tolist()
        time.sleep(0.15)  # the line is redrawn ten times per second
    assert sorted(ids) == list(range(12))
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.getvalue())
    for done in range(1, 7):
        assert re.search(rf"epoch 1 .* {done}/6 \d+ images/s, \d+ % waiting; .* \d+ %", text), text


def test_a_live_line_that_is_left_stops_the_threads():
    loader = Loader([*SOURCE, *SOURCE], 2, [RandomResizedCrop(4)], threads=2)
    threads = set(threading.enumerate())
    for _ in live(loader, console=Console(file=StringIO(), force_terminal=True)):
        assert all(thread.name.startswith("orbbec-data") for thread in {*threading.enumerate()} - threads)
        break
    loader.close()
    assert set(threading.enumerate()) <= threads


def test_settings_make_the_same_loader_again():
    settings = Loader(SOURCE, 2, threads=3, prefetch=5).settings()
    again = Loader(SOURCE, 2, **json.loads(settings))
    assert (again.threads, again.prefetch) == (3, 5)
    assert again.settings() == settings
