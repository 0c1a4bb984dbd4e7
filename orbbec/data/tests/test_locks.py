"""Objects shared by threads: under contention, in forked processes, and interrupted by finalizers."""

import contextlib
import gc
import os
import pickle
import sys
import threading
import time

import numpy as np
import pytest

from orbbec.data import Cache, Decoding, Sample, locks
from orbbec.data.cache.cache import CachedSource
from orbbec.data.cache.stores import FileStore, MemoryStore, Record
from orbbec.data.loader.shared_feed import SharedFeed
from orbbec.data.loader.stopwatch import Stopwatch
from orbbec.data.locks import Locked
from orbbec.data.readers.handles import _ASKING, Descriptor, open_file
from orbbec.data.readers.parquet import _Groups

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")


@pytest.fixture
def many_switches():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def in_threads(work, count=4):
    """The results of all threads, which start together."""
    begin, found = threading.Barrier(count), []

    def run():
        begin.wait()
        found.append(work())

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def in_a_child(work):
    """Whether `work` returns True in a forked process within 20 seconds."""
    child = os.fork()
    if child == 0:
        good = False
        with contextlib.suppress(BaseException):
            good = work()
        os._exit(0 if good else 1)
    latest = time.monotonic() + 20
    while time.monotonic() < latest:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status == 0
        time.sleep(0.01)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return False


class held_by_another_thread:
    """A context in which a thread is inside `inside`, which calls its argument."""

    def __init__(self, inside):
        self._is_in, self._go_on = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=lambda: inside(self._wait))

    def _wait(self):
        self._is_in.set()
        self._go_on.wait()

    def __enter__(self):
        self._thread.start()
        self._is_in.wait()

    def __exit__(self, *_):
        self._go_on.set()
        self._thread.join()


def test_a_stopwatch_loses_nothing_of_many_threads(many_switches):
    watch = Stopwatch()

    def add():
        for _ in range(5000):
            watch.add("read", 1.0)

    in_threads(add)
    assert watch.seconds == {"read": 20000.0}


@needs_fork
def test_a_lock_is_free_in_a_forked_process_and_its_thread_may_take_it_again():
    watch, other = Stopwatch(), Locked()

    def inside(wait):
        with watch.lock, watch.lock, other.lock:
            wait()

    def work():
        with other.lock:
            watch.add("read", 1.0)
        return watch.seconds == {"read": 1.0}

    with held_by_another_thread(inside):
        assert in_a_child(work)


class Handle:
    """Records in which processes, and how often, it was opened."""

    opened: list["Handle"] = []  # noqa: RUF012

    def __init__(self, path):
        time.sleep(0.01)
        self.process, self.is_closed = os.getpid(), False
        self.opened.append(self)

    def close(self):
        self.is_closed = True


@pytest.fixture
def handles():
    Handle.opened.clear()
    return Handle.opened


def test_threads_open_a_file_once(handles, tmp_path, many_switches):
    for turn in range(20):
        path = tmp_path / str(turn)
        files = in_threads(lambda path=path: open_file(Handle, path))
        assert len({id(file) for file in files}) == 1
        found = in_threads(files[0])
        assert len({id(handle) for handle in found}) == 1
        assert len(handles) == turn + 1
        assert not found[0].is_closed


def test_threads_that_ask_for_a_path_get_one_file(tmp_path, many_switches):
    paths = [tmp_path / str(number) for number in range(1000)]
    files = in_threads(lambda: [open_file(Handle, path) for path in paths])
    different = [path for path, *found in zip(paths, *files, strict=True) if len(set(map(id, found))) > 1]
    assert different == []


def test_a_closed_file_is_opened_again(handles, tmp_path):
    file = open_file(Handle, tmp_path)
    for count in (1, 2):
        assert file() is handles[-1]
        assert not handles[-1].is_closed
        file.close()
        assert [handle.is_closed for handle in handles] == [True] * count
    file.close()


def test_a_file_that_cannot_be_opened_needs_no_end(tmp_path, monkeypatch):
    errors = []
    monkeypatch.setattr(sys, "unraisablehook", errors.append)
    with pytest.raises(FileNotFoundError):
        Descriptor(str(tmp_path / "none"))
    gc.collect()
    assert errors == []


def test_a_handle_of_another_process_is_closed_before_a_new_one_is_opened(handles, tmp_path, monkeypatch):
    """LMDB opens a file once per process, also if it was opened before a fork."""
    file = open_file(Handle, tmp_path)
    inherited = file()
    monkeypatch.setattr(os, "getpid", lambda: inherited.process + 1)
    assert file() is not inherited
    assert [handle.is_closed for handle in handles] == [True, False]


@needs_fork
def test_a_forked_process_opens_a_file_for_itself(handles, tmp_path):
    file = open_file(Handle, tmp_path)
    ours = file()

    def work():
        theirs = file()
        same = file() is theirs and pickle.loads(pickle.dumps(file)) is file
        return same and theirs is not ours and theirs.process == os.getpid() and not theirs.is_closed

    assert in_a_child(work)
    assert file() is ours
    assert not ours.is_closed
    assert len(handles) == 1


@needs_fork
def test_a_file_is_opened_though_a_thread_was_opening_it_at_the_fork(tmp_path):
    class Slow:
        wait = staticmethod(lambda: None)

        def __init__(self, path):
            if path.name == "slow":
                Slow.wait()

        def close(self):
            pass

    file = open_file(Slow, tmp_path / "slow")

    def inside(wait):
        Slow.wait = staticmethod(wait)
        file()

    def work():
        Slow.wait = staticmethod(lambda: None)
        return isinstance(file(), Slow)

    with held_by_another_thread(inside):
        assert in_a_child(work)


def test_a_finalizer_may_close_a_file_that_is_being_opened(tmp_path):
    class Interrupted:
        def __init__(self, path):
            files[0].close()

        def close(self):
            pass

    files = [open_file(Interrupted, tmp_path)]
    thread = threading.Thread(target=files[0], daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive()


def test_ctrl_c_leaves_no_lock_held(tmp_path):
    """Raised in each call of the package's functions; another thread must not be blocked afterwards."""
    watch, file = Stopwatch(), open_file(Handle, tmp_path)
    package = os.path.dirname(sys.modules[Locked.__module__].__file__)

    def work():
        watch.add("read", 1.0)
        file.close()
        file()
        open_file(Handle, tmp_path)

    def interrupted_at(number):
        """Whether there was such an event."""
        events = iter(range(number + 1))

        def trace(frame, event, argument):
            if not frame.f_code.co_filename.startswith(package):
                return None
            if event in ("call", "return") and next(events, None) == number:
                raise KeyboardInterrupt
            return trace

        try:
            sys.settrace(trace)
            work()
        except KeyboardInterrupt:
            return True
        finally:
            sys.settrace(None)
        return False

    number = 0
    while interrupted_at(number):
        other = threading.Thread(target=work, daemon=True)
        other.start()
        other.join(20)
        assert not other.is_alive(), number
        number += 1
    assert number > 10


def test_no_python_runs_when_a_lock_is_dropped():
    """The garbage collector may drop it anywhere, and a Ctrl-C in a Python callback would be lost."""
    locked, ran = Locked(), []
    sys.setprofile(lambda frame, event, _: ran.append(frame.f_code.co_name) if event == "call" else None)
    try:
        del locked
    finally:
        sys.setprofile(None)
    assert ran == []


def test_locks_that_are_gone_are_forgotten():
    for _ in range(100):
        Locked()
    before = len(locks._LOCKED)
    for _ in range(100):
        Locked()
    assert len(locks._LOCKED) <= before + 1


def calls_that_need_a_lock(path):
    """Calls by the name of what they change, each with the object whose lock guards it."""
    watch, store, groups, feed = Stopwatch(), MemoryStore(999), _Groups(1), SharedFeed(0)
    cached = CachedSource([Sample(b"", {}, 0)], Cache(999), Decoding(), np.frombuffer)
    file, opened = FileStore(path / "cache", 9999, bytes(32), 1), open_file(open, path / "cache")
    return {
        "seconds": (watch, lambda: watch.add("read", 1.0)),
        "counts": (watch, lambda: watch.count("hits", 1)),
        "records in memory": (store, lambda: store.put(0, Record(b"a", b"b"))),
        "records in a file": (file, lambda: file.put(0, Record(b"a", b"b"))),
        "hits of a cache": (cached, lambda: cached[0]),
        "row groups": (groups, lambda: groups.read(path, 0, [])),
        "an open file": (opened, opened),
        "a closed file": (opened, opened.close),
        "open files": (_ASKING, lambda: open_file(open, path / "other")),
        "users of a feed": (feed, feed.__enter__),
        "fewer users of a feed": (feed, feed.__exit__),
        "a feed": (feed, lambda: feed.running),
        "threads of a feed": (feed, lambda: feed.resize(2)),
    }


def waits(locked, call):
    """Whether a call in another thread waits while this one has the lock."""
    done = threading.Event()

    def work():
        with contextlib.suppress(Exception):
            call()
        done.set()

    thread = threading.Thread(target=work)
    with locked.lock:
        thread.start()
        is_waiting = not done.wait(0.01)
    thread.join()
    return is_waiting


def test_what_threads_share_is_changed_by_one_at_a_time(tmp_path):
    calls = calls_that_need_a_lock(tmp_path)
    assert [name for name, (locked, call) in calls.items() if not waits(locked, call)] == []
