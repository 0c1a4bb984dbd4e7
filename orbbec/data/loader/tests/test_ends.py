"""How unfinished epochs end: dropped, closed by another thread, forked, failed."""

import contextlib
import gc
import os
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest

import orbbec
from orbbec.data import BadSample, Loader, Sample, SourceError, as_source
from orbbec.data.loader.queues import Crew, Worker


def image(index):
    return Sample(np.full((4, 4, 3), index % 256, np.uint8), {}, index)


class Images:
    """Small images; the samples in `bad` are bad."""

    def __init__(self, count, bad=(), seconds=0.0):
        self.count, self.bad, self.seconds = count, bad, seconds

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        time.sleep(self.seconds)
        if index in self.bad:
            raise BadSample(index, f"{index}.jpg", "No such file")
        return image(index)


def workers():
    return [thread for thread in threading.enumerate() if isinstance(thread, Worker)]


def ended(seconds=20.0):
    """Whether all threads of crews end without help."""
    latest = time.monotonic() + seconds
    while workers() and time.monotonic() < latest:
        time.sleep(0.005)
    return not workers()


def test_dropping_an_epoch_waits_for_nothing_and_runs_no_python():
    go_on = threading.Event()

    class Slow(Images):
        def __getitem__(self, index):
            if index > 3:
                go_on.wait(20)
            return super().__getitem__(index)

    loader = Loader(Slow(40), 2, shuffle=False, threads=2)
    batches = iter(loader)
    next(batches)
    called = []

    def note(frame, event, _):
        if event == "call":
            called.append(frame.f_code.co_qualname)

    began = time.perf_counter()
    sys.setprofile(note)
    del batches
    sys.setprofile(None)
    assert time.perf_counter() - began < 5
    assert called == []
    assert workers()
    go_on.set()
    assert ended()


@pytest.mark.parametrize("state", ["held lock", "in a worker"])
def test_an_epoch_is_dropped_by_the_collector_wherever_it_interrupts(state):
    """Joining its threads there could deadlock, since they may wait for a lock of the interrupted code."""
    lock = threading.Lock()

    class Locked(Images):
        def __getitem__(self, index):
            if index > 3:
                with lock:
                    time.sleep(0.001)
            return super().__getitem__(index)

    loader = Loader(Locked(40), 2, shuffle=False, threads=2)
    cycle = [iter(loader)]
    cycle.append(cycle)
    next(cycle[0])
    del cycle

    def collect():
        with lock:
            gc.collect()

    gc.disable()
    try:
        thread = threading.Thread(target=collect, daemon=True)
        if state == "in a worker":
            with Crew(lambda task, stop: collect(), [0], 1, 0) as crew:
                list(crew)
        else:
            thread.start()
            thread.join(20)
            assert not thread.is_alive()
    finally:
        gc.enable()
    assert ended()


def test_a_loader_that_is_dropped_with_its_epoch_is_freed():
    loader = Loader(Images(40), 2, threads=2)
    batches = iter(loader)
    next(batches)
    gone = weakref.ref(loader)
    del loader, batches
    assert ended()
    gc.collect()
    assert gone() is None


def test_the_next_epoch_waits_for_the_threads_of_the_last():
    running, most = [], []

    class Counted(Images):
        def __getitem__(self, index):
            running.append(index)
            most.append(len(running))
            time.sleep(0.002)
            running.pop()
            return super().__getitem__(index)

    loader = Loader(Counted(60), 2, threads=2, prefetch=1)
    for _ in range(6):
        for _ in loader:
            break
    loader.close()
    assert not workers()
    assert max(most) <= 2


def test_bad_samples_hold_no_pixels():
    """Each kept the frames of its batch alive: 60 MB for a batch of 128."""
    source = Images(64, bad=range(0, 64, 4))
    held = []

    class Watched(np.ndarray):
        pass

    class Kept(Images):
        def __getitem__(self, index):
            sample = Images.__getitem__(self, index)
            pixels = sample.data.view(Watched)
            held.append(weakref.ref(pixels))
            return Sample(pixels, {}, index)

    for on_error in ("skip", "substitute"):
        held.clear()
        loader = Loader(Kept(64, source.bad), 8, on_error=on_error, threads=2)
        gc.disable()
        try:
            with pytest.warns(UserWarning, match="16 bad samples were"):
                for _ in loader:
                    pass
            assert len(loader.faults) == 16
            assert len(held) >= 48
            assert not [pixels for pixels in held if pixels() is not None]
        finally:
            gc.enable()


@pytest.mark.parametrize("source", [Images(64, bad=[40]), as_source([image(0).data] * 20 + [7])])
def test_an_error_that_is_kept_holds_no_pixels(source):
    errors = []
    loader = Loader(source, 8, shuffle=False, threads=2)
    with contextlib.suppress(BadSample, SourceError, TypeError):
        try:
            for _ in loader:
                pass
        except (BadSample, SourceError) as error:
            errors.append(error)
            raise
    for error in errors:
        trace, names = error.__traceback__, []
        while trace is not None:
            names.append(trace.tb_frame.f_code.co_filename)
            trace = trace.tb_next
        assert not [name for name in names if name.endswith(("assemble.py", "queues.py"))]


@pytest.mark.parametrize("state", ["waiting", "between"])
def test_close_from_another_thread_ends_the_loop(state):
    go_on, is_in = threading.Event(), threading.Event()

    class Blocked(Images):
        def __getitem__(self, index):
            if index >= 4 and state == "waiting":
                is_in.set()
                go_on.wait(20)
            return super().__getitem__(index)

    loader = Loader(Blocked(40), 2, shuffle=False, threads=1, prefetch=0)
    taken, errors = [], []

    def loop():
        try:
            for batch in loader:
                taken.append(batch.sample_ids.tolist())
                if state == "between" and len(taken) == 2:
                    is_in.set()
                    go_on.wait(20)
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=loop)
    thread.start()
    assert is_in.wait(20)
    closing = threading.Thread(target=loader.close)
    closing.start()
    time.sleep(0.05)
    go_on.set()
    closing.join(20)
    thread.join(20)
    assert not thread.is_alive()
    assert not closing.is_alive()
    assert errors == []
    assert taken == [[0, 1], [2, 3]]
    assert not workers()
    state = loader.state_dict()
    assert (state["epoch"], state["start"]) == (0, 4)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_an_epoch_that_began_before_a_fork_says_so_and_another_begins():
    loader = Loader(Images(40, seconds=0.001), 2, shuffle=False, threads=2)
    batches = iter(loader)
    first = next(batches)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        text = "nothing"
        try:
            try:
                next(batches)
            except RuntimeError as error:
                text = str(error)
            loader.close()
            text += "; " + " ".join(
                str(batch.sample_ids.tolist()) for batch, _ in zip(loader, range(2), strict=False)
            )
            loader.close()
        except BaseException as error:
            text += f"; {error!r}"
        finally:
            os.write(writing, text.encode())
            os._exit(0)
    latest = time.monotonic() + 30
    while not os.waitpid(child, os.WNOHANG)[0]:
        if time.monotonic() > latest:
            os.kill(child, 9)
        time.sleep(0.01)
    os.close(writing)
    with os.fdopen(reading) as file:
        told = file.read()
    expected = "Loader: expected an epoch of this process, but it began before a fork"
    assert told == f"{expected}; [0, 1] [2, 3]"
    assert first.sample_ids.tolist() == [0, 1]
    assert [batch.sample_ids[0].item() for batch in batches] == list(range(2, 40, 2))


HELD = """
import threading
from orbbec.data.loader.tests.test_ends import Images, Loader
batches = iter(Loader(Images(400, seconds=0.001), 2, threads=3))
next(batches)
def train():
    print(sum(len(batch.sample_ids) for batch in batches), flush=True)
{begin}
"""


@pytest.mark.parametrize("begin", ["pass", "threading.Thread(target=train).start()"])
def test_a_process_ends_though_an_epoch_is_held(begin):
    """Threads that take batches get all of them, like other non-daemon threads."""
    done = subprocess.run(
        [sys.executable, "-c", HELD.format(begin=begin)], capture_output=True, text=True, timeout=180
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout == ("" if begin == "pass" else "398\n")


@pytest.mark.parametrize(
    ("rank", "world_size", "text"),
    [
        ("x", "2", "expected environment variable RANK as a whole number, but got 'x'"),
        ("0", "two", "expected environment variable WORLD_SIZE as a whole number, but got 'two'"),
        ("-1", "2", "expected environment variable RANK as a whole number, but got '-1'"),
        ("2", "2", "expected rank as a whole number from 0 to 1, but got 2"),
        ("0", "0", "expected world_size as a whole number of at least 1, but got 0"),
    ],
)
def test_ranks_that_are_none_are_named(monkeypatch, rank, world_size, text):
    monkeypatch.setenv("RANK", rank)
    monkeypatch.setenv("WORLD_SIZE", world_size)
    with pytest.raises(ValueError, match=text):
        Loader(Images(4), 2)


def in_a_thread(work):
    found = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    return found[0]


def test_the_default_arithmetic_of_a_thread_is_its_own():
    def set_and_ask():
        with orbbec.set_default_arithmetic("cv2_4"):
            inside = orbbec.default_arithmetic(), in_a_thread(orbbec.default_arithmetic)
        return *inside, orbbec.default_arithmetic()

    assert in_a_thread(set_and_ask) == ("cv2_4", "cv2_5", "cv2_5")
    assert (
        in_a_thread(lambda: orbbec.set_default_arithmetic("cv2_4") and orbbec.default_arithmetic()) == "cv2_4"
    )
    assert orbbec.default_arithmetic() == in_a_thread(orbbec.default_arithmetic) == "cv2_5"
    with orbbec.set_default_arithmetic("cv2_4"):  # of the main thread, for all threads that set none
        assert orbbec.default_arithmetic() == in_a_thread(orbbec.default_arithmetic) == "cv2_4"
        with orbbec.set_default_arithmetic("cv2_5"):
            assert orbbec.default_arithmetic() == "cv2_5"
        assert orbbec.default_arithmetic() == "cv2_4"
    assert orbbec.default_arithmetic() == in_a_thread(orbbec.default_arithmetic) == "cv2_5"


def test_a_loader_computes_with_the_arithmetic_of_who_began_the_epoch():
    def seen(*changes):
        """The arithmetic of its threads does not follow changes in the loop."""
        loader = Loader(Images(24), 2, threads=2, collate=lambda targets: orbbec.default_arithmetic())
        found = set()
        for batch in loader:
            found.add(batch.targets)
            for change in changes:
                orbbec.set_default_arithmetic(change)
        return found

    def in_another(*changes):
        orbbec.set_default_arithmetic("cv2_4")
        return seen(*changes)

    assert seen() == {"cv2_5"}
    with orbbec.set_default_arithmetic("cv2_4"):
        assert seen() == in_a_thread(seen) == {"cv2_4"}
        assert seen("cv2_5") == {"cv2_4"}
        assert seen() == {"cv2_5"}
    assert in_a_thread(in_another) == in_a_thread(lambda: in_another("cv2_5")) == {"cv2_4"}
    assert seen() == {"cv2_5"}
