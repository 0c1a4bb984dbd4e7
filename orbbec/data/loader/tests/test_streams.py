"""A stream is read by one thread ahead of the batches: in order, bounded, ended like an epoch by index."""

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import orbbec
from orbbec.data import BadSample, Loader, Sample, as_source
from orbbec.data.loader.queues import Crew, Stopped
from orbbec.data.loader.tasks import IndexTasks, StreamTasks
from orbbec.data.loader.tests.test_ends import ended, image, workers
from orbbec.data.order import Order


class Stream:
    """Small images, numbered from 0; notes what happens to its iterators."""

    def __init__(self, count, error_at=-1, seconds=0.0):
        self.count, self.error_at, self.seconds = count, error_at, seconds
        self.read, self.threads, self.closed_in = 0, set(), []

    def __iter__(self):
        self.read = 0
        try:
            for index in range(self.count):
                if index == self.error_at:
                    raise KeyError("the server is gone")
                self.threads.add(threading.get_ident())
                self.read += 1
                time.sleep(self.seconds)
                yield image(index)
        finally:
            self.closed_in.append(threading.get_ident())


def ids_of(batches):
    return [batch.sample_ids.tolist() for batch in batches]


def loader_of(stream, *, depth=1, **options):
    """A loader with as many batches on the device as on CUDA."""
    loader = Loader(stream, 4, **options)
    loader._staging.depth = depth
    return loader


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(("count", "drop_last"), [(0, False), (3, False), (3, True), (30, False), (32, True)])
def test_a_stream_gives_all_batches_in_order(count, drop_last, threads, depth):
    stream = Stream(count)
    loader = loader_of(stream, threads=threads, depth=depth, drop_last=drop_last)
    indices = list(range(count // 4 * 4 if drop_last else count))
    expected = [indices[begin : begin + 4] for begin in range(0, len(indices), 4)]
    for _ in range(2):
        assert ids_of(loader) == expected
    assert not workers()


@pytest.mark.parametrize("adapt", [list, as_source, iter], ids=["list", "as_source", "iterator"])
def test_an_iterator_that_has_ended_is_no_empty_epoch(adapt):
    loader = Loader(adapt(image(index) for index in range(3)), 2, shuffle=False)
    assert [batch.sample_ids.tolist() for batch in loader] == [[0, 1], [2]]
    if adapt is list:
        assert [batch.sample_ids.tolist() for batch in loader] == [[0, 1], [2]]
    else:
        with pytest.raises(ValueError, match="Loader: expected a stream that begins anew each epoch"):
            list(loader)


def test_one_thread_that_is_not_the_model_reads_a_stream():
    stream = Stream(60)
    assert len(ids_of(Loader(stream, 4, threads=3))) == 15
    assert len(stream.threads) == 1
    assert threading.get_ident() not in stream.threads
    assert stream.closed_in == list(stream.threads)


@pytest.mark.parametrize(("threads", "prefetch"), [(1, 0), (1, 2), (2, 1)])
def test_a_stream_is_read_no_further_than_batches_may_wait(threads, prefetch):
    stream = Stream(400)
    with Loader(stream, 4, threads=threads, prefetch=prefetch) as loader:
        for taken, _ in enumerate(loader):
            time.sleep(0.002)
            assert stream.read <= 4 * (taken + threads + prefetch)
            if taken == 20:
                break


@pytest.mark.parametrize("depth", [1, 2])
def test_an_error_of_a_stream_comes_after_the_batches_before_it(depth):
    for _ in range(5):
        batches = iter(loader_of(Stream(40, error_at=18), threads=3, depth=depth))
        found = [next(batches).sample_ids[0].item() for _ in range(4)]
        with pytest.raises(KeyError, match="the server is gone"):
            next(batches)
        assert found == [0, 4, 8, 12]
        assert not workers()
        assert list(batches) == []


def test_bad_samples_of_a_stream_come_in_its_order():
    items = [BadSample(n, f"{n}.jpg", "gone") if n in (1, 9) else image(n) for n in range(12)]
    loader = Loader(as_source(iter(items)), 4, on_error="skip", threads=3)
    with pytest.warns(UserWarning, match="2 bad samples were skipped"):
        assert ids_of(loader) == [[0, 2, 3], [4, 5, 6, 7], [8, 10, 11]]
    batches = iter(Loader(as_source(iter(items)), 4, threads=3))
    with pytest.raises(BadSample, match=r"sample 1 \(1\.jpg\)"):
        next(batches)


def leave(batches, loader):
    del batches


def close(batches, loader):
    loader.close()


def begin_another(batches, loader):
    assert next(iter(loader)).sample_ids.tolist() == [0, 1, 2, 3]
    with pytest.raises(RuntimeError, match="a newer epoch ended this one"):
        next(batches)


@pytest.mark.parametrize("end", [leave, close, begin_another])
def test_the_thread_of_a_stream_ends_with_the_epoch(end):
    stream = Stream(10_000, seconds=0.0001)
    loader = Loader(stream, 4, threads=2)
    batches = iter(loader)
    next(batches)
    holder = [batches]
    del batches
    end(holder.pop(), loader)
    loader.close()
    assert not workers()
    assert stream.read < 200
    assert threading.get_ident() not in stream.closed_in
    assert len(stream.closed_in) == (2 if end is begin_another else 1)


def test_dropping_an_epoch_of_a_stream_that_waits_runs_no_python_and_waits_for_nothing():
    go_on = threading.Event()

    def samples():
        for index in range(40):
            if index == 8:
                go_on.wait(20)
            yield image(index)

    batches = iter(Loader(as_source(samples()), 4, threads=2))
    next(batches)
    called = []
    sys.setprofile(lambda frame, event, _: event == "call" and called.append(frame.f_code.co_qualname))
    del batches
    sys.setprofile(None)
    assert called == []
    assert workers()
    go_on.set()
    assert ended()


def test_ctrl_c_while_the_model_waits_for_a_stream_ends_it():
    class Interrupted(Stream):
        def __iter__(self):
            for sample in super().__iter__():
                if sample.sample_id == 8:
                    raise KeyboardInterrupt
                yield sample

    batches = iter(Loader(Interrupted(40), 4, threads=2))
    assert [next(batches).sample_ids[0].item() for _ in range(2)] == [0, 4]
    with pytest.raises(KeyboardInterrupt):
        next(batches)
    assert not workers()


def test_a_resumed_stream_skips_in_its_thread_and_can_be_closed_meanwhile():
    stream = Stream(1_000_000, seconds=0.0001)
    loader = Loader(stream, 4, threads=1)
    loader.load_state_dict({"epoch": 0, "start": 900_000})
    waiting = threading.Thread(target=list, args=(iter(loader),))
    waiting.start()
    while not stream.read:
        time.sleep(0.001)
    loader.close()
    waiting.join(20)
    assert not waiting.is_alive()
    assert not workers()
    assert stream.read < 900_000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_stream_begins_anew_in_a_forked_process():
    loader = Loader(Stream(40, seconds=0.001), 4, threads=2)
    batches = iter(loader)
    next(batches)
    child = os.fork()
    if child == 0:
        try:
            next(batches)
        except RuntimeError:
            os._exit(0 if ids_of(loader)[0] == [0, 1, 2, 3] else 1)
        os._exit(2)
    latest = time.monotonic() + 30
    while not (done := os.waitpid(child, os.WNOHANG))[0]:
        if time.monotonic() > latest:
            os.kill(child, 9)
        time.sleep(0.01)
    assert done[1] == 0
    assert len(list(batches)) == 9


def test_a_stream_is_read_with_the_arithmetic_of_who_began_the_epoch():
    found = set()

    def samples():
        for index in range(8):
            found.add(orbbec.default_arithmetic())
            yield image(index)

    with orbbec.set_default_arithmetic("cv2_4"):
        list(Loader(as_source(samples()), 4))
    assert found == {"cv2_4"}


STUCK = """
import threading
from orbbec.data import Loader, as_source
from orbbec.data.loader import queues
from orbbec.data.loader.tests.test_ends import image
queues._LONGEST_END = 0.1
def samples():
    yield from map(image, range(8))
    threading.Event().wait()
batches = iter(Loader(as_source(samples()), 4, threads=1))
print(next(batches).sample_ids.tolist())
"""


def test_a_process_ends_though_a_stream_waits_for_ever():
    done = subprocess.run([sys.executable, "-c", STUCK], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[0, 1, 2, 3]\n", "")


def test_the_thread_of_a_stream_closes_its_generator_though_another_holds_the_tasks():
    stream, threads = Stream(100), []
    tasks = StreamTasks(stream, 0, 0, 4, False, threads)
    next(tasks)[0].take()
    tasks.stop()
    threads[0].wait()
    assert stream.closed_in == list(stream.threads)
    assert threading.get_ident() not in stream.closed_in


def test_promises_of_a_stopped_stream_end():
    tasks = StreamTasks(Stream(100), 0, 0, 4, False, [])
    promise, *_ = next(tasks)
    assert len(promise.take()) == 4
    tasks.stop()
    with pytest.raises(StopIteration):
        next(tasks)
    with Crew(lambda number, stop: number, range(9), 1, 2) as crew:
        promises = [crew.promise() for _ in range(9)]
        assert [promise.take() for promise in promises[::-1]] == list(range(9))[::-1]
    with pytest.raises(Stopped):
        stopped_promise().take()


def stopped_promise():
    """A promise of a crew that was stopped while an earlier task ran."""
    go_on = threading.Event()
    crew = Crew(lambda number, stop: go_on.wait(20), range(9), 1, 2)
    crew.promise()
    promise = crew.promise()
    crew.stop()
    go_on.set()
    return promise


def test_the_indices_of_an_epoch_become_numbers_batch_by_batch():
    order = Order(11, seed=1)
    for drop_last in (False, True):
        tasks = list(IndexTasks(order.indices(2), 2, order.bounds(2, 0, 4, drop_last)))
        assert [number for numbers, *_ in tasks for number in numbers] == order.indices(2).tolist()[
            : 8 if drop_last else 11
        ]
        assert [numbers for _, *numbers in tasks] == [[2, 0], [2, 1]] + [[2, 2]] * (not drop_last)
    assert all(type(number) is int for numbers, *_ in tasks for number in numbers)


def test_pixels_of_a_stream_are_those_of_its_samples():
    pixels = np.random.default_rng(1).integers(0, 256, (10, 5, 6, 3), np.uint8)
    stream = as_source(iter([Sample(array, {"label": n}, n) for n, array in enumerate(pixels)]))
    for batch in Loader(stream, 4, threads=2):
        for row, number in enumerate(batch.sample_ids.tolist()):
            assert np.array_equal(batch.images.numpy()[row], pixels[number])
            assert batch.targets["label"][row].item() == number
