"""Records in memory and in a shared file: bounded, and never another's or torn."""

import errno
import fcntl
import os
import re
import resource
import signal
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from threading import Thread

import pytest

from orbbec.data.cache import stores
from orbbec.data.cache.stores import FileStore, MemoryStore, Record

DIGEST = bytes(range(32))
COUNT = 8
RECORDS = [Record(bytes([n]) * (3 + n), bytes([255 - n]) * (50 * n)) for n in range(COUNT)]
BEGIN = 56 + 32 * COUNT  # of records, after the header and the rows
WHOLE = BEGIN + sum(map(len, [part for record in RECORDS for part in record]))


def opened(path, nbytes=1 << 20):
    return FileStore(path, nbytes, DIGEST, COUNT)


def filled(path, indices=range(COUNT)):
    store = opened(path)
    for index in indices:
        store.put(index, RECORDS[index])
    return store


def found(store):
    """The indices that are stored; each has its own record."""
    records = {index: record for index in range(COUNT) if (record := store.get(index)) is not None}
    assert records == {index: RECORDS[index] for index in records}
    return set(records)


@pytest.mark.parametrize(("fitting", "missing"), [(0, 0), (1, 0), (3, 0), (COUNT, 0), (0, 1), (3, 1)])
def test_memory_is_bounded_and_keeps_what_came_first(fitting, missing):
    sizes = [len(record.description) + len(record.images) + 200 for record in RECORDS]
    store = MemoryStore(sum(sizes[: fitting + missing]) - missing)
    for index, record in enumerate(RECORDS):
        store.put(index, record)
        store.put(index, record)  # replaced, not added
    assert found(store) == set(range(fitting))
    assert store.is_full == (fitting < COUNT)


@pytest.mark.parametrize("fitting", [0, 1, 3, COUNT])
def test_a_file_is_bounded_and_may_be_opened_with_another_size(tmp_path, fitting):
    nbytes = BEGIN + sum(len(part) for record in RECORDS[:fitting] for part in record)
    store = opened(tmp_path / "c", nbytes)
    for index, record in enumerate(RECORDS):
        store.put(index, record)
    assert found(store) == set(range(fitting))
    assert (tmp_path / "c").stat().st_size <= nbytes
    assert store.is_full == (fitting < COUNT)
    smaller = opened(tmp_path / "c", 10)
    smaller.put(7, RECORDS[7])
    assert found(smaller) == set(range(fitting))
    larger = opened(tmp_path / "c")
    for index in range(fitting, COUNT):
        larger.put(index, RECORDS[index])
    assert found(larger) == found(smaller) == set(range(COUNT))


def test_every_flipped_bit_of_a_file_is_a_missing_record(tmp_path):
    path = tmp_path / "c"
    filled(path)
    whole = path.read_bytes()
    assert len(whole) == WHOLE
    for offset in range(48, WHOLE, 5):  # after the format and the digest
        data = bytearray(whole)
        data[offset] ^= 1 << offset % 8
        path.write_bytes(data)
        assert len(found(opened(path))) >= COUNT - 1


def test_a_file_that_was_cut_off_misses_records_and_takes_them_again(tmp_path):
    path = tmp_path / "c"
    filled(path)
    whole = path.read_bytes()
    for length in range(56, WHOLE, 7):
        path.write_bytes(whole[:length])
        store = opened(path)
        missing = set(range(COUNT)) - found(store)
        assert missing
        for index in missing:
            store.put(index, RECORDS[index])
        assert found(store) == set(range(COUNT))


def test_a_record_that_another_overwrote_is_missing(tmp_path):
    """As by two processes that were given the same bytes."""
    path = tmp_path / "c"
    store = filled(path, [5])
    with open(path, "r+b") as file:
        file.seek(48)
        file.write(BEGIN.to_bytes(8, "little"))
    store.put(6, RECORDS[6])
    assert found(store) == {6}


def killed_at(path, event):
    """Store all records in a process that kills itself before or after a write; returns its status."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    events = 0

    def count():
        nonlocal events
        events += 1
        if events == event:
            os.kill(os.getpid(), signal.SIGKILL)

    def counted(call):
        def both(*arguments):
            count()
            result = call(*arguments)
            count()
            return result

        return both

    try:
        os.pwrite, os.pwritev = counted(os.pwrite), counted(os.pwritev)
        filled(path)
    finally:
        os._exit(0)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_rank_that_is_killed_at_any_write_leaves_whole_records(tmp_path):
    for event in range(1, 100):
        path = tmp_path / str(event)
        status = killed_at(path, event)
        store = opened(path)
        assert found(store) == set(range((event - 2) // 6))
        for index in range(COUNT):
            store.put(index, RECORDS[index])  # the lock was released
        assert found(store) == set(range(COUNT))
        if status == 0:
            break
    assert event == 2 + 6 * COUNT + 1  # two writes of the header, and six of each record


@pytest.mark.parametrize("fault", ["limit", "refused", "short"])
def test_a_full_disk_is_said_once_and_leaves_whole_records(tmp_path, monkeypatch, fault):
    store, before = filled(tmp_path / "c", range(4)), resource.getrlimit(resource.RLIMIT_FSIZE)

    def refuse(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if fault == "limit":
        resource.setrlimit(resource.RLIMIT_FSIZE, ((tmp_path / "c").stat().st_size + 100, before[1]))
    elif fault == "refused":
        monkeypatch.setattr(os, "pwritev", refuse)
    else:
        monkeypatch.setattr(os, "pwritev", lambda file, parts, offset: os.pwrite(file, parts[0], offset))
    with warnings.catch_warnings(record=True) as said:
        for index in range(4, COUNT):
            store.put(index, RECORDS[index])
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert re.fullmatch(r"Cache: .*/c cannot grow \(.*\): it takes no more samples", str(said[0].message))
    assert len(said) == 1
    assert store.is_full
    assert found(store) == set(range(4))


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_threads_of_processes_that_write_at_once_lose_nothing(tmp_path):
    inherited = opened(tmp_path / "c")
    children = []
    for process in range(3):
        child = os.fork()
        if child == 0:
            try:
                store = inherited if process < 2 else opened(tmp_path / "c")
                with ThreadPoolExecutor(4) as pool:
                    for _ in range(20):
                        list(pool.map(store.put, range(COUNT), RECORDS))
                os._exit(0 if found(store) == set(range(COUNT)) else 1)
            finally:
                os._exit(2)
        children.append(child)
    latest = time.monotonic() + 60
    while children and time.monotonic() < latest:
        children = [child for child in children if os.waitpid(child, os.WNOHANG) == (0, 0)]
        assert found(inherited) <= set(range(COUNT))
    assert not children
    assert found(inherited) == set(range(COUNT))
    used = int.from_bytes((tmp_path / "c").read_bytes()[48:56], "little")
    assert used == BEGIN + 3 * 20 * (WHOLE - BEGIN)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_record_waits_until_another_process_has_written(tmp_path):
    store = opened(tmp_path / "c")
    begun, end = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        fcntl.lockf(os.open(tmp_path / "c", os.O_RDWR), fcntl.LOCK_EX)
        os.write(begun[1], b"1")
        os.read(end[0], 1)
        os._exit(0)
    os.read(begun[0], 1)
    writer = Thread(target=store.put, args=(0, RECORDS[0]))
    writer.start()
    writer.join(0.1)
    waits = writer.is_alive()
    os.write(end[1], b"1")
    os.waitpid(child, 0)
    writer.join(10)
    assert waits
    assert found(store) == {0}


def test_the_layout_is_that_of_the_tests():
    assert stores._HEADER.size == 56
    assert stores._ROW.size == 32
