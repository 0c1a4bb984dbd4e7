"""RecordIO files of MXNet: `train.rec` with `train.idx`."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from orbbec.bridge.arguments import Array
from orbbec.data.files import ImageFiles, NumberedPaths
from orbbec.data.readers.literals import to_integer
from orbbec.data.sample import BadSample, Sample, faults_named, printable, read_range

# https://mxnet.apache.org/versions/1.9.1/api/architecture/note_data_loading
_MAGIC = 0xCED7230A
_PREFIX = struct.Struct("<II")  # the magic number; kind of the part in 3 bits, number of bytes in 29
_LENGTH_BITS = 29
_WHOLE, _FIRST, _LAST = 0, 1, 3  # kinds of parts; a record that contains the magic number is split there
_HEADER = struct.Struct("<IfQQ")  # number of labels, or 0; the label; two ids
_ALIGNMENT = 4  # bytes
_NO_CHECKSUM = -1  # see ImageFiles


class Record(NamedTuple):
    """A record of `im2rec`.

    Args:
        image: the encoded image; may be empty.
        label: a number, or float32 `[L]`.
        id: the id in the file.
    """

    image: bytes
    label: float | Array
    id: int


def image_of_record(record: Record) -> tuple[Any, dict[str, Any]]:
    """Image and `label` of a record: an integer if it is one, else a float or float32 `[L]`."""
    label = record.label
    if isinstance(label, float) and label.is_integer():
        label = int(label)
    return record.image, {"label": label}


class RecordIo:
    """The records of an MXNet file, as `im2rec` writes them, without MXNet.

    If the first record has no image but two labels, as in InsightFace's files, the records from the key that
    the first label states describe identities, and are left out.

    The sample id of a record is its index. The format has no checksums: only the beginning of a record is
    verified.

    Args:
        file: the file, `train.rec`.
        index: the offsets of the records; None: `train.idx` next to the file, or if there is none, a scan of
            the file.
        parse: converts a `Record` to image and targets; by default its `label`.

    Raises:
        OSError: a file cannot be read.
        ValueError: the index is malformed, or the file does not consist of records; the message names the
            position.

    Example:
        >>> from tempfile import mkdtemp
        >>> file, image = Path(mkdtemp(), "train.rec"), b"a JPEG.."
        >>> record = _HEADER.pack(0, 7.0, 1, 0) + image
        >>> _ = file.write_bytes(_PREFIX.pack(_MAGIC, len(record)) + record)
        >>> RecordIo(file)[0]
        Sample(data=b'a JPEG..', targets={'label': 7}, sample_id=0)
    """

    def __init__(
        self,
        file: str | os.PathLike[str],
        index: str | os.PathLike[str] | None = None,
        *,
        parse: Callable[[Record], tuple[Any, dict[str, Any]]] = image_of_record,
    ) -> None:
        self.path, self.parse = Path(file), parse
        beside = self.path.with_suffix(".idx")
        if index is None and beside.exists():
            index = beside
        size = self.path.stat().st_size
        keys, self._offsets = _scanned(self.path, size) if index is None else _indexed(Path(index), size)
        self._ends = _ends(self._offsets, size)
        chosen = self._chosen(keys)
        self._offsets, self._ends = self._offsets[chosen], self._ends[chosen]
        spans = np.stack([self._offsets, self._ends - self._offsets, np.full(len(chosen), _NO_CHECKSUM)], 1)
        self._files = ImageFiles(
            NumberedPaths([self.path], np.zeros(len(spans), np.int64)), spans=spans, are_records=True
        )

    def _chosen(self, keys: Array) -> Array:
        """The rows of images: all, or those with keys below the number that the first record states."""
        if not len(keys):
            return np.arange(0)
        first = int(keys.argmin())
        try:
            record = _record_of(self._read(first))
        except ValueError:
            return np.arange(len(keys))
        label = record.label
        if record.image or isinstance(label, float) or len(label) != 2:
            return np.arange(len(keys))
        return np.flatnonzero((keys > keys[first]) & (keys < label[0]))

    def _read(self, row: int) -> bytes:
        begin, end = self._offsets[row].tolist(), self._ends[row].tolist()
        return read_range(self.path, begin, end - begin, "the record")

    def __len__(self) -> int:
        return len(self._offsets)

    def __getitem__(self, index: int) -> Sample:
        index = range(len(self))[index]
        with faults_named(index, self._position(index), ValueError):
            record = self._read(index)
        return self.record_sample(index, record)

    def _position(self, index: int) -> str:
        return f"{self.path}:{self._offsets[index]}"

    def record_sample(self, index: int, record: bytes) -> Sample:
        """The sample of the bytes of a record."""
        position = self._position(index)
        with faults_named(index, position, ValueError):
            image, targets = self.parse(_record_of(record))
        if isinstance(image, bytes) and not image:
            raise BadSample(index, position, "the record has no image")
        return Sample(image, targets, index, position)

    def table(self) -> ImageFiles:
        """The records, for a `Loader`."""
        return self._files


def _indexed(index: Path, size: int) -> tuple[Array, Array]:
    """Keys and offsets of an index file, in its order."""
    rows = []
    for line, text in enumerate(index.read_text("utf-8").splitlines(), start=1):
        try:
            key, offset = map(to_integer, text.split())
        except ValueError as error:
            raise ValueError(
                f"RecordIo: expected a key and an offset in line {line} of {printable(index)}, "
                f"but got {text!r:.80}"
            ) from error
        if not 0 <= offset < size:
            raise ValueError(
                f"RecordIo: expected offsets below {size} in {printable(index)}, but line {line} has {offset}"
            )
        rows.append((key, offset))
    table = np.array(rows, np.int64).reshape(-1, 2)
    if len(np.unique(table[:, 1])) < len(table):
        raise ValueError(f"RecordIo: expected distinct offsets in {printable(index)}")
    return table[:, 0], table[:, 1]


def _scanned(path: Path, size: int) -> tuple[Array, Array]:
    """Numbers and offsets of the records of a file."""
    offsets, offset = [], 0
    with open(path, "rb") as file:
        while offset < size:
            file.seek(offset)
            try:
                kind, length = _prefix(file.read(_PREFIX.size))
            except ValueError as error:
                raise ValueError(f"RecordIo: {error} at byte {offset} of {printable(path)}") from error
            if kind in (_WHOLE, _FIRST):
                offsets.append(offset)
            offset += _PREFIX.size + _aligned(length)
    return np.arange(len(offsets)), np.array(offsets, np.int64)


def _ends(offsets: Array, size: int) -> Array:
    """Where each record ends at the latest: where the next one in the file begins."""
    order = np.argsort(offsets)
    ends = np.empty_like(offsets)
    ends[order] = np.append(offsets[order][1:], size)[: len(offsets)]
    return ends


def _aligned(length: int) -> int:
    return -(-length // _ALIGNMENT) * _ALIGNMENT


def _prefix(data: bytes) -> tuple[int, int]:
    """Kind and length of a part."""
    if len(data) < _PREFIX.size:
        raise ValueError("the record is truncated")
    magic, word = _PREFIX.unpack_from(data)
    if magic != _MAGIC:
        raise ValueError("expected the beginning of a record, but got other bytes")
    return word >> _LENGTH_BITS, word & ((1 << _LENGTH_BITS) - 1)


def _record_of(data: bytes) -> Record:
    """The record of its bytes, which may be followed by others."""
    content = _joined(data)
    if len(content) < _HEADER.size:
        raise ValueError(f"expected a header of {_HEADER.size} bytes, but got {len(content)}")
    count, label, number, _ = _HEADER.unpack_from(content)
    begin = _HEADER.size + 4 * count
    if len(content) < begin:
        raise ValueError(f"expected {count} labels, but the record has {len(content)} bytes")
    labels = np.frombuffer(content, "<f4", count, _HEADER.size).copy()
    return Record(content[begin:], labels if count else float(label), number)


def _joined(data: bytes) -> bytes:
    """The content of a record, from its parts."""
    parts, offset = list[bytes](), 0
    while True:
        kind, length = _prefix(data[offset : offset + _PREFIX.size])
        if (kind in (_WHOLE, _FIRST)) != (not parts) or kind > _LAST:
            raise ValueError(f"expected the parts of a record in order, but got one of kind {kind}")
        begin = offset + _PREFIX.size
        if begin + length > len(data):
            raise ValueError(f"the record ends {begin + length - len(data)} bytes after its last byte")
        parts.append(data[begin : begin + length])
        if kind in (_WHOLE, _LAST):
            return struct.pack("<I", _MAGIC).join(parts)
        offset = begin + _aligned(length)
