"""Tar shards and their index files, with the offset and checksum of each sample.

A sample is a run of files with one key, headers and padding included::

    train-000.tar              train-000.index.json
    | 000000041.jpg |          {"samples": [[41, 0, 12800, 2768625435],
    | 000000041.cls |
    | 000000042.jpg |                       [42, 12800, 9728, 907060870],
    | 000000042.cls |                       ...],
      ...                       "skipped": [[43, "cats/43.jpg", "the file is empty"]]}
"""

from __future__ import annotations

import json
import os
import tarfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from orbbec.bridge.arguments import Array
from orbbec.data.readers.members import BLOCK, Member, members_of
from orbbec.data.readers.paths import is_hidden
from orbbec.data.sample import printable

_RECORD = 10240  # bytes: an archive is padded to a multiple
_PIECE = 1 << 20  # bytes read at once


@dataclass
class Index:
    """The content of an index file.

    Args:
        samples: int64 `[N, 4]`, in the order of the archive: sample id, offset, size, CRC-32.
        skipped: samples that could not be read when the archive was written: id, path, reason.
    """

    samples: Array
    skipped: list[tuple[int, str, str]] = field(default_factory=list)

    @property
    def taken(self) -> int:
        """The number of samples of the source that are packed or skipped."""
        return len(self.samples) + len(self.skipped)


def to_rows(rows: Sequence[Sequence[int]]) -> Array:
    """Rows of an index as an array, also for no rows."""
    return np.array(rows, np.int64).reshape(-1, 4)


def index_path(archive: Path) -> Path:
    """The index file of an archive: `a.index.json` for `a.tar`."""
    return archive.with_suffix(".index.json")


def read_index(archive: Path) -> Index:
    """The index of an archive.

    Raises:
        OSError: the index is missing or cannot be read.
        ValueError: the index is malformed.
    """
    path = index_path(archive)
    try:
        table = json.loads(path.read_bytes())
        rows = np.array(table["samples"] or np.zeros((0, 4), np.int64))
        if rows.dtype != np.int64 or rows.ndim != 2 or rows.shape[1] != 4 or (rows < 0).any():
            raise ValueError("expected rows of four whole numbers from 0")
        skipped = [(number, file, reason) for number, file, reason in table["skipped"]]
        if any(tuple(map(type, entry)) != (int, str, str) for entry in skipped):
            raise ValueError("expected a whole number and two texts for each skipped sample")
        return Index(rows, skipped)
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise ValueError(f"Shards: {printable(path)} is not an index: {error!r}") from error


def write_index(archive: Path, index: Index) -> None:
    """Write the index of an archive atomically."""
    table = {"samples": index.samples.tolist(), "skipped": index.skipped}
    write_whole(index_path(archive), json.dumps(table).encode())


def write_whole(path: Path, data: bytes) -> None:
    """Write a file atomically: it is complete or absent, even if the process is killed."""
    part = part_path(path)
    with open(part, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def part_path(path: Path) -> Path:
    """The temporary path of a file being written."""
    return path.with_name(path.name + ".part")


def to_entries(key: str, fields: dict[str, bytes]) -> bytes:
    """A sample as the bytes of a tar archive.

    Example:
        >>> len(to_entries("000000007", {"jpg": b"...", "cls": b"3"}))
        2048
    """
    parts = []
    for name, data in fields.items():
        info = tarfile.TarInfo(f"{key}.{name}")
        info.size = len(data)
        parts += [info.tobuf(tarfile.PAX_FORMAT), data, bytes(-len(data) % BLOCK)]
    return b"".join(parts)


def end_of_archive(size: int) -> bytes:
    """The end of an archive of `size` bytes of entries: two empty blocks, and padding of the record."""
    return bytes(2 * BLOCK + -(size + 2 * BLOCK) % _RECORD)


def from_entries(data: bytes) -> dict[str, bytes]:
    """The fields of a sample.

    Raises:
        ValueError: the data are not complete entries of an archive.

    Example:
        >>> from_entries(to_entries("000000007", {"jpg": b"...", "cls": b"3"}))
        {'jpg': b'...', 'cls': b'3'}
    """
    fields: dict[str, bytes] = {}
    for member in members_of(lambda offset, size: data[offset : offset + size], len(data)):
        if not is_field(member):
            continue
        kind = key_and_field(member.name)[1]
        if kind in fields:
            raise ValueError(f"the sample has {member.name} twice")
        fields[kind] = data[member.begin : member.begin + member.size]
    return fields


def key_and_field(name: str) -> tuple[str, str]:
    """Split a name at the first dot after its folder.

    Example:
        >>> key_and_field("v1.0/cat.seg.png")
        ('v1.0/cat', 'seg.png')
    """
    folder, slash, file = name.rpartition("/")
    stem, _, kind = file.partition(".")
    return folder + slash + stem, kind


def is_field(member: Member) -> bool:
    """Whether a member is a field of a sample: a file with a kind, and not hidden as macOS's `._1.jpg` is."""
    kind = key_and_field(member.name)[1]
    return member.is_file and bool(kind) and not is_hidden(member.name.rpartition("/")[2])


def make_index(archive: Path, first_id: int) -> Index:
    """The index of any tool's archive; its samples are numbered from `first_id`.

    Raises:
        OSError: the archive cannot be read.
        ValueError: the file is not an archive, is truncated, or is compressed.
    """
    rows: list[tuple[int, int, int, int]] = []
    with open(archive, "rb", buffering=0) as file:

        def read(offset: int, size: int) -> bytes:
            return os.pread(file.fileno(), size, offset)

        length = os.fstat(file.fileno()).st_size
        try:
            for begin, end in _sample_ranges(read, length):
                rows.append((first_id + len(rows), begin, end - begin, _crc_of(read, begin, end)))
        except ValueError as error:
            raise ValueError(
                f"Shards: {printable(archive)} is not a complete, uncompressed archive: {error}"
            ) from error
    return Index(to_rows(rows))


def _crc_of(read: Callable[[int, int], bytes], begin: int, end: int) -> int:
    crc = 0
    for offset in range(begin, end, _PIECE):
        crc = zlib.crc32(read(offset, min(_PIECE, end - offset)), crc)
    return crc


def _sample_ranges(read: Callable[[int, int], bytes], length: int) -> Iterator[tuple[int, int]]:
    begin, end, key, last = 0, 0, "", 0
    for member in members_of(read, length):
        last = member.end
        if not is_field(member):
            continue
        member_key = key_and_field(member.name)[0]
        if member_key != key:
            if key:
                yield begin, end
            begin, key = member.offset, member_key
        end = member.end
    if read(last, 2 * BLOCK) != bytes(2 * BLOCK):
        raise ValueError(f"it is truncated at byte {last}")
    if key:
        yield begin, end
