"""The C++ threads of a loader: they begin with an epoch, and end with it however it ends."""

import _thread
import gc
import os
import signal
import threading
import time
from pathlib import Path

import pytest
import torch

from orbbec.data import Arrays, ImageFolder, Loader
from orbbec.transforms import Compose, RandomResizedCrop
from tests.support.damage.damage import good_file

TASKS = Path("/proc/self/task")
NAME = "orbbec-feed"

pytestmark = pytest.mark.skipif(not TASKS.exists(), reason="no /proc")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("images")
    (root / "a").mkdir()
    data = good_file("jpeg", (240, 320))
    for number in range(64):
        (root / "a" / f"{number:02}.jpg").write_bytes(data)
    return ImageFolder(root)


def feed_threads():
    """The status of each thread of a feed."""
    found = []
    for task in TASKS.iterdir():
        try:
            if (task / "comm").read_text().strip() == NAME:
                found.append((task / "status").read_text())
        except OSError:  # it has ended
            continue
    return found


def have_ended(seconds=10.0):
    latest = time.monotonic() + seconds
    while feed_threads() and time.monotonic() < latest:
        time.sleep(0.002)
    return not feed_threads()


def loader_of(source, **options):
    pipeline = Compose([RandomResizedCrop(16)], seed=1)
    return Loader(source, 8, pipeline, **{"threads": 2, "seed": 2, **options})


def by_end(epoch, loader):
    list(epoch)


def by_close(epoch, loader):
    next(epoch)
    loader.close()


def by_dropping(epoch, loader):
    next(epoch)


def by_another_epoch(epoch, loader):
    next(epoch)
    list(loader)


@pytest.mark.parametrize("leave", [by_end, by_close, by_dropping, by_another_epoch])
def test_no_thread_and_no_file_is_left(folder, leave):
    loader, before = loader_of(folder), len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        epoch = iter(loader)
        leave(epoch, loader)
        del epoch
        assert have_ended()
    assert len(os.listdir("/proc/self/fd")) == before


def test_threads_are_those_that_were_asked_for_and_as_many_that_only_read(folder):
    epoch = iter(loader_of(folder, threads=3))
    next(epoch)
    assert len(feed_threads()) == 2 * 3
    del epoch
    assert have_ended()


def test_their_number_follows_that_of_the_loader(folder):
    loader = loader_of(folder, threads=1)
    epoch = iter(loader)
    next(epoch)
    for threads in (3, 2):
        loader._assembler.crew(threads, 2, 8)
        next(epoch)
        latest = time.monotonic() + 10
        while len(feed_threads()) != threads + 1 and time.monotonic() < latest:
            time.sleep(0.002)
        assert len(feed_threads()) == threads + 1  # and one that only reads


def test_no_thread_begins_for_images_that_are_no_files():
    source = Arrays(torch.zeros(16, 8, 8, 3, dtype=torch.uint8).numpy())
    epoch = iter(loader_of(source))
    next(epoch)
    assert feed_threads() == []


def test_no_thread_begins_if_the_environment_says_so(folder, monkeypatch):
    monkeypatch.setenv("ORBBEC_FEED", "0")
    epoch = iter(loader_of(folder))
    next(epoch)
    assert feed_threads() == []


def test_signals_are_for_other_threads(folder):
    epoch = iter(loader_of(folder))
    next(epoch)
    blocked = [int(line.split()[1], 16) for status in feed_threads() for line in status.splitlines()
               if line.startswith("SigBlk")]  # fmt: skip
    assert blocked
    assert all(mask >> (signal.SIGINT - 1) & 1 and mask >> (signal.SIGTERM - 1) & 1 for mask in blocked)
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == set()


def test_an_interrupt_ends_the_epoch_and_the_next_one_is_whole(folder):
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    loader = loader_of(folder, prefetch=0)
    expected = torch.cat([batch.sample_ids for batch in loader])
    for delay in (0.0, 0.002, 0.01, 0.02):
        timer = threading.Timer(delay, _thread.interrupt_main)
        with pytest.raises(KeyboardInterrupt):  # noqa: PT012 wherever it arrives
            timer.start()
            while True:
                loader.set_epoch(0)
                list(loader)
        timer.join()
        gc.collect()
        assert have_ended()
        loader.set_epoch(0)
        assert torch.equal(torch.cat([batch.sample_ids for batch in loader]), expected)


def test_another_thread_may_close_the_loader_while_the_feed_works(folder):
    for delay in (0.0, 0.003, 0.01):
        loader = loader_of(folder)
        closer = threading.Timer(delay, loader.close)
        closer.start()
        count = sum(len(batch.images) for batch in loader)
        closer.join()
        assert count <= len(folder)
        assert have_ended()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_begins_a_feed_of_its_own(folder):
    loader = loader_of(folder)
    expected = [batch.images.clone() for batch in loader]
    loader.set_epoch(0)
    epoch = iter(loader)
    first = next(epoch).images.clone()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            try:
                next(epoch)
            except RuntimeError:
                loader._assembler.feed.resize(1)
                loader.set_epoch(0)
                images = [batch.images for batch in loader]
                status = 0 if all(map(torch.equal, images, expected)) and len(images) == 8 else 2
        finally:
            os._exit(status)
    rest = [batch.images for batch in epoch]
    assert all(map(torch.equal, [first, *rest], expected))
    assert os.waitpid(child, 0)[1] == 0


def test_images_that_are_kept_never_change(folder):
    loader = loader_of(folder)
    batches = [batch.images for batch in loader]
    copies = [images.clone() for images in batches]
    list(loader)
    assert all(map(torch.equal, batches, copies))


def test_threads_run_on_the_cores_that_were_asked_for(folder):
    loader = loader_of(folder)
    loader._assembler.feed._cores = core = [min(os.sched_getaffinity(0))]
    epoch = iter(loader)
    next(epoch)
    allowed = [line.split()[1] for status in feed_threads() for line in status.splitlines()
               if line.startswith("Cpus_allowed_list")]  # fmt: skip
    assert set(allowed) == {str(core[0])}
