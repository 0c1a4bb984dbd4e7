"""Sources whose images are files, which a Loader reads itself, without Python.

Such a source has `table() -> ImageFiles | None` and `targets(index) -> dict`. A source of records, which are
images together with targets, has `record_sample(index, record: bytes) -> Sample` in place of the latter.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from orbbec.bridge.arguments import Array
from orbbec.data.sample import Sample, read_bytes


@dataclass(frozen=True, eq=False)
class ImageFiles:
    """The files of the images of a source, by index.

    Args:
        paths: the files.
        root: the folder that `paths` are relative to; may be empty.
        sample_ids: ids of the samples; None: their indices.
        sizes: see `Sample.size`; None: not declared.
        spans: int64 `[N, 3]`: offset, number of bytes and CRC-32 of each image in its file, or -1 without a
            CRC-32, or -2 if the bytes end with the checksum of TFRecord; None: files are images.
        are_records: the spans are no images, but what `record_sample` reads.
        columns: the targets of files if each is a number or a text: the values of all samples by name of the
            target. None: `targets` is called for each sample.

    Example:
        >>> files = ImageFiles(["1.jpg", "2.jpg"], root="photos", columns={"label": [3, 5]})
        >>> files.paths_at([1, 0])
        ['photos/2.jpg', 'photos/1.jpg']
        >>> files.targets_at([1, 0])[0]
        {'label': 5}
    """

    paths: Sequence[str | os.PathLike[str]]
    root: str = ""
    sample_ids: Sequence[int] | Array | None = None
    sizes: Sequence[tuple[int, int]] | None = None
    spans: Array | None = None
    are_records: bool = False
    columns: Mapping[str, Sequence[Any] | Array] | None = None

    def paths_at(self, indices: Sequence[int]) -> list[str]:
        """The paths of some files, with their root."""
        paths: list[str] = list(map(os.fspath, map(self.paths.__getitem__, indices)))  # type: ignore[arg-type]
        return [os.path.join(self.root, path) for path in paths] if self.root else paths

    def ids_at(self, indices: Sequence[int]) -> list[int]:
        """The sample ids of some files."""
        ids = self.sample_ids
        return list(indices) if ids is None else [int(ids[index]) for index in indices]

    def targets_at(self, indices: Sequence[int]) -> ColumnTargets | None:
        """The targets of some files; None without columns, and of records."""
        if self.columns is None or self.are_records:
            return None
        return ColumnTargets(
            {name: _values_at(column, indices) for name, column in self.columns.items()}, len(indices)
        )


class ColumnTargets(Sequence[dict[str, Any]]):
    """The targets of a batch by name, a value per sample, which are dicts only where they are asked for.

    Example:
        >>> list(ColumnTargets({"label": [3, 5]}, 2))
        [{'label': 3}, {'label': 5}]
    """

    def __init__(self, columns: dict[str, list[Any]], count: int) -> None:
        self.columns, self._count = columns, count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, row: Any) -> Any:
        if isinstance(row, slice):
            return [self[at] for at in range(*row.indices(len(self)))]
        return {name: values[row] for name, values in self.columns.items()}


def _values_at(column: Sequence[Any] | Array, indices: Sequence[int]) -> list[Any]:
    if isinstance(column, np.ndarray):
        values: list[Any] = column[indices].tolist()
        return values
    return list(map(column.__getitem__, indices))


class NumberedPaths(Sequence[str]):
    """The path of each sample, one of a few.

    Example:
        >>> NumberedPaths(["a.tar", "b.tar"], np.array([0, 1, 1]))[2]
        'b.tar'
    """

    def __init__(self, paths: Sequence[str | os.PathLike[str]], numbers: Array) -> None:
        self._paths, self._numbers = [os.fspath(path) for path in paths], numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, index: Any) -> Any:
        return self._paths[self._numbers[index]]


def files_of(source: Any) -> ImageFiles | None:
    """The files of a source; None if it has no `table`, or is of a class that changes `source[index]`.

    They have no columns if the source has other `targets` than the class with that `table`.

    Example:
        >>> files_of([1, 2]) is None
        True
    """
    kind: Any = type(source)
    owner = next((base for base in kind.__mro__ if "table" in vars(base)), None)
    if owner is None or kind.__getitem__ is not owner.__getitem__:
        return None
    files: ImageFiles | None = source.table()
    if files is None or files.columns is None:
        return files
    is_owners = getattr(source.targets, "__func__", None) is getattr(owner, "targets", None)
    return files if is_owners else replace(files, columns=None)


class FileSource:
    """Image files whose targets are known, or are in other files.

    Attributes:
        paths: of the images.
        root: the folder that they are relative to, if any.
        sample_ids: None: their indices.
        sizes: see `Sample.size`; None: not declared.
        columns: see `ImageFiles`.
    """

    paths: list[str]
    root: Path | None = None
    sample_ids: list[int] | None = None
    sizes: Sequence[tuple[int, int]] | None = None
    columns: Mapping[str, Sequence[Any]] | None = None

    def __len__(self) -> int:
        return len(self.paths)

    def targets(self, index: int) -> dict[str, Any]:
        """The targets of an image.

        Raises:
            BadSample: they cannot be read.
        """
        return {name: values[index] for name, values in (self.columns or {}).items()}

    def target_files(self, index: int) -> tuple[str, ...]:
        """The files of the targets of an image; see `Sample.files`."""
        return ()

    def table(self) -> ImageFiles:
        """The files, for a `Loader`."""
        root = "" if self.root is None else str(self.root)
        return ImageFiles(self.paths, root, self.sample_ids, self.sizes, columns=self.columns)

    def __getitem__(self, index: int) -> Sample:
        index = range(len(self))[index]
        path = self.paths[index] if self.root is None else str(self.root / self.paths[index])
        sample_id = index if self.sample_ids is None else self.sample_ids[index]
        size = None if self.sizes is None else self.sizes[index]
        data, files = read_bytes(path, sample_id), self.target_files(index)
        return Sample(data, self.targets(index), sample_id, path, size, files)


class AnnotatedFiles:
    """Image files whose targets are read with the bytes of the image.

    Attributes:
        paths: of the images.
    """

    paths: list[str]

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Sample:
        index = range(len(self))[index]
        return self.record_sample(index, read_bytes(self.paths[index], index))

    def table(self) -> ImageFiles:
        """The files, for a `Loader`."""
        return ImageFiles(self.paths, are_records=True)

    @abstractmethod
    def record_sample(self, index: int, record: bytes) -> Sample:
        """The sample of an image from the bytes of its file."""
