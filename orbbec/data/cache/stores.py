"""Bounded stores of records by index: in memory, or in a file that several processes share.

A store never evicts: an epoch reads each sample once, in an order that no policy foresees, so that what is
stored first is as good as anything else.

A file::

    | header: format, source, bytes used | a row for each index: offset, sizes, CRC-32 | records ... |

A record is written first, then its row; a process that is killed between the two loses space, not truth. A
row or a record that is torn, or overwritten, does not match its checksum, and counts as missing.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import struct
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Protocol

from orbbec.data.locks import Locked
from orbbec.data.readers.checksum import crc32
from orbbec.data.readers.handles import Descriptor
from orbbec.data.sample import printable, read_open

_FORMAT = b"orbbec cache 3"
_HEADER = struct.Struct("<16s32sq")  # format, digest of the source, offset of the next record
_USED_AT = _HEADER.size - 8
_USED = struct.Struct("<q")
_ROW = struct.Struct("<4q")  # offset, bytes of the description, bytes of the images, CRC-32 of both
_OVERHEAD = 200  # bytes of Python's objects for a record in memory, about


class Record(NamedTuple):
    """A stored sample: a description and the bytes of its images."""

    description: bytes
    images: bytes


class Store(Protocol):
    """Records by index, for several threads."""

    is_full: bool  # whether a record did not fit

    def get(self, index: int) -> Record | None:
        """The record of an index; None if it is missing."""
        ...

    def put(self, index: int, record: Record) -> None:
        """Store a record if it fits."""
        ...


class MemoryStore(Locked):
    """Records in the memory of this process, of at most `nbytes`."""

    def __init__(self, nbytes: int) -> None:
        super().__init__()
        self.is_full = False
        self._left, self._records = nbytes, dict[int, Record]()

    def get(self, index: int) -> Record | None:
        """See `Store`."""
        return self._records.get(index)

    def put(self, index: int, record: Record) -> None:
        """See `Store`."""
        with self.lock:
            self._left += _size_in_memory(self._records.pop(index, None))
            size = _size_in_memory(record)
            if size > self._left:
                self.is_full = True
                return
            self._records[index] = record
            self._left -= size


def _size_in_memory(record: Record | None) -> int:
    return 0 if record is None else len(record.description) + len(record.images) + _OVERHEAD


class FileStore(Locked):
    """Records in a file that processes of one user share.

    Args:
        path: the file; created if it is missing.
        nbytes: most bytes of the file. Other processes may have other limits.
        digest: 32 bytes that tell the source and its decoding apart from others.
        length: number of indices.

    Raises:
        OSError: the file cannot be opened or written.
        ValueError: the file holds something else, or others may write to it.
    """

    def __init__(self, path: Path, nbytes: int, digest: bytes, length: int) -> None:
        super().__init__()
        self.is_full = False
        self._path, self._nbytes = path, nbytes
        self._first = _HEADER.size + _ROW.size * length  # offset of the first record
        self._file = Descriptor(str(path), os.O_RDWR | os.O_CREAT)
        self._begin(digest)

    def _begin(self, digest: bytes) -> None:
        """Write the header of a new file, or check that of an existing one."""
        status = os.fstat(self._file.number)
        if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o022:
            raise ValueError(
                f"Cache: expected {printable(self._path)} as a file that only this user writes to"
            )
        with self._alone():
            header = os.pread(self._file.number, _HEADER.size, 0)
            if not header:
                os.pwrite(self._file.number, _HEADER.pack(_FORMAT, digest, self._first), 0)
            elif header[:_USED_AT] != _HEADER.pack(_FORMAT, digest, 0)[:_USED_AT]:
                raise ValueError(
                    f"Cache: {printable(self._path)} has samples of another source or decoding, or is no "
                    "cache: delete it, or use another path"
                )

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Lock the file; the system releases the lock when the process ends."""
        with self.lock:
            fcntl.lockf(self._file.number, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.lockf(self._file.number, fcntl.LOCK_UN)

    def get(self, index: int) -> Record | None:
        """See `Store`."""
        file = self._file.number
        try:
            row = os.pread(file, _ROW.size, _HEADER.size + _ROW.size * index)
            offset, described, size, crc = _ROW.unpack(row) if len(row) == _ROW.size else (0, 0, 0, 0)
            if offset < self._first or described < 0 or size < 0:
                return None
            description = read_open(file, offset, described, "the description")
            images = read_open(file, offset + described, size, "the images")
        except (OSError, ValueError, OverflowError):
            return None
        record = Record(description, images)
        return record if _checksum(index, record) == crc else None

    def put(self, index: int, record: Record) -> None:
        """See `Store`; a file that cannot grow is full, which a warning says."""
        if self.is_full:
            return
        try:
            self._write(index, record)
        except OSError as error:
            self.is_full = True
            text = f"Cache: {printable(self._path)} cannot grow ({error.strerror}): it takes no more samples"
            warnings.warn(text, stacklevel=2)

    def _write(self, index: int, record: Record) -> None:
        size = len(record.description) + len(record.images)
        offset = self._reserved(size)
        if offset is None:
            self.is_full = True
            return
        if os.pwritev(self._file.number, record, offset) < size:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        row = _ROW.pack(offset, len(record.description), len(record.images), _checksum(index, record))
        os.pwrite(self._file.number, row, _HEADER.size + _ROW.size * index)

    def _reserved(self, size: int) -> int | None:
        """The offset of bytes that no other process uses; None if they do not fit."""
        with self._alone():
            (offset,) = _USED.unpack(os.pread(self._file.number, _USED.size, _USED_AT))
            if not self._first <= offset <= self._nbytes - size:
                return None
            os.pwrite(self._file.number, _USED.pack(offset + size), _USED_AT)
            return int(offset)


def _checksum(index: int, record: Record) -> int:
    return crc32(record.images, crc32(record.description, crc32(index.to_bytes(8, "little"))))
