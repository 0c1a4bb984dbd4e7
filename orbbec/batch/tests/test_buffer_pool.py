"""Memory is reused when nothing refers to it, and not before."""

import inspect
import multiprocessing
import random
import sys
import threading
import time

import numpy as np
import pytest
import torch

import orbbec
from orbbec.bridge.buffer_pool import BUFFER_POOL, BufferPool, pooled_output
from tests.support import assert_same_bytes

MIB = 2**20


def test_memory_that_is_held_is_not_used_again():
    pool = BufferPool()
    held = pool.empty((4, MIB), torch.float32).fill_(1)
    part, array = held[1:2], held.numpy()
    addresses = {held.data_ptr()}
    del held
    for _ in range(3):
        other = pool.empty((4, MIB), torch.float32).fill_(2)
        assert other.data_ptr() not in addresses
    assert part.sum() == MIB
    assert array.sum() == 4 * MIB


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.uint16, torch.bfloat16, torch.float64])
def test_tensors_are_like_any_other(dtype, channels_last):
    tensor = BufferPool().empty((4, 3, 300, 301), dtype, channels_last)
    memory_format = torch.channels_last if channels_last else torch.contiguous_format
    other = torch.empty(4, 3, 300, 301, dtype=dtype, memory_format=memory_format)
    assert tensor.shape == other.shape
    assert tensor.dtype == dtype
    assert tensor.stride() == other.stride()
    assert not tensor._is_view()
    assert tensor.untyped_storage().nbytes() == other.untyped_storage().nbytes()
    tensor.detach_().fill_(1)
    assert tensor.share_memory_().is_shared()


@pytest.mark.parametrize("nbytes", [MIB, MIB + 1, 5 * MIB - 3])
def test_memory_that_was_let_go_is_used_again(nbytes):
    pool = BufferPool()
    addresses = set()
    for _ in range(10):
        one, two = pool.empty((nbytes,)), pool.empty((nbytes,))
        assert one.data_ptr() % 64 == 0
        assert one.untyped_storage().nbytes() == nbytes
        addresses |= {one.data_ptr(), two.data_ptr()}
        del one, two
    assert len(addresses) == 2
    assert pool.empty((0, 3)).shape == (0, 3)


def test_a_block_serves_what_fills_half_of_it():
    pool = BufferPool()
    addresses = {pool.empty((nbytes,)).data_ptr() for nbytes in range(10 * MIB, 5 * MIB - 1, -MIB // 4)}
    assert len(addresses) == 1
    assert pool.empty((5 * MIB - MIB // 2,)).data_ptr() not in addresses


def test_the_smallest_block_that_fits_is_taken():
    pool = BufferPool()
    small, large = pool.empty((6 * MIB,)), pool.empty((10 * MIB,))
    address = small.data_ptr()
    del small, large
    assert pool.empty((5 * MIB,)).data_ptr() == address


def test_blocks_never_exceed_what_was_in_use_and_the_limit_the_longest_unused_go_first():
    pool = BufferPool(limit=6 * MIB)
    first, second, third = (pool.empty((size * MIB,)) for size in (2, 3, 4))  # 9 MiB in use
    del first, second
    assert pool.free_bytes == 5 * MIB
    address = third.data_ptr()
    del third
    five = pool.empty((5 * MIB,))  # no block of this size is free
    assert pool.free_bytes == 9 * MIB  # of 14 MiB, at most 9 and the limit
    six = pool.empty((6 * MIB,))  # 11 MiB in use, so 6 may be free
    assert pool.free_bytes == 4 * MIB
    assert pool.empty((4 * MIB,)).data_ptr() == address
    assert pool.empty((8 * MIB,)).shape == (8 * MIB,)  # larger than the limit by itself
    del five, six
    assert pool.free_bytes == 15 * MIB
    pool.release()
    assert pool.free_bytes == 0


def test_a_loop_keeps_what_it_uses_beyond_the_limit_and_what_is_not_used_goes_back(monkeypatch):
    pool = BufferPool(limit=2 * MIB)
    monkeypatch.setattr("orbbec.bridge.buffer_pool.monotonic", lambda: 0.0)

    def addresses():
        tensors = [pool.empty((2 * MIB,)) for _ in range(3)]
        return {tensor.data_ptr() for tensor in tensors}

    first = addresses()
    assert all(addresses() == first for _ in range(4))
    assert pool.free_bytes == 6 * MIB
    monkeypatch.setattr("orbbec.bridge.buffer_pool.monotonic", lambda: 60.5)
    assert addresses() == first  # however long a step of the loop takes
    assert pool.free_bytes == 6 * MIB
    assert pool.empty((2 * MIB,)).data_ptr() in first  # the two others are free since this request
    monkeypatch.setattr("orbbec.bridge.buffer_pool.monotonic", lambda: 121.0)
    held = pool.empty((2 * MIB,))  # the two others have not been used for more than a minute
    assert held.data_ptr() in first
    assert pool.free_bytes == 2 * MIB


def test_no_code_of_python_runs_when_memory_is_let_go():
    """A KeyboardInterrupt in a Python callback would be lost."""
    pool, called = BufferPool(), []
    held = pool.empty((MIB,))
    sys.setprofile(lambda frame, event, _: called.append(frame.f_code.co_name) if event == "call" else None)
    del held
    sys.setprofile(None)
    assert called == []
    assert pool.free_bytes == MIB


def test_results_of_operators_are_used_again_and_not_while_held():
    images = torch.zeros(8, 3, 256, 256, dtype=torch.uint8)
    one = orbbec.resize(images, (300, 300))
    two = orbbec.resize(images + 1, (300, 300))
    assert one.data_ptr() != two.data_ptr()
    assert (one == 0).all()
    assert (two == 1).all()
    address = one.data_ptr()
    del one
    assert orbbec.resize(images, (300, 300)).data_ptr() == address


def test_channels_last_results_lie_so():
    images = torch.zeros(8, 3, 256, 256, dtype=torch.uint8).contiguous(memory_format=torch.channels_last)
    assert orbbec.resize(images, (300, 300)).is_contiguous(memory_format=torch.channels_last)
    tensor = pooled_output((8, 3, 300, 300), torch.uint8, True, images)
    assert tensor is not None
    assert tensor.is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize(
    ("shape", "images"),
    [
        ((1, 3, 100, 100), torch.zeros(1)),  # small
        ((0, 3, 1000, 1000), torch.zeros(1)),
        ((2, 3, -1000, -1000), torch.zeros(1)),
        ((2, 3, 1000, 1000), torch.zeros(1, requires_grad=True)),
        ((2, 3, 1000, 1000), torch.nn.Parameter(torch.zeros(1), requires_grad=False)),
        ((2**20, 3, 1000, 1000), torch.zeros(1)),  # more than the limit
        ((2, 3, 1000, 1000), torch.zeros(1, device="meta")),
    ],
)
def test_operators_make_other_results_themselves(shape, images):
    assert pooled_output(shape, torch.uint8, False, images) is None


def test_nothing_is_kept_where_none_is_asked_for():
    kept = BUFFER_POOL.limit
    try:
        orbbec.keep_free_memory(0)
        assert BUFFER_POOL.free_bytes == 0
        assert pooled_output((2, 3, 1000, 1000), torch.uint8, False, torch.zeros(1)) is None
        del [orbbec.ImageBatch.of_sizes([(1000, 1000)], 3)][0]
        assert BUFFER_POOL.free_bytes == 0
    finally:
        orbbec.keep_free_memory(kept)
    with pytest.raises(ValueError, match="keep_free_memory: expected nbytes of at least 0, but got -1"):
        orbbec.keep_free_memory(-1)


def _free_in_child(found):
    found.put(BUFFER_POOL.free_bytes)


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_a_forked_process_leaves_what_is_free_to_its_parent():
    BUFFER_POOL.empty((MIB,))
    assert BUFFER_POOL.free_bytes >= MIB
    context = multiprocessing.get_context("fork")
    found = context.SimpleQueue()
    child = context.Process(target=_free_in_child, args=(found,))
    child.start()
    assert found.get() == 0
    child.join()


def test_arrays_share_the_memory_of_their_result():
    array = np.zeros((4, 300, 300, 3), np.uint8)
    result = orbbec.resize(array, (400, 400))
    address = result.ctypes.data
    assert orbbec.resize(array, (400, 400)).ctypes.data != address
    assert (result == 0).all()


@pytest.fixture
def many_switches():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_threads_never_share_memory(many_switches):
    pool, wrong = BufferPool(), []
    begin = threading.Barrier(4)

    def work(number):
        begin.wait()
        chance = random.Random(number)
        try:
            for turn in range(300):
                mine = 1000 * number + turn
                held = pool.empty((chance.randint(1, 6) * MIB // 4,), torch.int32)
                held[0] = held[-1] = mine
                time.sleep(0)
                if held[0] != mine or held[-1] != mine:
                    wrong.append((number, turn))
                del held
        except Exception as error:
            wrong.append(repr(error))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert pool.free_bytes == sum(size * len(blocks) for size, blocks in pool._blocks.items()) > 0


def test_a_finalizer_may_ask_for_memory_wherever_it_interrupts():
    """Called from each line of the pool, as the garbage collector might; with a lock, this deadlocked."""
    pool = BufferPool(limit=3 * MIB)
    interrupted = set()

    def trace(frame, event, argument):
        if frame.f_code.co_filename != BufferPool.empty.__code__.co_filename:
            return None
        if event == "line" and frame.f_lineno not in interrupted:
            interrupted.add(frame.f_lineno)
            pool.empty((MIB,))
        return trace

    def run():
        for count in (1, 2, 1, 2, 2):
            held = [pool.empty((count * MIB,)) for _ in range(2)]
            del held
            sys.settrace(trace)
            pool.empty((count * MIB,))
            sys.settrace(None)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(30)
    assert not thread.is_alive()
    source, first = inspect.getsourcelines(BufferPool._found)
    assert len(interrupted & set(range(first, first + len(source)))) > 3


PAIRS = torch.tensor([1, 0, 3, 2])
LIKE_THEIR_IMAGES = {
    "cutmix": lambda images: orbbec.cutmix(images, PAIRS, torch.tensor([10, 20, 90, 70])),
    "mixup": lambda images: orbbec.mixup(images, PAIRS, 0.3),
    "lut": lambda images: orbbec.lut(images, torch.arange(255, -1, -1).to(torch.uint8)),
    "equalize": orbbec.equalize,
    "clahe": orbbec.clahe,
    "invert": orbbec.invert,
    "cvt_color": lambda images: orbbec.cvt_color(images, "RGB", "HSV"),
    "gaussian_noise": orbbec.gaussian_noise,
    "shot_noise": orbbec.shot_noise,
    "salt_and_pepper": orbbec.salt_and_pepper,
    "gaussian_blur": lambda images: orbbec.gaussian_blur(images, (3, 3), 1.0),
    "box_blur": lambda images: orbbec.box_blur(images, (3, 3)),
    "median_blur": lambda images: orbbec.median_blur(images, (3, 3)),
    "jpeg_compression": lambda images: orbbec.jpeg_compression(images, 50),
}


@pytest.fixture(params=["planes", "channels_last", "variable-size"])
def four_images(request):
    pixels = np.random.default_rng(0).integers(0, 256, (4, 160, 180, 3), np.uint8)
    if request.param == "variable-size":
        return orbbec.ImageBatch.from_images(list(pixels))
    images = torch.from_numpy(pixels).permute(0, 3, 1, 2)
    return images.contiguous() if request.param == "planes" else images


def pixels_of(result):
    return result if isinstance(result, torch.Tensor) else result.buffer


@pytest.mark.parametrize("name", LIKE_THEIR_IMAGES)
def test_results_like_their_images_are_used_again_with_the_same_bytes(name, four_images, monkeypatch):
    work = LIKE_THEIR_IMAGES[name]
    BUFFER_POOL.release()
    result = work(four_images)
    address = pixels_of(result).data_ptr()
    del result
    assert BUFFER_POOL.free_bytes > 0
    again = work(four_images)
    assert pixels_of(again).data_ptr() == address
    monkeypatch.setattr(BUFFER_POOL, "limit", 0)
    assert_same_bytes(pixels_of(again), pixels_of(work(four_images)))
