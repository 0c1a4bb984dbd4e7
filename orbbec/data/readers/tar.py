"""The entries of tar shards: a sample is a run of files with one key, `41.jpg`, `41.cls`."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

from orbbec.data.readers.members import BLOCK, Member, members_of
from orbbec.data.readers.paths import is_hidden

_RECORD = 10240  # bytes: an archive is padded to a multiple


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
    """The fields of a sample; ValueError if the data are not complete entries of an archive.

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
