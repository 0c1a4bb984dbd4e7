"""Sources whose images are files, which a Loader reads itself, without Python."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from orbbec.bridge.arguments import Array
from orbbec.data.sample import Sample


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

    Example:
        >>> ImageFiles(["1.jpg", "2.jpg"], root="photos").sample_ids is None
        True
    """

    paths: Sequence[str | os.PathLike[str]]
    root: str = ""
    sample_ids: Sequence[int] | Array | None = None
    sizes: Sequence[tuple[int, int]] | None = None
    spans: Array | None = None
    are_records: bool = False


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


class FileSource(Protocol):
    """A source that lets a `Loader` read its files: `source[index]` has these bytes, targets, id and size."""

    def __len__(self) -> int: ...

    def table(self) -> ImageFiles | None:
        """The files; None if there is no table of them."""
        ...

    def targets(self, index: int, /) -> dict[str, Any]:
        """The targets of an image."""
        ...


class RecordSource(Protocol):
    """A source that lets a `Loader` read the records of its samples: images together with targets."""

    def __len__(self) -> int: ...

    def table(self) -> ImageFiles | None:
        """Where the records are; None if there is no table of them."""
        ...

    def record_sample(self, index: int, record: bytes, /) -> Sample:
        """The sample that `source[index]` is, from its record."""
        ...


def files_of(source: Any) -> ImageFiles | None:
    """The files of a source; None if it has no `table`, or is of a class that changes `source[index]`.

    Example:
        >>> files_of([1, 2]) is None
        True
    """
    kind: Any = type(source)
    owner = next((base for base in kind.__mro__ if "table" in vars(base)), None)
    if owner is None or kind.__getitem__ is not owner.__getitem__:
        return None
    files: ImageFiles | None = source.table()
    return files
