"""Readers of LMDB databases and TFRecord files."""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from orbbec.data.files import ImageFiles, NumberedPaths
from orbbec.data.readers.checksum import crc32c
from orbbec.data.readers.examples import features_of
from orbbec.data.readers.handles import check_size, open_file
from orbbec.data.readers.protobuf import example_sample, example_size
from orbbec.data.sample import BadSample, Sample, faults_named, printable, read_range
from orbbec.transforms.base.optional import optional

_LENGTH = struct.Struct("<QI")  # length of a record, and the checksum of the length
_CHECKSUM = struct.Struct("<I")
_BY_TFRECORD = -2  # see ImageFiles
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS  # zlib's code for either
_BEGINNING = 4096  # bytes: enough to unpack a length from


def image_of_value(key: bytes, value: bytes) -> tuple[Any, dict[str, Any]]:
    """Parse a value that is an encoded image."""
    return value, {}


class Lmdb:
    """The values of an LMDB database, in the order of their keys; needs the package `lmdb`.

    Each process opens the database once. The sample id of a value is its index.

    Args:
        path: the folder or the file of the database.
        parse: converts a key and a value to image and targets. By default the value is an encoded image;
            `orbbec.data.readers.protobuf.datum_sample` reads Caffe's format.

    Raises:
        ImportError: the package is missing.
        OSError: there is no database.
        ValueError: the database is truncated, or holds named databases in place of values.

    Example:
        >>> import lmdb
        >>> from tempfile import mkdtemp
        >>> path = mkdtemp()
        >>> with lmdb.open(path) as database, database.begin(write=True) as transaction:
        ...     _ = transaction.put(b"0007", b"the bytes of a JPEG")
        >>> images = Lmdb(path)
        >>> len(images), images[0]
        (1, Sample(data=b'the bytes of a JPEG', targets={}, sample_id=0))
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        parse: Callable[[bytes, bytes], tuple[Any, dict[str, Any]]] = image_of_value,
    ) -> None:
        self.path, self.parse = Path(path), parse
        self._file = self.path / "data.mdb" if self.path.is_dir() else self.path
        self._database = open_file(_open_lmdb, self._file)
        if not self._file.exists():
            raise FileNotFoundError(
                f"Lmdb: expected a database at {printable(self._file)}, but there is none"
            )
        database = self._database()
        self._bytes = (database.info()["last_pgno"] + 1) * database.stat()["psize"]
        check_size(self._file, self._bytes)
        with database.begin() as transaction, transaction.cursor() as cursor:
            self.keys = list(cursor.iternext(values=False))
        if self.keys and _is_database(database, self.keys[0]):
            names = printable(b", ".join(self.keys[:9]).decode(errors="backslashreplace"))
            raise ValueError(
                f"Lmdb: expected values in {printable(self._file)}, but got databases named {names}"
            )

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, index: int) -> Sample:
        index = range(len(self))[index]
        key = self.keys[index]
        path = f"{self.path}/{key.decode(errors='backslashreplace')}"
        with faults_named(index, path, ValueError, KeyError, _lmdb().Error):
            check_size(self._file, self._bytes)
            with self._database().begin() as transaction:
                value = transaction.get(key)
            if value is None:
                raise ValueError("the key is missing")
            return Sample(*self.parse(key, value), index)

    def close(self) -> None:
        """Close the database in this process."""
        self._database.close()


def _lmdb() -> Any:
    return optional("Lmdb", "lmdb", extra="data")


def _open_lmdb(path: Path) -> Any:
    lmdb = _lmdb()
    try:
        return lmdb.open(
            str(path), subdir=False, readonly=True, lock=False, readahead=False, max_spare_txns=64, max_dbs=1
        )
    except lmdb.Error as error:
        raise OSError(f"Lmdb: {printable(path)} cannot be opened: {error}") from error


def _is_database(database: Any, key: bytes) -> bool:
    """Whether the value of a key is another database, of which LMDB returns the header."""
    try:
        database.open_db(key, create=False)
    except _lmdb().Error:
        return False
    return True


class TfRecords:
    """The records of TFRecord files, each a `tf.train.Example`, without TensorFlow.

    The files are scanned once for the offsets of records. Both checksums of a record are verified. If a file
    is truncated or the length of a record is damaged, its last sample is a bad sample. The sample id of a
    record is its index over all files.

    Args:
        files: uncompressed files.
        parse: converts features to image and targets; by default with the names of TensorFlow's image data
            sets, of which "image/height" and "image/width" are `Sample.size`.

    Raises:
        OSError: a file cannot be read.
        ValueError: a file is compressed.
    """

    def __init__(
        self,
        files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        parse: Callable[[Mapping[str, Any]], tuple[Any, dict[str, Any]]] = example_sample,
    ) -> None:
        self.paths = [Path(file) for file in ([files] if isinstance(files, (str, os.PathLike)) else files)]
        self.parse = parse
        rows = [(number, *row) for number, path in enumerate(self.paths) for row in self._rows(path)]
        self._table = np.array(rows, np.int64).reshape(-1, 3)
        numbers, offsets, lengths = self._table.T
        sizes = lengths + _CHECKSUM.size  # where the length is damaged, too few for a checksum
        spans = np.stack([offsets + _LENGTH.size, sizes, np.full_like(sizes, _BY_TFRECORD)], 1)
        self._files = ImageFiles(NumberedPaths(self.paths, numbers), spans=spans, are_records=True)

    def _rows(self, path: Path) -> list[tuple[int, int]]:
        """Offset and length of each record; length -1 if the rest of the file is lost."""
        rows, offset, size = [], 0, path.stat().st_size
        with open(path, "rb") as file:
            while offset < size:
                file.seek(offset)
                length = min(_length(file.read(_LENGTH.size)), size)  # a longer record is truncated
                rows.append((offset, length))
                if length < 0:
                    break
                offset += _LENGTH.size + length + _CHECKSUM.size
            if rows == [(0, -1)]:
                file.seek(0)
                self._refuse_compressed(path, file.read(_BEGINNING))
        return rows

    def _refuse_compressed(self, path: Path, beginning: bytes) -> None:
        """Check that a file that does not begin with a record is not a compressed one."""
        try:
            record = zlib.decompressobj(_GZIP_OR_ZLIB).decompress(beginning, _LENGTH.size)
        except zlib.error:
            return
        if _length(record) >= 0:
            name = printable(path)
            raise ValueError(f"TfRecords: {name} is compressed with gzip or zlib: decompress it first")

    def __len__(self) -> int:
        return len(self._table)

    def __getitem__(self, index: int) -> Sample:
        index = range(len(self))[index]
        number, offset, length = self._table[index].tolist()
        path = f"{self.paths[number]}:{offset}"
        if length < 0:
            raise BadSample(index, path, "the length of the record is damaged; the rest of the file is lost")
        with faults_named(index, path, ValueError, KeyError):
            data = read_range(
                self.paths[number], offset + _LENGTH.size, length + _CHECKSUM.size, "the record"
            )
            if _CHECKSUM.unpack_from(data, length)[0] != masked_crc32c(data[:length]):
                raise ValueError("the record does not match its checksum")
            return self.record_sample(index, data)

    def record_sample(self, index: int, record: bytes) -> Sample:
        """The sample of a record with its checksum."""
        features = features_of(record, -_CHECKSUM.size)
        size = example_size(features) if self.parse is example_sample else None
        return Sample(*self.parse(features), index, size=size)

    def table(self) -> ImageFiles:
        """The records, for a `Loader`."""
        return self._files


def _length(header: bytes) -> int:
    """The length of the record that follows; -1 if the header is damaged."""
    if len(header) < _LENGTH.size:
        return -1
    length, crc = _LENGTH.unpack(header)
    return int(length) if crc == masked_crc32c(header[:8]) else -1


def masked_crc32c(data: bytes) -> int:
    """The checksum of TFRecord: CRC-32C, rotated, plus a constant."""
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
