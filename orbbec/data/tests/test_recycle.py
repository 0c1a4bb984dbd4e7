"""Memory is used again once nobody holds it, and not before."""

import gc
import sys

import torch

from orbbec.data.recycle import Recycler


def test_memory_that_is_held_is_not_used_again():
    recycler = Recycler()
    held = recycler.empty((4, 5), torch.float32).fill_(1)
    part, array = held[1:2], held.numpy()
    places = {held.data_ptr()}
    del held
    for _ in range(3):
        other = recycler.empty((4, 5), torch.float32).fill_(2)
        assert other.data_ptr() not in places
    assert part.sum() == 5
    assert array.sum() == 20


def test_memory_that_was_let_go_is_used_again():
    recycler = Recycler()
    places = set()
    for _ in range(10):
        one, two = recycler.empty((100,)), recycler.empty((100,))
        assert one.data_ptr() % 64 == 0
        places |= {one.data_ptr(), two.data_ptr()}
        del one, two
        gc.collect()
    assert len(places) == 2
    assert recycler.empty((0, 3)).shape == (0, 3)
    assert recycler.empty_bytes(7).shape == (7,)


def test_no_code_of_python_runs_when_memory_is_let_go():
    """In a callback of Python's a KeyboardInterrupt is lost."""
    recycler, called = Recycler(), []
    held = recycler.empty((100,))
    sys.setprofile(lambda frame, event, _: called.append(frame.f_code.co_name) if event == "call" else None)
    del held
    sys.setprofile(None)
    assert called == []
    assert len(recycler._free[100]) == 1
