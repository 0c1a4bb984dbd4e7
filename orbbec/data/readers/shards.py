"""WebDataset tar shards: random access through an index, or a stream."""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing
from copy import copy
from dataclasses import replace
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from torch.utils.data import get_worker_info

from orbbec.bridge.arguments import Array
from orbbec.data.files import ImageFiles, NumberedPaths
from orbbec.data.order import Order
from orbbec.data.readers.checksum import crc32
from orbbec.data.readers.fields import unpack_fields
from orbbec.data.readers.handles import Descriptor
from orbbec.data.readers.literals import to_integer
from orbbec.data.readers.manifest import read_manifest
from orbbec.data.readers.members import Member, members_of
from orbbec.data.readers.paths import visible_files
from orbbec.data.readers.shard_index import (
    NO_LABEL,
    Row,
    index_path,
    make_index,
    read_index,
    to_rows,
    write_index,
)
from orbbec.data.readers.tar import from_entries, is_field, key_and_field
from orbbec.data.sample import BadSample, Sample, faults_named, printable, read_open, reason_of
from orbbec.transforms.base.optional import optional

_LABEL, _SIZE = Row._fields.index("label"), Row._fields.index("size")
_IMAGE = slice(Row._fields.index("image_offset"), Row._fields.index("image_crc") + 1)
_ENTRIES = slice(Row._fields.index("offset"), Row._fields.index("crc") + 1)
_MOST_OPEN = 64  # archives, of usually 1024 files of a process
_INDEX_BITS = 32  # low bits of a sample id: the index in a shard; the shard number is above them
_END = 1024  # bytes: least number of zeros at the end of an archive
_PIECE = 1 << 20  # bytes read from a stream at once
_MOST_BYTES = 1 << 31  # per file in a stream of unknown length: compressed, it may unpack without end
_FAULTS = (OSError, EOFError, ValueError, zlib.error)


class Shards:
    """Random access to the samples of a folder of tar archives, as exact shuffling needs.

    Each archive needs an index file, written by `python -m orbbec pack`, or by `python -m orbbec index` for
    other tools' archives. Every read verifies the checksum. No file stays open between reads.

    Args:
        folder: folder of the archives.

    Raises:
        OSError: the folder or an index cannot be read.
        ValueError: there is no archive, one has no index, or packing is incomplete; the message says what to
            do.

    Example:
        >>> from tempfile import mkdtemp
        >>> from orbbec.data import pack
        >>> folder = mkdtemp()
        >>> _ = pack([Sample(b"one", {"label": 3}, 0), Sample(b"two", {}, 7)], folder)
        >>> shards = Shards(folder)
        >>> len(shards), shards[1]
        (2, Sample(data=b'two', targets={}, sample_id=7))
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        manifest = read_manifest(Path(folder))
        self.paths = manifest.paths(Path(folder)) if manifest else archives_of(folder)
        self.classes = manifest.classes if manifest else []
        missing = [path for path in self.paths if not index_path(path).exists()]
        if missing:
            raise ValueError(
                f"Shards: {printable(missing[0])} has no index; "
                f"write it with `python -m orbbec index {printable(folder)}`"
            )
        rows = [read_index(path).samples for path in self.paths]
        self._rows = np.concatenate([to_rows([]), *rows])
        has_entries = self._rows[:, _SIZE] > 0
        self._spans = self._rows[:, _IMAGE]
        if has_entries.any():
            self._spans = np.where(has_entries[:, None], self._rows[:, _ENTRIES], self._spans)
        archives = np.repeat(np.arange(len(rows)), [len(part) for part in rows])
        self._archives = NumberedPaths(self.paths, archives)
        self._files = ImageFiles(
            self._archives,
            sample_ids=self._rows[:, 0],
            spans=self._spans,
            are_records=bool(has_entries.any()),
            columns=_columns_of(self._rows[:, _LABEL]),
        )
        self._opened = lru_cache(_MOST_OPEN)(Descriptor)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_opened"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _opened=lru_cache(_MOST_OPEN)(Descriptor))

    @property
    def sample_ids(self) -> list[int]:
        """The ids of all samples, in order."""
        ids: list[int] = self._rows[:, 0].tolist()
        return ids

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> Sample:
        path = self._archives[index]
        with faults_named(int(self._rows[index, 0]), path, ValueError):
            return self.record_sample(index, self._read(path, *self._spans[index].tolist()))

    def record_sample(self, index: int, record: bytes) -> Sample:
        """The sample of its entries, or of its image if it has no other target than a label."""
        row = Row(*self._rows[index].tolist())
        path = self._archives[index]
        if row.size:
            return replace(unpack_fields(from_entries(record), row.sample_id), path=path)
        return Sample(record, _label_of(row.label), row.sample_id, path)

    def targets(self, index: int) -> dict[str, Any]:
        """The targets of a sample that has no others than a label."""
        return _label_of(int(self._rows[index, _LABEL]))

    def table(self) -> ImageFiles:
        """The images in the archives, for a `Loader`, or the entries of samples with other targets."""
        return self._files

    def _read(self, path: str, offset: int, size: int, crc: int) -> bytes:
        archive = self._opened(path)
        data = read_open(archive.number, offset, size, "the sample")
        if crc32(data) != crc:
            raise ValueError(f"the {size} bytes from {offset} on do not match the checksum of the index")
        return data


def _columns_of(labels: Array) -> dict[str, Array] | None:
    """The labels of all samples; None if only some have one."""
    has_label = labels != NO_LABEL
    if has_label.all():
        return {"label": labels}
    return None if has_label.any() else {}


def _label_of(label: int) -> dict[str, int]:
    return {} if label == NO_LABEL else {"label": label}


def archives_of(folder: str | os.PathLike[str]) -> list[Path]:
    """The tar archives of a folder, sorted by name.

    Raises:
        ValueError: there are none.
    """
    found = visible_files(Path(folder), "*.tar")
    if not found:
        raise ValueError(f"Shards: expected .tar files in {printable(folder)}, but there is none")
    return found


def index_archives(folder: str | os.PathLike[str]) -> int:
    """Write the index of each archive of a folder, for archives of any tool.

    Sample ids are `archive number << 32 | index in it`, with archives sorted by name, as in `ShardStream`.

    Returns:
        The number of samples.

    Raises:
        OSError: a file cannot be read or written.
        ValueError: there is no archive, one is truncated or compressed, or `pack` wrote them with an index.
    """
    if read_manifest(Path(folder)) is not None:
        raise ValueError(
            f"index: the archives of {printable(folder)} already have the index written by `pack`"
        )
    count = 0
    for number, path in enumerate(archives_of(folder)):
        index = make_index(path, number << _INDEX_BITS)
        write_index(path, index)
        count += len(index.samples)
    return count


class ShardStream:
    """The samples of tar archives as a stream, from any location that `webdataset` opens.

    Whole archives are distributed over ranks and workers (also DataLoader workers), so use at least as many
    archives as workers. Shuffle within archives with `ShuffleBuffer`. Checksums are not verified.

    An unreadable sample comes as a `BadSample`, and the stream continues with the next sample, or with the
    next archive after a truncated one.

    Args:
        urls: paths or webdataset URLs: "http://...", "pipe:...", "data-{000..127}.tar".
        shuffle: shuffle the order of the archives in every epoch.
        seed: from 0 to 2^63 - 1.
        rank: rank of this process.
        world_size: number of processes that share an epoch.
        ids_from_keys: use keys as sample ids; they must be whole numbers, as `python -m orbbec pack` writes
            them. False: sample ids are `archive number << 32 | index in it`.

    Raises:
        ValueError: an argument is invalid.

    Example:
        >>> from tempfile import mkdtemp
        >>> from orbbec.data import pack
        >>> folder = mkdtemp()
        >>> _ = pack([Sample(b"one", {"label": 3}, 0), Sample(b"two", {}, 7)], folder)
        >>> list(ShardStream(f"{folder}/shard-000000.tar", ids_from_keys=True))[1]
        Sample(data=b'two', targets={}, sample_id=7)
    """

    def __init__(
        self,
        urls: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        *,
        shuffle: bool = False,
        seed: int = 0,
        rank: int = 0,
        world_size: int = 1,
        ids_from_keys: bool = False,
    ) -> None:
        webdataset = _webdataset()
        listed = [urls] if isinstance(urls, (str, os.PathLike)) else urls
        self.urls = [url for entry in listed for url in webdataset.shardlists.expand_urls(os.fspath(entry))]
        self.order = Order(len(self.urls), seed, shuffle, rank, world_size)
        self.epoch, self.ids_from_keys = 0, ids_from_keys

    def set_epoch(self, epoch: int) -> None:
        """Begin an epoch."""
        self.epoch = epoch

    def part(self, worker: int, workers: int) -> ShardStream:
        """The stream of one worker of this rank; the workers together read the rank's archives."""
        stream = copy(self)
        stream.order = self.order.part(worker, workers)
        return stream

    def __iter__(self) -> Iterator[Sample | BadSample]:
        info = get_worker_info()
        order = self.order.part(info.id, info.num_workers) if info else self.order
        for number in order.indices(self.epoch).tolist():
            yield from self._archive(number)

    def _archive(self, number: int) -> Iterator[Sample | BadSample]:
        url = self.urls[number]
        groups = _groups_of(url)
        for sample_id in count(number << _INDEX_BITS):
            try:
                group = next(groups, None)
            except _FAULTS as error:
                reason = f"{reason_of(error)}; the rest of the archive is lost"
                yield BadSample(sample_id, url, reason)
                return
            if group is None:
                return
            yield self._sample(*group, sample_id, url)

    def _sample(self, key: str, fields: dict[str, bytes], position_id: int, url: str) -> Sample | BadSample:
        try:
            sample_id = _id_of(key) if self.ids_from_keys else position_id
            return replace(unpack_fields(fields, sample_id), path=f"{url}/{key}")
        except ValueError as error:
            return BadSample(position_id, f"{url}/{key}", str(error))


def _id_of(key: str) -> int:
    """The sample id that a key is, with zeros in front as `pack` writes them."""
    digits = key.rpartition("/")[2]
    if re.fullmatch("[0-9]{1,19}", digits) is None:
        raise ValueError(f"expected digits as a key, but got {digits!r:.80}")
    return to_integer(digits.lstrip("0") or "0")


def _webdataset() -> Any:
    return optional("ShardStream", "webdataset", extra="data")


def _groups_of(url: str) -> Iterator[tuple[str, dict[str, bytes]]]:
    """The samples of an archive: runs of files of one key, each with its fields.

    The last sample is yielded only after the end of the archive was read, since a truncated archive may end
    between two of its fields.
    """
    with closing(_webdataset().gopen(url)) as source:
        stream = _Stream(gzip.GzipFile(fileobj=source) if url.endswith((".gz", ".tgz")) else source)
        key, fields = "", dict[str, bytes]()
        for member in members_of(stream.read, None):
            if not is_field(member):
                continue
            member_key, kind = key_and_field(member.name)
            if member_key != key and fields:
                yield key, fields
                fields = {}
            if kind in fields:
                raise ValueError(f"the archive has {member.name} twice")
            key, fields[kind] = member_key, stream.read_file(member)
        stream.check_end()
        if fields:
            yield key, fields


class _Stream:
    """A sequential stream that checks its end: a complete archive ends with zeros."""

    def __init__(self, stream: Any) -> None:
        self._stream, self._offset, self._last = stream, 0, b""

    def read(self, offset: int, size: int) -> bytes:
        while self._offset < offset and self._read(offset - self._offset):
            pass
        pieces, left = [], size
        while left and (data := self._read(left)):
            pieces.append(data)
            left -= len(data)
        return b"".join(pieces)

    def read_file(self, member: Member) -> bytes:
        if member.size > _MOST_BYTES:
            raise ValueError(
                f"expected files of at most {_MOST_BYTES} bytes, but {member.name} has {member.size}"
            )
        data = self.read(member.begin, member.size)
        if len(data) < member.size:
            raise ValueError("the archive is truncated")
        return data

    def check_end(self) -> None:
        while self._read(_PIECE):
            pass
        if self._last != bytes(_END):
            raise ValueError("the archive is truncated")

    def _read(self, size: int) -> bytes:
        """At most `size` bytes, read in pieces, since a read allocates all that it requests."""
        data: bytes = self._stream.read(min(size, _PIECE))
        self._offset += len(data)
        self._last = (self._last + data[-_END:])[-_END:]
        return data
