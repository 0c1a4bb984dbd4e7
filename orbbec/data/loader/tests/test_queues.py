"""Threads ahead of who takes their results: in order, bounded, stopped at once."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest
import torch

from orbbec.data.loader import limits, queues
from orbbec.data.loader.queues import Crew, Stopped
from orbbec.data.loader.threads import node_cores, thread_budget

pytestmark = pytest.mark.usefixtures("no_earlier_threads")


def own_threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("orbbec-data")]


def wait_for(condition):
    """Wait until it holds, or for two seconds."""
    latest = time.perf_counter() + 2
    while not condition() and time.perf_counter() < latest:
        time.sleep(0.001)


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
            assert max(begun) < taken + 4  # five, of which one was taken


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
        while not stopped.is_set():
            time.sleep(0.001)
        raise Stopped

    crew = Crew(work, range(10), threads=3, ahead=0)
    assert not crew.has_next()
    began = time.perf_counter()
    crew.close()
    assert time.perf_counter() - began < 1.0
    assert not own_threads()


def test_a_thread_does_not_wait_for_its_own_end():
    def work(number, stopped):
        began = time.perf_counter()
        workers[0].wait(10.0)
        return time.perf_counter() - began

    workers = []
    with Crew(work, range(1), threads=1, ahead=0, workers=workers) as crew:
        assert next(crew) < 5


@pytest.mark.parametrize("end", [Crew.close, lambda crew: queues._end_all()], ids=["close", "exit"])
def test_the_end_begins_no_queued_task_and_waits_for_the_running_one(end):
    begun, finished = [], []

    def work(number, stopped):
        begun.append(number)
        wait_for(stopped.is_set)
        time.sleep(0.02)
        finished.append(number)

    crew = Crew(work, range(10), threads=1, ahead=3)
    crew.has_next()
    wait_for(lambda: begun)
    end(crew)
    assert begun == finished == [0]
    assert not own_threads()


def test_close_gives_no_result_to_a_consumer_that_waits():
    """Though the task that it waits for succeeds."""
    begun, taken = threading.Event(), []

    def work(number, stopped):
        begun.set()
        wait_for(stopped.is_set)
        time.sleep(0.02)
        return number

    crew = Crew(work, range(10), threads=1, ahead=3)
    consumer = threading.Thread(target=lambda: taken.extend(crew))
    consumer.start()
    assert begun.wait(20)
    crew.close()
    consumer.join(20)
    assert not consumer.is_alive()
    assert taken == []


def test_threads_that_a_resized_crew_does_not_need_end():
    with Crew(lambda number, stopped: number, range(60), threads=3, ahead=0) as crew:
        for threads in (2, 1, 2):
            next(crew)
            crew.resize(threads, 0)
            found = [next(crew) for _ in range(6)]
            wait_for(lambda most=threads: len(own_threads()) <= most)
            assert len(own_threads()) == threads
    assert found == list(range(15, 21))


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_thread_is_waited_for_whose_start_was_interrupted(monkeypatch, when):
    start = queues.start_new_thread

    def interrupted(function, arguments):
        if when == "after":
            start(function, arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(queues, "start_new_thread", interrupted)
    if when == "before":
        monkeypatch.setattr(queues, "_LONGEST_START", 0.01)
    for _ in range(20):
        with (
            pytest.raises(KeyboardInterrupt),
            Crew(lambda _, stopped: time.sleep(0.01), range(4), 2, 1) as crew,
        ):
            next(crew)
        assert not own_threads()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer that interrupts")
def test_a_thread_is_waited_for_whose_wait_was_interrupted():
    """A `join` that is interrupted takes a running thread for ended, in Python 3.11."""
    begun, go_on = threading.Barrier(3), threading.Event()

    def ring(*_):
        raise KeyboardInterrupt

    def work(task, stopped):
        begun.wait(20)
        go_on.wait(20)

    before = signal.signal(signal.SIGALRM, ring)
    crew = Crew(work, range(4), 2, 1)
    try:
        assert not crew.has_next()
        begun.wait(20)
        for _ in range(3):
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            with pytest.raises(KeyboardInterrupt):
                crew.close()
        threading.Timer(0.1, go_on.set).start()
        crew.close()
        assert go_on.is_set()
        assert not own_threads()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        go_on.set()


def test_threads_are_known_once_they_were_started(monkeypatch):
    """Otherwise, a process that ends destroys objects that they use: 5 of 30 were aborted."""
    start = queues.start_new_thread

    def late(function, arguments):
        start(lambda: time.sleep(0.05) or function(*arguments), ())

    monkeypatch.setattr(queues, "start_new_thread", late)
    with Crew(lambda task, stopped: time.sleep(0.2), range(4), 2, 1) as crew:
        crew.has_next()
        assert len([thread for thread in own_threads() if isinstance(thread, queues.Worker)]) == 2


def test_where_no_thread_can_start_the_error_is_raised(monkeypatch):
    def refused(thread):
        raise RuntimeError("can't start new thread")

    crew = Crew(lambda task, stopped: task, range(4), 2, 1)
    monkeypatch.setattr(queues.Worker, "start", refused)
    monkeypatch.setattr(queues, "_LONGEST_START", 0.01)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        next(crew)


def test_a_resized_crew_loses_nothing_and_ends_all_threads():
    threads, three = [], threading.Barrier(3)

    def work(number, stopped):
        threads.append(threading.get_ident())
        if number in (54, 55, 56):
            three.wait(timeout=20)
        return number

    with Crew(work, range(60), threads=4, ahead=2) as crew:
        found = [next(crew) for _ in range(20)]
        crew.resize(1, 1)
        found += [next(crew) for _ in range(10)]  # tasks that were begun before
        threads.clear()
        found += [next(crew) for _ in range(10)]
        assert len(set(threads)) == 1
        crew.resize(3, 2)
        found += crew
    assert found == list(range(60))
    assert not own_threads()


def test_both_sides_of_the_queue_are_timed():
    def work(number, stopped):
        time.sleep(0.02)

    with Crew(work, range(5), threads=1, ahead=0) as crew:
        list(crew)
        slow = dict(crew.watch.seconds)
    assert slow["wait"] > 0.09
    assert slow["work"] > 0.09
    with Crew(work, range(5), threads=1, ahead=0) as crew:
        for _ in crew:
            time.sleep(0.05)
        quick = crew.watch.seconds
    assert quick["idle"] > 0.15  # before each task but the first


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="threads cannot be bound here")
def test_threads_are_bound_to_cores_and_the_process_is_not():
    before = os.sched_getaffinity(0)
    core = max(before)
    with Crew(lambda task, stopped: os.sched_getaffinity(0), range(4), 2, 0, cores=[core]) as crew:
        assert list(crew) == [{core}] * 4
    assert os.sched_getaffinity(0) == before


def test_the_cores_of_a_node(tmp_path, monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda process: {0, 1, 2, 9, 10}, raising=False)
    for node, cores in (("node0", "0-3,8\n"), ("node1", "4-7,9-11\n"), ("node2", "\n")):
        (tmp_path / node).mkdir()
        (tmp_path / node / "cpulist").write_text(cores)
    assert node_cores(0, tmp_path) == [0, 1, 2]
    assert node_cores(1, tmp_path) == [9, 10]
    for node in (2, 3):  # of memory only, and none
        with pytest.raises(ValueError, match=f"expected numa as one of 0, 1, 2, but got {node}"):
            node_cores(node, tmp_path)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert thread_budget(tmp_path, cores=[9, 10]) == 2


def test_every_thread_has_the_name_of_its_crew(monkeypatch):
    """The threads of a loader can be found by name, also while they start."""
    names = set()
    monkeypatch.setattr(torch, "set_num_threads", lambda _: names.add(threading.current_thread().name))
    with Crew(lambda task, stopped: task, range(4), threads=2, ahead=0) as crew:
        list(crew)
    assert len(names) > 1
    assert all(name.startswith("orbbec-data") for name in names), names


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


@pytest.mark.parametrize(("cores", "budget"), [(1, 1), (2, 2), (3, 2), (8, 7)])
def test_the_training_loop_on_cuda_has_a_core_of_three(tmp_path, monkeypatch, cores, budget):
    monkeypatch.setattr("os.sched_getaffinity", lambda process: set(range(cores)), raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert thread_budget(tmp_path, on_cuda=True) == budget
    assert thread_budget(tmp_path) == cores


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


def test_ranks_of_torchrun_share_the_cores(tmp_path, monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda process: set(range(16)), raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # as torchrun sets it for several ranks
    budgets = {}
    for ranks in ("1", "2", "3", "8", "16", "99", "many", ""):
        monkeypatch.setenv("LOCAL_WORLD_SIZE", ranks)
        budgets[ranks] = thread_budget(tmp_path)
    assert budgets == {"1": 1, "2": 8, "3": 5, "8": 2, "16": 1, "99": 1, "many": 1, "": 1}
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    monkeypatch.setenv("OMP_NUM_THREADS", "3")  # the user's
    assert thread_budget(tmp_path) == 3
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert thread_budget(tmp_path) == 8
    assert thread_budget(tmp_path, cores=range(6)) == 6  # of a node
    (tmp_path / "cpu.max").write_text("500000 100000\n")
    assert thread_budget(tmp_path) == 3  # half of the quota, rounded up


def test_the_quota_of_the_own_control_group_counts(tmp_path, monkeypatch):
    read = limits.text_of
    monkeypatch.setattr(
        limits, "text_of", lambda path: "0::/a/b\n" if path == Path("/proc/self/cgroup") else read(path)
    )
    for folder, quota in (("a/b", 2), ("a", 3), (".", 4)):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / "cpu.max").write_text(f"{quota}00000 100000\n")
    assert limits.cpu_quota(tmp_path) == 2
    (tmp_path / "a/b/cpu.max").write_text("max 100000\n")
    assert limits.cpu_quota(tmp_path) == 3


def test_a_rank_that_is_bound_to_cores_of_its_own_uses_all_of_them(tmp_path, monkeypatch):
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    launcher = {os.getppid(): set(range(16))}
    monkeypatch.setattr(
        "os.sched_getaffinity", lambda process: launcher.get(process, set(range(4, 8))), raising=False
    )
    assert thread_budget(tmp_path) == 4
    launcher[os.getppid()] = set(range(4, 8))  # the launcher was bound, with all ranks
    assert thread_budget(tmp_path) == 1
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "1")
    monkeypatch.delenv("OMP_NUM_THREADS")
    launcher[os.getppid()] = {4}  # no launcher
    assert thread_budget(tmp_path) == 4
