"""Packing: complete, resumed, and never partial."""

import errno
import os
import re
import resource
import signal
import subprocess
import tarfile
from pathlib import Path

import numpy as np
import pytest

from orbbec.data import BadSample, Sample, Shards, pack

SAMPLES = [
    Sample(bytes([n]) * (300 + 17 * n), {"label": n % 3, "boxes": np.full((n % 4, 4), n, np.float32)}, 10 * n)
    for n in range(40)
]
SMALL = 12000  # bytes of an archive: about five samples


class Source(list):
    """Samples, some of which cannot be read."""

    classes = ("a", "b", "c")
    bad = ()

    def __getitem__(self, index):
        if index in self.bad:
            raise BadSample(10 * index, f"{index}.jpg", "the file is empty")
        return super().__getitem__(index)


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def ids_of(folder: Path) -> list[int]:
    shards = Shards(folder)
    return [shards[index].sample_id for index in range(len(shards))]


def test_samples_come_back(tmp_path):
    done = []
    result = pack(Source(SAMPLES), tmp_path, shard_bytes=SMALL, progress=done.append)
    assert done == list(range(1, 41))
    assert (result.samples, result.skipped, result.resumed) == (40, [], 0)
    assert result.archives == len(list(tmp_path.glob("*.tar"))) > 5
    shards = Shards(tmp_path)
    assert shards.classes == ["a", "b", "c"]
    assert shards.sample_ids == [10 * n for n in range(40)]
    for index, expected in enumerate(SAMPLES):
        sample = shards[index]
        assert (sample.data, sample.sample_id) == (expected.data, expected.sample_id)
        assert sample.targets.keys() == {"label", "boxes"}
        assert sample.targets["label"] == expected.targets["label"]
        assert np.array_equal(sample.targets["boxes"], expected.targets["boxes"])


def test_archives_are_plain(tmp_path):
    pack(SAMPLES[:2], tmp_path)
    with tarfile.open(tmp_path / "shard-000000.tar") as archive:
        assert archive.getnames() == [
            f"{key}.{kind}" for key in ("000000000", "000000010") for kind in ("img", "cls", "boxes.npy")
        ]
        assert archive.extractfile("000000010.cls").read() == b"1"
    assert subprocess.run(["tar", "-tf", tmp_path / "shard-000000.tar"], capture_output=True).returncode == 0


def test_shuffled_packing_keeps_the_ids(tmp_path):
    pack(SAMPLES, tmp_path, shard_bytes=SMALL, shuffle=True, seed=3)
    ids = ids_of(tmp_path)
    assert ids != sorted(ids)
    assert sorted(ids) == [10 * n for n in range(40)]


def test_a_stream_is_packed(tmp_path):
    result = pack((sample for sample in SAMPLES), tmp_path, shard_bytes=SMALL)
    assert result.samples == 40
    assert ids_of(tmp_path) == [10 * n for n in range(40)]


def test_nothing_is_packed(tmp_path):
    assert pack([], tmp_path).archives == 0
    assert len(Shards(tmp_path)) == 0


def test_bad_samples_stop_or_are_listed(tmp_path):
    source = Source(SAMPLES)
    source.bad = (7, 39)
    with pytest.raises(BadSample, match=r"sample 70 \(7\.jpg\): the file is empty"):
        pack(source, tmp_path, shard_bytes=SMALL)
    assert not list(tmp_path.glob("*.part"))
    with pytest.raises(ValueError, match="is incomplete: run the same `pack` again"):
        Shards(tmp_path)
    result = pack(source, tmp_path, shard_bytes=SMALL, on_error="skip")
    assert result.resumed > 0
    assert result.skipped == [(70, "7.jpg", "the file is empty"), (390, "39.jpg", "the file is empty")]
    assert ids_of(tmp_path) == [10 * n for n in range(40) if n not in (7, 39)]
    again = pack(source, tmp_path, shard_bytes=SMALL, on_error="skip")
    assert (again.samples, again.skipped, again.resumed) == (38, result.skipped, 40)


def test_every_file_is_on_the_disk_before_it_gets_its_name(tmp_path, monkeypatch):
    """Otherwise a power failure leaves a complete name with incomplete contents."""
    synced, named = set(), []
    fsync, rename = os.fsync, Path.replace

    def noted(descriptor):
        synced.add((os.fstat(descriptor).st_ino, os.fstat(descriptor).st_size))
        fsync(descriptor)

    def checked(path, target):
        assert (path.stat().st_ino, path.stat().st_size) in synced
        named.append(Path(target).suffix)
        return rename(path, target)

    monkeypatch.setattr(os, "fsync", noted)
    monkeypatch.setattr(Path, "replace", checked)
    pack(SAMPLES[:3], tmp_path)
    assert set(named) >= {".tar", ".json"}


def test_bad_samples_of_a_stream(tmp_path):
    stream = [SAMPLES[0], BadSample(5, "5.jpg", "gone"), SAMPLES[1]]
    packed = pack(iter(stream), tmp_path, on_error="skip")
    assert (packed.skipped, packed.archives) == ([(5, "5.jpg", "gone")], 1)
    assert ids_of(tmp_path) == [0, 10]


def test_a_stream_goes_on_where_it_was(tmp_path):
    pack(iter(SAMPLES), tmp_path / "straight", shard_bytes=SMALL)
    broken = [*SAMPLES[:20], BadSample(5, "5.jpg", "gone")]
    with pytest.raises(BadSample):
        pack(iter(broken), tmp_path / "stopped", shard_bytes=SMALL)
    assert 0 < pack(iter(SAMPLES), tmp_path / "stopped", shard_bytes=SMALL).resumed <= 20
    assert files_of(tmp_path / "stopped") == files_of(tmp_path / "straight")


def packed_until_killed(samples: list[Sample], folder: Path, event: int) -> int:
    """Pack in a process that kills itself at an event: reading, before and after syncing and renaming."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    events = 0

    def count() -> None:
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

    class Counted(Source):
        __getitem__ = counted(Source.__getitem__)

    os.fsync = counted(os.fsync)
    Path.replace = counted(Path.replace)
    try:
        pack(Counted(samples), folder, shard_bytes=SMALL)
    finally:
        os._exit(0)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_kill_9_at_any_moment_loses_and_doubles_nothing(tmp_path):
    samples = SAMPLES[:11]
    pack(Source(samples), tmp_path / "straight", shard_bytes=SMALL)
    straight = files_of(tmp_path / "straight")
    resumed = []
    for event in range(1, 1000):
        folder = tmp_path / str(event)
        status = packed_until_killed(samples, folder, event)
        for archive in folder.glob("*.tar"):
            assert archive.read_bytes() == straight[archive.name]
        if status == 0:
            break
        assert os.WTERMSIG(status) == signal.SIGKILL
        resumed.append(pack(Source(samples), folder, shard_bytes=SMALL).resumed)
        assert files_of(folder) == straight
    assert event > 40
    assert resumed == sorted(resumed)
    assert set(resumed) > {0, 11}


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_what_a_process_that_was_killed_left_half_written_is_removed(tmp_path):
    for _ in range(2):
        pack([Sample(b"P5 1 1 255 a", {}, 4)], tmp_path)
        assert not list(tmp_path.glob("*.part"))
        (tmp_path / "shard-000001.tar.part").write_bytes(b"half")
    assert [sample.sample_id for sample in Shards(tmp_path)] == [4]


def test_killed_again_and_again(tmp_path):
    pack(Source(SAMPLES), tmp_path / "straight", shard_bytes=SMALL)
    kills = 0
    while packed_until_killed(SAMPLES, tmp_path / "killed", 18) != 0:
        kills += 1
        assert kills < 50
    assert kills > 3
    assert files_of(tmp_path / "killed") == files_of(tmp_path / "straight")


def test_a_full_disk_is_said_and_leaves_no_half_archive(tmp_path):
    """The system refuses to write: a limit on file sizes simulates a full disk."""
    folder = tmp_path / "full"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    pack(Source(SAMPLES), tmp_path / "straight", shard_bytes=SMALL)
    resource.setrlimit(resource.RLIMIT_FSIZE, (9000, before[1]))
    try:
        with pytest.raises(OSError, match=r"shard-000000\.tar cannot be written .*free some space") as caught:
            pack(Source(SAMPLES), folder, shard_bytes=SMALL)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert caught.value.errno == errno.EFBIG
    assert [path.name for path in folder.iterdir()] == ["pack.json"]
    pack(Source(SAMPLES), folder, shard_bytes=SMALL)
    assert files_of(folder) == files_of(tmp_path / "straight")


def test_a_disk_that_is_full_at_any_moment(tmp_path, monkeypatch):
    """Wherever the disk is full first, existing files are complete, and another call finishes the work."""
    source, fsync = Source(SAMPLES[:12]), os.fsync
    pack(source, tmp_path / "straight", shard_bytes=SMALL)
    straight = files_of(tmp_path / "straight")
    calls = range(8)  # the manifest, index and archive of three, the manifest again
    for refused in calls:
        folder, left = tmp_path / str(refused), iter(calls)

        def refuse(handle, left=left, refused=refused):
            if next(left) == refused:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            fsync(handle)

        monkeypatch.setattr(os, "fsync", refuse)
        with pytest.raises(OSError, match="No space left on device") as caught:
            pack(source, folder, shard_bytes=SMALL)
        assert caught.value.errno == errno.ENOSPC
        if 0 < refused < 7:  # not the manifest
            assert re.search(r"pack: .*\.tar cannot be written .*free some space", str(caught.value))
        monkeypatch.setattr(os, "fsync", fsync)
        for archive in folder.glob("*.tar"):
            assert archive.read_bytes() == straight[archive.name]
        pack(source, folder, shard_bytes=SMALL)
        assert files_of(folder) == straight


def test_a_source_that_changed_is_refused(tmp_path):
    pack(Source(SAMPLES), tmp_path, shard_bytes=SMALL)
    for source, options, message in (
        (Source(SAMPLES[:-1]), {}, "length 40, but now it is 39"),
        (list(SAMPLES), {}, r"classes \['a', 'b', 'c'\], but now it is \[\]"),
        (Source(SAMPLES), {"seed": 1}, "seed 0, but now it is 1"),
        (Source(SAMPLES), {"shuffle": True}, "shuffle False, but now it is True"),
        (Source(SAMPLES), {"shard_bytes": 5}, "shard_bytes 12000, but now it is 5"),
    ):
        with pytest.raises(ValueError, match=f"was begun with {message}: use another folder"):
            pack(source, tmp_path, **{"shard_bytes": SMALL, **options})


def test_other_archives_and_other_processes_are_let_alone(tmp_path):
    (tmp_path / "x.tar").write_bytes(b"")
    with pytest.raises(ValueError, match="has archives of another tool"):
        pack(SAMPLES, tmp_path)
    (tmp_path / "x.tar").unlink()

    class Nested(Source):
        def __getitem__(self, index):
            return pack(SAMPLES, tmp_path)

    with pytest.raises(ValueError, match="another process packs to"):
        pack(Nested(SAMPLES), tmp_path)


@pytest.mark.parametrize("ids", [[5, 5, 7], [7, 5, 6, 7], [9, 8, 7, 9], [3, 3, 3]])
def test_ids_that_are_repeated_anywhere_are_named(tmp_path, ids):
    samples = [Sample(b"P5 1 1 255 a", {}, sample_id) for sample_id in ids]
    repeated = next(sample_id for sample_id in ids if ids.count(sample_id) > 1)
    message = f"distinct ids, but {len(ids) - len(set(ids))} are repeated, such as {repeated}"
    with pytest.raises(ValueError, match=message):
        pack(samples, tmp_path)


def test_bad_arguments_are_named(tmp_path):
    for source, options, error, message in (
        (SAMPLES, {"shard_bytes": 0}, ValueError, "pack: expected shard_bytes"),
        (SAMPLES, {"on_error": "ignore"}, ValueError, "pack: expected on_error as one of raise, skip"),
        (
            iter(SAMPLES),
            {"shuffle": True},
            ValueError,
            "pack: expected a source to shuffle, but got a stream",
        ),
        ([Sample(b"x", {}, -1)], {}, ValueError, "pack: expected sample_id"),
        (
            [Sample(b"x", {}, 1), Sample(b"y", {}, 1)],
            {},
            ValueError,
            "pack: .* distinct ids, but 1 are repeated, such as 1",
        ),
        ([Sample(b"x", {"x": {1}}, 1)], {}, TypeError, "pack: target 'x' cannot be stored"),
    ):
        with pytest.raises(error, match=message):
            pack(source, tmp_path / "out", **options)
        (tmp_path / "out").mkdir(exist_ok=True)
        for path in (tmp_path / "out").iterdir():
            path.unlink()
