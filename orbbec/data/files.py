"""Sources whose images are files, which a Loader reads itself, without Python."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from orbbec.bridge.arguments import Array


@dataclass(frozen=True, eq=False)
class ImageFiles:
    """The files of the images of a source, by index.

    Args:
        paths: the files.
        root: the folder that `paths` are relative to; may be empty.
        sample_ids: ids of the samples; None: their indices.
        sizes: see `Sample.size`; None: not declared.
        spans: int64 `[N, 3]`: offset, number of bytes and CRC-32, or -1, of each image in its file; None:
            files are images.

    Example:
        >>> ImageFiles(["1.jpg", "2.jpg"], root="photos").sample_ids is None
        True
    """

    paths: Sequence[str | os.PathLike[str]]
    root: str = ""
    sample_ids: Sequence[int] | Array | None = None
    sizes: Sequence[tuple[int, int]] | None = None
    spans: Array | None = None


class FileSource(Protocol):
    """A source that lets a `Loader` read its files: `source[index]` has these bytes, targets, id and size."""

    def __len__(self) -> int: ...

    def table(self) -> ImageFiles | None:
        """The files; None if there is no table of them."""
        ...

    def targets(self, index: int, /) -> dict[str, Any]:
        """The targets of an image."""
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
