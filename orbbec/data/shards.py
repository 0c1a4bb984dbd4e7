"""Tar shards as WebDataset has them: any sample through an index, or all of them as a stream."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing
from copy import copy
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from torch.utils.data import get_worker_info

from orbbec.data.fields import unpack_fields
from orbbec.data.manifest import read_manifest
from orbbec.data.members import Member, members_of
from orbbec.data.needed import needed
from orbbec.data.order import Order
from orbbec.data.sample import BadSample, Sample, faults_named, read_range, reason_of
from orbbec.data.tar import (
    from_entries,
    index_path,
    key_and_field,
    make_index,
    read_index,
    to_rows,
    write_index,
)

_PLACE_BITS = 32  # of a sample id: the place in a shard; above them the number of the shard
_END = 1024  # bytes: the zeros at the end of an archive, at least
_PIECE = 1 << 20  # bytes: what is read of a stream at once
_MOST_BYTES = 1 << 31  # of a file in a stream, whose length nothing tells: compressed, it may unpack for ever
_FAULTS = (OSError, EOFError, ValueError, zlib.error)


class Shards:
    """The samples of a folder of tar archives, any of them at once: what exact shuffling needs.

    Each archive has an index beside it, which `python -m orbbec pack` writes, or `python -m orbbec index` for
    archives by other hands. Every read compares the checksum. No file stays open between two reads.

    Args:
        folder: of the archives.

    Raises:
        OSError: the folder or an index cannot be read.
        ValueError: there is no archive, one has no index, or packing has not ended; says what to do.

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
                f"Shards: {missing[0]} has no index: `python -m orbbec index {folder}` writes it"
            )
        rows = [read_index(path).samples for path in self.paths]
        counts = [len(part) for part in rows]
        self._shard = np.repeat(np.arange(len(rows)), counts)
        self._rows = np.concatenate([to_rows([]), *rows])

    @property
    def sample_ids(self) -> list[int]:
        """The ids of all samples, in order."""
        ids: list[int] = self._rows[:, 0].tolist()
        return ids

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> Sample:
        sample_id, offset, size, crc = self._rows[index].tolist()
        path = self.paths[self._shard[index]]
        with faults_named(sample_id, path, ValueError):
            data = read_range(path, offset, size, "the sample")
            if zlib.crc32(data) != crc:
                raise ValueError(f"the {size} bytes from {offset} on do not have the checksum of the index")
            return unpack_fields(from_entries(data), sample_id)


def archives_of(folder: str | os.PathLike[str]) -> list[Path]:
    """The tar archives of a folder, by name.

    Raises:
        ValueError: there is none.
    """
    found = sorted(Path(folder).glob("*.tar"))
    if not found:
        raise ValueError(f"Shards: expected .tar files in {folder}, but there is none")
    return found


def index_archives(folder: str | os.PathLike[str]) -> int:
    """Write the index of each archive of a folder, whatever wrote the archives.

    Sample ids are `number of the archive << 32 | place in it`, archives counted by name, as in `ShardStream`.

    Returns:
        How many samples there are.

    Raises:
        OSError: a file cannot be read or written.
        ValueError: there is no archive, one is cut off or compressed, or `pack` wrote them, with an index.
    """
    if read_manifest(Path(folder)) is not None:
        raise ValueError(f"index: the archives of {folder} have the index that `pack` wrote")
    count = 0
    for number, path in enumerate(archives_of(folder)):
        index = make_index(path, number << _PLACE_BITS)
        write_index(path, index)
        count += len(index.samples)
    return count


class ShardStream:
    """The samples of tar archives one after another, from wherever `webdataset` opens them.

    Whole archives are dealt to ranks and workers (those of a DataLoader see to it themselves), so there
    should be as many archives as workers at least. Shuffle within them by `ShuffleBuffer`. Checksums are not
    compared.

    What cannot be read comes as a `BadSample` in its place, and the stream goes on: with the next sample, or
    with the next archive where one is cut off.

    Args:
        urls: paths, or what webdataset opens: "http://...", "pipe:...", "data-{000..127}.tar".
        shuffle: the order of the archives, anew in every epoch.
        seed: from 0 to 2^63 - 1.
        rank: of this process.
        world_size: how many processes share an epoch.
        ids_from_keys: keys are whole numbers, as `python -m orbbec pack` writes them, and become the sample
            ids. False: sample ids are `number of the archive << 32 | place in it`.

    Raises:
        ValueError: an argument does not fit.

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
        webdataset = needed("webdataset")
        listed = [urls] if isinstance(urls, (str, os.PathLike)) else urls
        self.urls = [url for entry in listed for url in webdataset.shardlists.expand_urls(os.fspath(entry))]
        self.order = Order(len(self.urls), seed, shuffle, rank, world_size)
        self.epoch, self.ids_from_keys = 0, ids_from_keys

    def set_epoch(self, epoch: int) -> None:
        """Begin an epoch."""
        self.epoch = epoch

    def part(self, worker: int, workers: int) -> ShardStream:
        """The stream of one worker of this rank; together they read what the rank reads."""
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
        for sample_id in count(number << _PLACE_BITS):
            try:
                group = next(groups, None)
            except _FAULTS as error:
                reason = f"{reason_of(error)}; what follows in the archive is lost"
                yield BadSample(sample_id, url, reason)
                return
            if group is None:
                return
            yield self._sample(*group, sample_id, url)

    def _sample(self, key: str, fields: dict[str, bytes], place_id: int, url: str) -> Sample | BadSample:
        try:
            sample_id = int(key.rpartition("/")[2]) if self.ids_from_keys else place_id
            return unpack_fields(fields, sample_id)
        except ValueError as error:
            return BadSample(place_id, f"{url}/{key}", str(error))


def _groups_of(url: str) -> Iterator[tuple[str, dict[str, bytes]]]:
    """The samples of an archive: runs of files of one key, each with its fields.

    The last one waits until the archive is known to end there: it could be cut off between two of its fields.
    """
    with closing(needed("webdataset").gopen(url)) as source:
        stream = _Stream(gzip.GzipFile(fileobj=source) if url.endswith((".gz", ".tgz")) else source)
        key, fields = "", dict[str, bytes]()
        for member in members_of(stream.read, None):
            own, kind = key_and_field(member.name)
            if not member.is_file or not kind or not own.rpartition("/")[2]:
                continue
            if own != key and fields:
                yield key, fields
                fields = {}
            if kind in fields:
                raise ValueError(f"the archive has {member.name} twice")
            key, fields[kind] = own, stream.read_file(member)
        stream.check_end()
        if fields:
            yield key, fields


class _Stream:
    """A stream that is read in order, and knows how it ended: an archive ends with zeros."""

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
            raise ValueError("the archive is cut off")
        return data

    def check_end(self) -> None:
        while self._read(_PIECE):
            pass
        if self._last != bytes(_END):
            raise ValueError("the archive is cut off")

    def _read(self, size: int) -> bytes:
        """So many bytes at most; a little at a time, as memory is taken for all that is asked for."""
        data: bytes = self._stream.read(min(size, _PIECE))
        self._offset += len(data)
        self._last = (self._last + data[-_END:])[-_END:]
        return data
