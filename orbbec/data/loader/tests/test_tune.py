"""Settings follow from waiting times, and changing them changes no batch."""

import json
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from orbbec.data import Loader, Sample
from orbbec.data.loader.queues import Crew
from orbbec.data.loader.tune import Settings, Tuner, next_settings
from orbbec.transforms import RandomResizedCrop


class Source(list):
    """Images that are slow to read."""

    seconds = 0.0

    def __getitem__(self, index):
        time.sleep(self.seconds)
        return super().__getitem__(index)


NOISE = np.random.default_rng(0).integers(0, 256, (12, 16, 3), np.uint8)
SOURCE = Source(Sample(np.roll(NOISE, i, 0), {}, i) for i in range(160))
PIPELINE = [RandomResizedCrop(4)]


@pytest.mark.parametrize(
    ("now", "wait", "step", "idle", "work", "expected"),
    [
        ((4, 2), 5.0, 5.0, 0.0, 40.0, (8, 2)),  # the model waits for busy threads
        ((6, 2), 5.0, 5.0, 0.0, 60.0, (8, 2)),  # at most the budget
        ((8, 2), 5.0, 5.0, 0.0, 80.0, (8, 2)),
        ((8, 2), 5.0, 5.0, 40.0, 40.0, (8, 4)),  # both wait: batch times vary
        ((4, 2), 5.0, 5.0, 4.0, 36.0, (8, 2)),  # short idle times are wake-up latency
        ((8, 0), 5.0, 5.0, 40.0, 40.0, (8, 1)),
        ((8, 8), 5.0, 5.0, 40.0, 40.0, (8, 8)),
        ((8, 20), 5.0, 5.0, 40.0, 40.0, (8, 20)),  # never fewer than requested
        ((8, 2), 0.0, 10.0, 60.0, 20.0, (3, 2)),  # two of eight are busy; one more is kept
        ((8, 2), 0.0, 10.0, 79.0, 1.0, (1, 2)),
        ((8, 2), 0.4, 9.6, 0.0, 80.0, (8, 2)),  # the loader barely keeps up
        ((8, 2), 0.0, 0.0, 0.0, 0.0, (8, 2)),
    ],
)
def test_settings_follow_from_waits(now, wait, step, idle, work, expected):
    spent = {"wait": wait, "step": step, "idle": idle, "work": work, "decode": 3.0}
    assert next_settings(Settings(*now), spent, budget=8) == expected


def told(tuner: Tuner, steps: int, idle: float) -> list[tuple[int, int]]:
    """The settings after each change in an epoch with a given idle fraction."""
    tuner.begin()
    changes = []
    for step in range(steps):
        seconds = {"wait": 0.0, "step": step, "idle": idle * step, "work": (1 - idle) * step}
        if tuner.step(seconds):
            changes.append(tuple(tuner.settings))
    return changes


def test_a_tuner_chooses_in_the_first_steps_and_never_again():
    tuner = Tuner(Settings(8, 2), 8, frozenset({"threads", "prefetch"}))
    assert told(tuner, 10 + 15, idle=0.875) == []  # the epoch is too short
    assert told(tuner, 10 + 16, idle=0.875) == [(2, 2)]
    assert told(tuner, 4 + 16, idle=0.125) == []  # two are correct
    assert told(tuner, 500, idle=0.9) == []
    tuner = Tuner(Settings(64, 2), 64, frozenset({"threads"}))
    assert told(tuner, 2000, idle=0.75) == [(20, 2), (7, 2), (3, 2), (1, 2)]  # at most four times


def test_what_first_happens_while_a_tuner_measures_counts_whole():
    tuner = Tuner(Settings(8, 2), 8, frozenset({"threads"}))
    assert not any(tuner.step({}) for _ in range(10 + 15))
    assert tuner.step({"step": 100.0, "idle": 1.0, "work": 1.0})
    assert tuner.settings == (5, 2)


def test_only_what_is_auto_changes():
    assert told(Tuner(Settings(8, 2), 8, frozenset({"prefetch"})), 100, idle=0.9) == []
    assert told(Tuner(Settings(8, 2), 8, frozenset()), 100, idle=0.9) == []


def test_a_slow_model_gets_fewer_threads_and_the_same_batches(monkeypatch):
    monkeypatch.setattr("orbbec.data.loader.loader.thread_budget", lambda **_: 4)
    begin = time.perf_counter()
    fixed = list(Loader(SOURCE, 4, PIPELINE, threads=4, prefetch=2, seed=3))
    slow = 10 * (time.perf_counter() - begin) / len(fixed)  # for any load of the machine
    loader, resize, resized = Loader(SOURCE, 4, PIPELINE, seed=3), Crew.resize, []
    monkeypatch.setattr(Crew, "resize", lambda crew, *now: (resized.append(now), resize(crew, *now)))
    assert (loader.threads, loader.prefetch) == (4, 2)
    batches = []
    for batch in loader:
        batches.append(batch)
        time.sleep(slow)
    assert loader.threads < 4
    assert resized[-1] == (loader.threads, loader.prefetch)
    for actual, expected in zip(batches, fixed, strict=True):
        assert torch.equal(actual.images, expected.images)
        assert torch.equal(actual.sample_ids, expected.sample_ids)
    again = Loader(SOURCE, 4, PIPELINE, **json.loads(loader.settings()))
    assert (again.threads, again.prefetch) == (loader.threads, loader.prefetch)


def test_steps_of_short_epochs_are_not_added_up(monkeypatch):
    monkeypatch.setattr("orbbec.data.loader.loader.thread_budget", lambda **_: 4)
    loader = Loader(SOURCE, len(SOURCE) // 2, PIPELINE, seed=3)
    for _ in range(20):
        for _ in loader:
            time.sleep(0.01)
    assert (loader.threads, loader.prefetch) == (4, 2)


def test_a_slow_source_keeps_all_threads(monkeypatch):
    monkeypatch.setattr("orbbec.data.loader.loader.thread_budget", lambda **_: 4)
    slow = Source(SOURCE)
    slow.seconds = 0.002
    loader = Loader(slow, 4, PIPELINE, seed=3)
    ids = [i for batch in loader for i in batch.sample_ids.tolist()]
    assert sorted(ids) == list(range(160))
    assert loader.threads == 4


def test_given_numbers_stay():
    loader = Loader(SOURCE, 4, PIPELINE, threads=2, prefetch=3)
    for _ in loader:
        time.sleep(0.002)
    assert (loader.threads, loader.prefetch) == (2, 3)


@pytest.mark.skipif(not Path("/sys/devices/system/node/node0").exists(), reason="no nodes are listed here")
def test_threads_of_a_node():
    loader = Loader(SOURCE, 16, PIPELINE, numa=0)
    assert len(list(loader)) == 10
    with pytest.raises(ValueError, match=r"Loader: expected numa as one of 0.*, but got 77"):
        Loader(SOURCE, 16, PIPELINE, numa=77)


def test_there_are_as_many_threads_as_cores_of_a_node(monkeypatch):
    monkeypatch.setattr("orbbec.data.loader.loader.node_cores", lambda node: [3 * node + n for n in range(3)])
    monkeypatch.setattr("orbbec.data.loader.loader.thread_budget", lambda cores, on_cuda: len(cores))
    loader = Loader(SOURCE, 16, PIPELINE, numa=2)
    assert (loader.threads, loader._cores) == (3, [6, 7, 8])
