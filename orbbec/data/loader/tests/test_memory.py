"""Batches wait for memory, but never the one that the model waits for."""

import os
from threading import Event, Thread

import numpy as np
import pytest
import torch

from orbbec.data import Loader, Sample
from orbbec.data.loader.memory import Job, MemoryBudget, default_limit
from orbbec.data.loader.queues import Stopped

NEVER = Event()


def waiting(budget, number, nbytes, stopped=NEVER):
    """A thread that takes memory, after it has begun to wait."""
    results = []

    def take():
        try:
            budget.take(number, nbytes, stopped)
            results.append(number)
        except Stopped:
            results.append("stopped")

    thread = Thread(target=take)
    thread.start()
    thread.join(0.1)
    assert thread.is_alive()
    return thread, results


def test_a_younger_batch_waits_until_an_older_one_returns_its_bytes():
    budget = MemoryBudget(100)
    budget.take(0, 60, NEVER)
    thread, results = waiting(budget, 1, 41)
    budget.end(0)
    thread.join(10)
    assert (results, budget.in_use, budget.most) == ([1], 41, 60)


def test_a_batch_waits_for_more_bytes_than_it_has_and_for_no_others():
    budget, stopped = MemoryBudget(10), Event()
    budget.take(1, 8, NEVER)
    budget.take(0, 8, NEVER)  # the oldest may have more than there is
    stopped.set()
    budget.take(1, 8, stopped)
    with pytest.raises(Stopped):
        budget.take(1, 9, stopped)
    assert budget.in_use == 16


@pytest.mark.parametrize(("limit", "half"), [(8, 4), (9, 4), (2**40, 2**39)])
def test_a_batch_is_large_above_half_of_the_memory_and_has_pieces_of_a_quarter(limit, half):
    job = Job(Event(), MemoryBudget(limit), 0)
    assert (job.is_large(half), job.is_large(half + 1)) == (False, True)
    assert job.piece_bytes == min(limit // 4, 2**28)


def test_memory_for_pixels_counts():
    budget = MemoryBudget(100)
    assert len(Job(NEVER, budget, 0).empty(60, pin_memory=False)) == budget.in_use == 60


def test_bytes_up_to_the_limit_are_free_at_once():
    budget = MemoryBudget(100)
    budget.take(0, 60, NEVER)
    budget.take(1, 40, NEVER)
    assert budget.in_use == budget.most == 100


def test_the_oldest_batch_never_waits():
    budget = MemoryBudget(100)
    budget.take(1, 100, NEVER)
    budget.take(0, 1000, NEVER)
    assert budget.in_use == 1100


def test_a_batch_is_the_oldest_when_all_before_it_are_done_in_any_order():
    budget = MemoryBudget(10)
    for number in (2, 0, 1):
        budget.end(number)
    budget.take(4, 10, NEVER)
    budget.take(3, 11, NEVER)
    assert budget.in_use == 21
    thread, results = waiting(budget, 5, 1)
    budget.end(4)
    budget.end(3)
    thread.join(10)
    assert (results, budget.in_use) == ([5], 1)


def test_a_batch_after_one_that_is_not_done_waits():
    budget = MemoryBudget(10)
    budget.end(0)
    thread, results = waiting(budget, 2, 11)
    budget.end(1)
    thread.join(10)
    assert (results, budget.in_use) == ([2], 11)


def test_a_batch_that_is_decoded_again_has_its_bytes_once():
    budget = MemoryBudget(100)
    budget.take(0, 80, NEVER)
    budget.take(0, 70, NEVER)
    assert budget.in_use == 70


def test_a_waiting_batch_is_stopped():
    budget, stopped = MemoryBudget(1), Event()
    budget.take(0, 1, NEVER)
    thread, results = waiting(budget, 1, 1, stopped)
    stopped.set()
    thread.join(10)
    assert results == ["stopped"]
    assert budget.in_use == 1


def test_the_default_is_a_quarter_of_the_memory_up_to_8_gib(monkeypatch):
    pages = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 1 << 20}
    monkeypatch.setattr("os.sysconf", pages.__getitem__)
    assert default_limit() == 1 << 30
    pages["SC_PHYS_PAGES"] = 1 << 30
    assert default_limit() == 8 << 30


def test_a_loader_holds_no_more_than_its_memory_and_gives_the_same_batches():
    source = [Sample(np.full((20, 30, 3), n, np.uint8), {"label": n}, n) for n in range(24)]
    one_batch = 4 * 20 * 30 * 3

    def batches(**options):
        with Loader(source, 4, threads=3, prefetch=4, shuffle=False, **options) as loader:
            pixels = [torch.stack(list(batch.images.images())) for batch in loader]
            return pixels, loader.report()

    expected, free = batches()
    pixels, bounded = batches(memory=2 * one_batch)
    assert all(map(torch.equal, pixels, expected))
    assert one_batch <= bounded.most_bytes <= 3 * one_batch  # the next batch may go beyond the limit
    assert free.most_bytes > bounded.most_bytes
    assert f"at most {bounded.most_bytes / 1e6:.0f} MB of pixels" in str(bounded)


@pytest.mark.parametrize("memory", [0, -1, 1.5, "1 GB"])
def test_memory_is_a_positive_number_of_bytes(memory):
    with pytest.raises((TypeError, ValueError), match="Loader: expected memory"):
        Loader([], 1, memory=memory)


def test_a_container_and_the_ranks_of_a_machine_share_its_memory(tmp_path, monkeypatch):
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert default_limit(tmp_path) == min(machine // 4, 8 << 30)
    (tmp_path / "memory").mkdir()
    for file in (tmp_path / "memory.max", tmp_path / "memory" / "memory.limit_in_bytes"):  # versions 2 and 1
        file.write_text("1048576\n")
        assert default_limit(tmp_path) == 2**18
        monkeypatch.setenv("LOCAL_WORLD_SIZE", "8")
        assert default_limit(tmp_path) == 2**15
        monkeypatch.delenv("LOCAL_WORLD_SIZE")
        file.write_text("max\n" if file.name == "memory.max" else "9223372036854771712\n")
        assert default_limit(tmp_path) == min(machine // 4, 8 << 30)
    (tmp_path / "memory.max").write_text("0\n")
    assert default_limit(tmp_path) == 1
