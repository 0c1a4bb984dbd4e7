"""Threads ahead of who takes their results: in order, bounded, stopped at once."""

import threading
import time

import pytest
import torch

from orbbec.data.queues import Crew, Stopped
from orbbec.data.threads import thread_budget


def own_threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("orbbec-data")]


def test_results_come_in_the_order_of_tasks():
    def work(number, stopped):
        time.sleep(0.002 * (number % 3))
        return number * number

    with Crew(work, range(50), threads=4, ahead=2) as crew:
        assert list(crew) == [number * number for number in range(50)]
    assert not own_threads()


def test_no_more_tasks_are_begun_than_may_wait():
    taken, begun = 0, []
    with Crew(lambda number, stopped: begun.append(number), range(100), threads=3, ahead=2) as crew:
        for _ in crew:
            taken += 1
            time.sleep(0.001)
            assert max(begun) < taken + 5


def test_an_error_is_raised_where_its_result_is_taken():
    def work(number, stopped):
        if number == 3:
            raise KeyError("the third")
        return number

    crew = Crew(work, range(100), threads=2, ahead=2)
    assert [next(crew) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(KeyError, match="the third") as caught:
        next(crew)
    assert "work" in [entry.name for entry in caught.traceback]
    assert not own_threads()
    assert list(crew) == []


def test_close_tells_running_tasks_to_stop():
    def work(number, stopped):
        while not stopped.wait(0.001):
            pass
        raise Stopped

    crew = Crew(work, range(10), threads=3, ahead=0)
    assert not crew.has_next()
    began = time.perf_counter()
    crew.close()
    assert time.perf_counter() - began < 1.0
    assert not own_threads()


def test_workers_compute_alone_and_others_as_before():
    before = torch.get_num_threads()
    with Crew(lambda task, stopped: torch.get_num_threads(), range(4), threads=2, ahead=0) as crew:
        assert list(crew) == [1] * 4
    found = []
    later = threading.Thread(target=lambda: found.append(torch.get_num_threads()))
    later.start()
    later.join()
    assert found == [before]
    assert torch.get_num_threads() == before


def test_thread_budget_is_the_least_of_its_limits(tmp_path, monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda process: set(range(8)), raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert thread_budget(tmp_path) == 8
    (tmp_path / "cpu.max").write_text("250000 100000\n")
    assert thread_budget(tmp_path) == 3
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu" / "cpu.cfs_quota_us").write_text("50000\n")
    (tmp_path / "cpu" / "cpu.cfs_period_us").write_text("100000\n")
    assert thread_budget(tmp_path) == 1
    (tmp_path / "cpu" / "cpu.cfs_quota_us").write_text("-1\n")
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert thread_budget(tmp_path) == 8
    monkeypatch.setenv("OMP_NUM_THREADS", "2,1")
    assert thread_budget(tmp_path) == 2
    monkeypatch.setenv("OMP_NUM_THREADS", "many")
    assert thread_budget(tmp_path) == 8
