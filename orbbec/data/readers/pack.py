"""Write any source to tar shards; resumable, with atomic files.

An archive is written as `shard-000007.tar.part`. When it is full, its index is written and the archive is
renamed, so that a file of the final name is complete and has an index. The archives themselves tell where to
resume.
"""

from __future__ import annotations

import fcntl
import operator
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from io import FileIO
from itertools import chain, count, islice
from pathlib import Path

import numpy as np

from orbbec.bridge.arguments import Array
from orbbec.data.concat import with_distinct_ids
from orbbec.data.order import Order
from orbbec.data.readers.fields import pack_fields
from orbbec.data.readers.manifest import Manifest, read_manifest
from orbbec.data.readers.members import members_of
from orbbec.data.readers.paths import visible_files
from orbbec.data.readers.shard_index import (
    Index,
    Row,
    index_path,
    read_index,
    to_row,
    to_rows,
    write_index,
)
from orbbec.data.readers.tar import end_of_archive, part_path, to_entries
from orbbec.data.sample import BadSample, Sample, Source, printable
from orbbec.transforms.base.checks import choice, whole

SHARD_BYTES = 256 << 20


@dataclass(frozen=True)
class Packed:
    """The result of `pack`.

    Args:
        samples: number of samples in all archives.
        skipped: samples that could not be read: id, path, reason.
        archives: number of archives.
        resumed: number of samples packed by earlier calls.
    """

    samples: int
    skipped: list[tuple[int, str, str]]
    archives: int
    resumed: int


def pack(
    source: Source | Iterable[Sample | BadSample],
    folder: str | os.PathLike[str],
    *,
    shard_bytes: int = SHARD_BYTES,
    shuffle: bool = False,
    seed: int = 0,
    on_error: str = "raise",
    progress: Callable[[int], None] | None = None,
) -> Packed:
    """Write the samples of a source to tar archives with an index, for `Shards` to read.

    After an interruption, a call with the same arguments resumes and gives the same bytes as an uninterrupted
    one. Other tools can read the archives: see `orbbec.data.readers.fields`.

    Args:
        source: samples with distinct ids, or a stream with the same order each time.
        folder: folder for the archives; created if missing.
        shard_bytes: an archive ends with the sample that makes it this large.
        shuffle: pack in a shuffled order, for reading the archives as a stream.
        seed: seed of that order.
        on_error: for a sample that cannot be read: "raise", or "skip" and list it.
        progress: called after each sample with the number of samples done.

    Returns:
        A summary.

    Raises:
        BadSample: a sample cannot be read.
        OSError: an archive cannot be written, for example on a full disk; complete archives remain and the
            next call resumes.
        TypeError: a target cannot be stored.
        ValueError: an argument is invalid, the folder has other contents, or two samples share an id.

    Example:
        >>> from tempfile import mkdtemp
        >>> pack([Sample(b"one", {"label": 3}, 0), Sample(b"two", {}, 7)], mkdtemp())
        Packed(samples=2, skipped=[], archives=1, resumed=0)
    """
    shard_bytes = whole("pack", "shard_bytes", shard_bytes, 1)
    choice("pack", "on_error", on_error, ("raise", "skip"))
    source = with_distinct_ids(source)
    length = len(source) if isinstance(source, Source) else None
    if shuffle and length is None:
        raise ValueError("pack: expected a source to shuffle, but got a stream")
    manifest = Manifest(length, shard_bytes, shuffle, seed, list(getattr(source, "classes", ())))
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder):
        ended = _begin(folder, manifest)
        archives = list(_whole_archives(folder))
        taken = sum(archive.taken for archive in archives)
        if not ended:
            samples = _reported(_samples(source, manifest, taken), taken, progress)
            for number in count(len(archives)):
                first = next(samples, None)
                if first is None:
                    break
                rest = chain([first], samples)
                archives.append(_write_archive(_archive_path(folder, number), rest, shard_bytes, on_error))
            _end(folder, manifest, archives)
    skipped = [entry for archive in archives for entry in archive.skipped]
    return Packed(sum(len(archive.ids) for archive in archives), skipped, len(archives), taken)


@dataclass(frozen=True)
class _Archive:
    """A summary of a complete archive, without sample offsets, to save memory."""

    name: str
    ids: Array
    skipped: list[tuple[int, str, str]]

    @property
    def taken(self) -> int:
        return len(self.ids) + len(self.skipped)


def _summary(path: Path, index: Index) -> _Archive:
    return _Archive(path.name, index.samples[:, 0].copy(), index.skipped)


def _archive_path(folder: Path, number: int) -> Path:
    return folder / f"shard-{number:06d}.tar"


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Lock the folder; the system releases the lock when the process ends."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ValueError(f"pack: another process packs to {printable(folder)}") from error
        yield
    finally:
        os.close(handle)


def _begin(folder: Path, manifest: Manifest) -> bool:
    """Prepare the folder, or check that it has the same settings; returns whether packing is complete."""
    before = read_manifest(folder)
    if before is None:
        if visible_files(folder, "*.tar"):
            raise ValueError(
                f"pack: expected an empty folder, but {printable(folder)} has archives of another tool"
            )
        manifest.write(folder)
        return False
    for name, value in manifest.settings().items():
        if before.settings()[name] != value:
            raise ValueError(
                f"pack: {printable(folder)} was begun with {name} {before.settings()[name]}, "
                f"but now it is {value}: use another folder"
            )
    for part in folder.glob("*.part"):
        part.unlink()
    return before.ended


def _whole_archives(folder: Path) -> Iterator[_Archive]:
    for number in count():
        path = _archive_path(folder, number)
        if not path.exists():
            return
        yield _summary(path, read_index(path))


def _samples(
    source: Source | Iterable[Sample | BadSample], manifest: Manifest, start: int
) -> Iterator[Sample | BadSample]:
    if not isinstance(source, Source):
        yield from islice(source, start, None)
        return
    for index in Order(len(source), manifest.seed, manifest.shuffle).indices(start=start).tolist():
        try:
            yield source[index]
        except BadSample as error:
            yield error


def _reported(
    samples: Iterator[Sample | BadSample], taken: int, progress: Callable[[int], None] | None
) -> Iterator[Sample | BadSample]:
    for done, sample in enumerate(samples, taken + 1):
        yield sample
        if progress is not None:
            progress(done)


def _write_archive(
    path: Path, samples: Iterable[Sample | BadSample], shard_bytes: int, on_error: str
) -> _Archive:
    rows: list[Row] = []
    skipped: list[tuple[int, str, str]] = []
    size, part = 0, part_path(path)
    try:
        with open(part, "wb", buffering=0) as file:
            for sample in samples:
                if isinstance(sample, BadSample):
                    if on_error == "raise":
                        raise sample
                    skipped.append((sample.sample_id, sample.path, sample.reason))
                    continue
                sample_id = whole("pack", "sample_id", operator.index(sample.sample_id), 0, 2**63 - 1)
                data = to_entries(f"{sample_id:09d}", pack_fields(sample))
                _write(file, data, path)
                rows.append(_row_of(sample_id, data, size))
                size += len(data)
                if size >= shard_bytes:
                    break
            _write(file, end_of_archive(size), path)
            with _writing(path):
                os.fsync(file.fileno())
        index = Index(to_rows(rows), skipped)
        with _writing(path):
            write_index(path, index)
            part.replace(path)
    finally:
        part.unlink(missing_ok=True)
        part_path(index_path(path)).unlink(missing_ok=True)
    return _summary(path, index)


def _row_of(sample_id: int, data: bytes, offset: int) -> Row:
    """The row of a sample whose entries are written at an offset."""

    def read(begin: int, size: int) -> bytes:
        return data[begin - offset : begin - offset + size]

    members = members_of(lambda begin, size: data[begin : begin + size], len(data))
    in_archive = [member.shifted(offset) for member in members]
    return to_row(sample_id, in_archive, read)


def _write(file: FileIO, data: bytes, path: Path) -> None:
    left = memoryview(data)
    while left:
        with _writing(path):
            left = left[file.write(left) :]  # writes only a prefix if the disk is nearly full


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        advice = "the archives before it are complete: free some space, then run the same command to resume"
        raise OSError(
            error.errno, f"pack: {printable(path)} cannot be written ({error.strerror}); {advice}"
        ) from error


def _end(folder: Path, manifest: Manifest, archives: list[_Archive]) -> None:
    ids = np.sort(np.concatenate([archive.ids for archive in archives] or [np.zeros(0, np.int64)]))
    twice = ids[1:][ids[1:] == ids[:-1]]
    if len(twice):
        raise ValueError(
            f"pack: expected samples with distinct ids, but {len(twice)} are repeated, such as {twice[0]}"
        )
    counts = {archive.name: len(archive.ids) for archive in archives}
    replace(manifest, archives=counts, ended=True).write(folder)
