"""Parquet files with a column of encoded images."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from orbbec.data.locks import Locked
from orbbec.data.readers.rows import Columns, encoded_image
from orbbec.data.sample import Sample, faults_named, printable
from orbbec.transforms.base.checks import whole
from orbbec.transforms.base.optional import optional

_Group = tuple[int, int]  # number of the file, and of the row group in it


class Parquet:
    """Parquet files with a column of encoded images; needs the package `pyarrow`.

    The image is bytes, or `struct{bytes, path}` as Hugging Face writes it. Lists of numbers are arrays. The
    names of a `ClassLabel` of Hugging Face are `classes`. The sample id of a row is its index over all files.

    A row is read together with its row group, of which the last few are kept: shuffled access reads a row
    group for each sample. To train on shuffled rows, `pack` them first, or open the files as a data set of
    Hugging Face.

    Args:
        files: a file, or files in order.
        image: the column of the images.
        targets: columns by target name, with a dot before a field of a struct: `{"boxes": "objects.bbox"}`;
            None: every other column under its own name.
        row_groups: number of row groups that stay in memory.

    Raises:
        ImportError: the package is missing.
        OSError: a file cannot be read.
        ValueError: a file is no Parquet file or has no such column; the message names the file.

    Example:
        >>> import pyarrow, pyarrow.parquet
        >>> from tempfile import mkdtemp
        >>> file = Path(mkdtemp(), "train.parquet")
        >>> images = [{"bytes": b"the bytes of a JPEG", "path": "1.jpg"}]
        >>> pyarrow.parquet.write_table(pyarrow.table({"image": images, "label": [7]}), file)
        >>> Parquet(file)[0]
        Sample(data=b'the bytes of a JPEG', targets={'label': 7}, sample_id=0)
    """

    def __init__(
        self,
        files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        image: str = "image",
        *,
        targets: Mapping[str, str] | None = None,
        row_groups: int = 2,
    ) -> None:
        self.files = [Path(file) for file in ([files] if isinstance(files, (str, os.PathLike)) else files)]
        if not self.files:
            raise ValueError("Parquet: expected at least one file, but got none")
        self.classes: list[str] = []
        self._numbers: list[_Group] = []
        rows, known = [], list[str]()
        for number, path in enumerate(self.files):
            with _opened(path) as file:
                groups = file.metadata.num_row_groups
                rows += [file.metadata.row_group(group).num_rows for group in range(groups)]
                self._numbers += [(number, group) for group in range(groups)]
                known = self._columns_of(path, file.schema_arrow, known)
                schema = file.schema_arrow
        self._columns = Columns("Parquet", schema, image, targets)
        self._ends = np.cumsum(rows)
        self._groups = _Groups(whole("Parquet", "row_groups", row_groups, 1))

    def _columns_of(self, path: Path, schema: Any, known: list[str]) -> list[str]:
        if known and known != schema.names:
            raise ValueError(
                f"Parquet: expected the columns {', '.join(known)} in every file, but {printable(path)} has "
                f"{', '.join(schema.names)}"
            )
        self.classes = _class_names(schema.metadata or {})
        return list(schema.names)

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def __getitem__(self, index: int) -> Sample:
        index = range(len(self))[index]
        at = int(np.searchsorted(self._ends, index, side="right"))
        number, group = self._numbers[at]
        path, first = self.files[number], int(self._ends[at - 1]) if at else 0
        with faults_named(index, f"{path}:{index}", ValueError, KeyError, NotImplementedError):
            table = self._groups.read(path, group, tuple(self._columns.names))
            if table.num_rows != self._ends[at] - first:
                raise ValueError("the file has changed")
            [row] = table.slice(index - first, 1).to_pylist()
            data, name = encoded_image(row[self._columns.image])
            return Sample(data, self._columns.targets_of(row), index, f"{path}/{name}" if name else "")


class _Groups(Locked):
    """The row groups that were read last, by file and number."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self._count, self._read = count, lru_cache(count)(_row_group)

    def read(self, path: Path, group: int, columns: tuple[str, ...]) -> Any:
        """A row group; one thread reads at a time."""
        with self.lock:
            return self._read(path, group, columns)

    def __reduce__(self) -> tuple[Any, ...]:
        return _Groups, (self._count,)


def _row_group(path: Path, group: int, columns: tuple[str, ...]) -> Any:
    with _opened(path) as file:
        return file.read_row_group(group, columns=list(columns), use_threads=False)


def _opened(path: Path) -> Any:
    parquet = optional("Parquet", "pyarrow.parquet", "pyarrow", extra="data")
    try:
        return parquet.ParquetFile(path)
    except ValueError as error:
        raise ValueError(f"Parquet: {printable(path)} is not a Parquet file: {error}") from error


def _class_names(metadata: Mapping[bytes, bytes]) -> list[str]:
    """The names of the only `ClassLabel` of a data set of Hugging Face; empty if there is none."""
    with suppress(ValueError, KeyError, TypeError, AttributeError):  # metadata of another program
        features = json.loads(metadata[b"huggingface"])["info"]["features"].values()
        names = [feature["names"] for feature in features if feature.get("_type") == "ClassLabel"]
        if len(names) == 1:
            return list(names[0])
    return []
