"""Index files of tar shards: where the image of each sample is, its checksum and its label.

A row has the image and, if the sample has targets other than a label, all its entries::

    train-000.tar              train-000.index.json
    | 000000041.jpg  |         {"version": 2, "checksum": 3140232843,
    | 000000041.cls  |          "samples": [[41, 512, 11706, 2768625435, 3, 0, 0, 0],
    | 000000042.jpg  |
    | 000000042.json |                      [42, 13824, 8210, 907060870, -2^63, 13312, 9728, 189224075],
      ...                                   ...],
                                "skipped": [[43, "cats/43.jpg", "the file is empty"]]}

Version 1, which is still read, has the id, offset, size and checksum of all entries of each sample.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from orbbec.bridge.arguments import Array
from orbbec.data.readers.checksum import crc32
from orbbec.data.readers.fields import ARRAY, LABEL, image_of, read_label, with_lower_kinds
from orbbec.data.readers.members import BLOCK, Member, members_of
from orbbec.data.readers.tar import is_field, key_and_field, write_whole
from orbbec.data.sample import printable

NO_LABEL = -(2**63)
_VERSION = 2
_PIECE = 1 << 20  # bytes read at once
_LONGEST_LABEL = 32  # bytes: more than any integer of 64 bits

Read = Callable[[int, int], bytes]  # up to a number of bytes from an offset


class Row(NamedTuple):
    """A sample in an archive.

    Args:
        sample_id: id of the sample.
        image_offset: offset of the image; 0 with `image_size` 0 if only `offset` and `size` are known.
        image_size: bytes of the image.
        image_crc: CRC-32 of the image.
        label: the label; `NO_LABEL` if there is none or it is among other targets.
        offset: offset of the entries of the sample, headers and padding included.
        size: bytes of the entries; 0: the sample has no targets other than the label.
        crc: CRC-32 of the entries.
    """

    sample_id: int
    image_offset: int = 0
    image_size: int = 0
    image_crc: int = 0
    label: int = NO_LABEL
    offset: int = 0
    size: int = 0
    crc: int = 0


_LABEL = Row._fields.index("label")


@dataclass
class Index:
    """The content of an index file.

    Args:
        samples: int64 `[N, 8]`: a `Row` for each sample, in the order of the archive.
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
    return np.array(rows, np.int64).reshape(-1, len(Row._fields))


def index_path(archive: Path) -> Path:
    """The index file of an archive: `a.index.json` for `a.tar`."""
    return archive.with_suffix(".index.json")


def read_index(archive: Path) -> Index:
    """The index of an archive; OSError if it is missing, ValueError if it is malformed or damaged."""
    path = index_path(archive)
    try:
        table = json.loads(path.read_bytes())
        rows = _rows_of(table)
        skipped = [(number, file, reason) for number, file, reason in table["skipped"]]
        if any(tuple(map(type, entry)) != (int, str, str) for entry in skipped):
            raise ValueError("expected a whole number and two texts for each skipped sample")
        return Index(rows, skipped)
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise ValueError(f"Shards: {printable(path)} is not an index: {error!r}") from error


def _rows_of(table: dict[str, Any]) -> Array:
    version = table.get("version", 1) if isinstance(table, dict) else 1
    if version not in (1, _VERSION):
        raise ValueError(f"expected version 1 or {_VERSION}, but got {version}")
    columns = 4 if version == 1 else len(Row._fields)
    rows = np.array(table["samples"] or np.zeros((0, columns), np.int64))
    if rows.dtype != np.int64 or rows.ndim != 2 or rows.shape[1] != columns:
        raise ValueError(f"expected rows of {columns} whole numbers")
    if version == 1:
        converted = to_rows([Row(0)] * len(rows))
        converted[:, [0, -3, -2, -1]] = rows
        rows = converted
    elif _checksum(rows) != table["checksum"]:
        raise ValueError("the samples do not match the checksum of the index")
    if (np.delete(rows, _LABEL, 1) < 0).any():
        raise ValueError("expected ids, offsets, sizes and checksums from 0")
    return rows


def _checksum(rows: Array) -> int:
    return crc32(rows.astype("<i8").tobytes())


def write_index(archive: Path, index: Index) -> None:
    """Write the index of an archive atomically."""
    table = {
        "version": _VERSION,
        "checksum": _checksum(index.samples),
        "samples": index.samples.tolist(),
        "skipped": index.skipped,
    }
    write_whole(index_path(archive), json.dumps(table).encode())


def make_index(archive: Path, first_id: int) -> Index:
    """The index of any tool's uncompressed archive; its samples are numbered from `first_id`."""
    with open(archive, "rb", buffering=0) as file:

        def read(offset: int, size: int) -> bytes:
            return os.pread(file.fileno(), size, offset)

        try:
            runs = _fields_of_samples(read, os.fstat(file.fileno()).st_size)
            return Index(to_rows([to_row(number, run, read) for number, run in enumerate(runs, first_id)]))
        except ValueError as error:
            raise ValueError(
                f"Shards: {printable(archive)} is not a complete, uncompressed archive: {error}"
            ) from error


def to_row(sample_id: int, members: Sequence[Member], read: Read) -> Row:
    """The row of a sample of these fields, which are in the order of the archive."""
    row = Row(sample_id)
    image, label = _image_and_label(members, read)
    if image is not None:
        crc = _crc_of(read, image.begin, image.size)
        row = row._replace(image_offset=image.begin, image_size=image.size, image_crc=crc)
        if label is not None:
            return row._replace(label=label)
    offset, size = members[0].offset, members[-1].end - members[0].offset
    return row._replace(offset=offset, size=size, crc=_crc_of(read, offset, size))


def _image_and_label(members: Sequence[Member], read: Read) -> tuple[Member | None, int | None]:
    """The image, None if it is no file, and the label, or `NO_LABEL`; None if there are other targets."""
    fields = {key_and_field(member.name)[1]: member for member in members}
    try:
        lowered = with_lower_kinds(fields)
        kind = image_of(lowered)
        image = lowered.pop(kind)
        label = _only_label(lowered, read)
    except ValueError:  # raised again when the sample is read
        return None, None
    if kind == ARRAY or len(fields) < len(members):  # a field that comes twice is an error too
        return None, None
    return image, label


def _only_label(fields: Mapping[str, Member], read: Read) -> int | None:
    """The label among the fields but the image, or `NO_LABEL`; None if there are other targets."""
    if not fields:
        return NO_LABEL
    if fields.keys() != {LABEL} or fields[LABEL].size > _LONGEST_LABEL:
        return None
    label = read_label(read(fields[LABEL].begin, fields[LABEL].size))
    return None if label == NO_LABEL else label


def _crc_of(read: Read, begin: int, size: int) -> int:
    crc = 0
    for offset in range(begin, begin + size, _PIECE):
        crc = crc32(read(offset, min(_PIECE, begin + size - offset)), crc)
    return crc


def _fields_of_samples(read: Read, length: int) -> list[list[Member]]:
    """The fields of each sample of an archive."""
    members = list(members_of(read, length))
    last = members[-1].end if members else 0
    if read(last, 2 * BLOCK) != bytes(2 * BLOCK):
        raise ValueError(f"it is truncated at byte {last}")
    runs = groupby(filter(is_field, members), lambda member: key_and_field(member.name)[0])
    return [list(run) for _, run in runs]
