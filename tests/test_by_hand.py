"""The handwritten rivals do the same work, write to the given buffers, and distribute it over threads."""

import multiprocessing
import threading
import time

import numpy as np
import pytest
import torch

cv2 = pytest.importorskip("cv2")

from tests.support import photograph
from tests.support.timing import by_hand, measure
from tests.support.timing.benchmark import as_array, share

if hasattr(torch.ops.orbbec, "set_emulation"):
    pytest.skip("what is timed runs no kernel", allow_module_level=True)

PART = photograph(30, 41)


@pytest.fixture(autouse=True)
def _threads_as_before():
    before = torch.get_num_threads()
    yield
    measure.set_threads(before)


def expected_of(part, flips):
    pixels = cv2.resize(part, (24, 24))[:, :: -1 if flips else 1]
    return (pixels.astype(np.float32) * by_hand.FACTOR + by_hand.OFFSET).transpose(2, 0, 1)


@pytest.mark.parametrize("flips", [False, True])
@pytest.mark.parametrize("finish", [by_hand.as_usual, by_hand.in_place, by_hand.by_table, by_hand.by_torch])
def test_every_way_to_normalize_gives_the_bits_of_the_formula(finish, flips):
    out = np.full((3, 24, 24), np.nan, np.float32)
    finish(by_hand.resized(PART, flips, 24), out)
    assert np.array_equal(out, expected_of(PART, flips))


def test_weights_differ_in_the_last_bits_alone():
    out = np.full((3, 24, 24), np.nan, np.float32)
    by_hand.by_weights(by_hand.resized(PART, False, 24), out)
    np.testing.assert_allclose(out, expected_of(PART, False), atol=2.5e-7)  # measured: 2.4e-7


def test_a_table_of_16_bits_rounds_the_floats_of_32():
    out = np.zeros((3, 24, 24), np.float16)
    by_hand.by_table(by_hand.resized(PART, True, 24), out)
    assert np.array_equal(out, expected_of(PART, True).astype(np.float16))


@pytest.mark.parametrize("threads", [1, 2])
def test_crops_of_a_batch_are_those_of_each_image(threads):
    measure.set_threads(threads)
    images, flipped = [photograph(30 + n, 41, seed=n) for n in range(5)], [False, True, True, False, True]
    regions = np.array([[n, 2, 30, 28] for n in range(5)])
    batch = by_hand.crops(images, regions, flipped, 24)()
    for n, (image, flips) in enumerate(zip(images, flipped, strict=True)):
        assert np.array_equal(batch[n].numpy(), expected_of(image[2:28, n:30], flips))
    assert as_array(batch).shape == (5, 24, 24, 3)


def test_items_are_shared_out_to_as_many_threads_as_torch_has():
    meeting = threading.Barrier(2, timeout=60)  # needs two threads at once

    def work(a, b):
        meeting.wait()
        return a - b, threading.get_ident(), cv2.getNumThreads()

    measure.set_threads(2)
    done = share(work, [5, 7, 9, 4], [1, 2, 3, 4])
    assert [result for result, *_ in done] == [4, 5, 6, 0]
    assert len({thread for _, thread, _ in done}) == 2
    assert {of_cv2 for *_, of_cv2 in done} == {1}


def test_fewer_items_than_threads_leave_opencv_all_of_them():
    measure.set_threads(2)
    assert share(lambda item: (threading.get_ident(), cv2.getNumThreads()), [0]) == [
        (threading.get_ident(), 2)
    ]


def test_cpu_time_counts_a_worker_that_still_runs():
    context = multiprocessing.get_context("fork")
    done, end = context.Event(), context.Event()

    def spin():
        while time.process_time() < 0.3:
            pass
        done.set()
        end.wait()

    before = measure.cpu_seconds()
    worker = context.Process(target=spin)
    worker.start()
    try:
        assert done.wait(60)
        assert measure.cpu_seconds() - before >= 0.3
    finally:
        end.set()
        worker.join()
