"""Image files: in one folder per class, or listed in a CSV file."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from orbbec.data.readers.paths import check_path
from orbbec.data.sample import Sample, read_bytes

Value = TypeVar("Value")

EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".pgm", ".pbm", ".bmp", ".tif", ".tiff", ".webp")


class ImageFolder:
    """Images in one folder per class: `root/cat/1.jpg`, `root/dog/tall/2.png`.

    Classes are the sorted folders in `root`. The order of images is that of
    `torchvision.datasets.ImageFolder`, and the sample id of an image is its index in this order.

    Args:
        root: the folder of the classes.
        extensions: file extensions of images, in lower case; other files are ignored.

    Raises:
        OSError: a folder cannot be read.
        ValueError: there is no class, or a class has no image.

    Example:
        >>> from tempfile import mkdtemp
        >>> root = Path(mkdtemp())
        >>> for name in ("cat/1.jpg", "dog/tall/2.png", "dog/notes.txt"):
        ...     (root / name).parent.mkdir(parents=True, exist_ok=True)
        ...     _ = (root / name).write_bytes(b"...")
        >>> folder = ImageFolder(root)
        >>> folder.classes, len(folder)
        (['cat', 'dog'], 2)
        >>> folder[1]
        Sample(data=b'...', targets={'label': 1}, sample_id=1)
    """

    def __init__(self, root: str | os.PathLike[str], extensions: Sequence[str] = EXTENSIONS) -> None:
        with os.scandir(root) as entries:
            self.classes = sorted(entry.name for entry in entries if entry.is_dir())
        if not self.classes:
            raise ValueError(f"ImageFolder: expected a folder for each class in {root}, but there is none")
        self.paths: list[str] = []
        self.labels: list[int] = []
        for label, name in enumerate(self.classes):
            found = _files_below(os.path.join(root, name), tuple(extensions))
            if not found:
                raise ValueError(f"ImageFolder: expected images in {os.path.join(root, name)}, but got none")
            self.paths += found
            self.labels += [label] * len(found)

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Sample:
        index = range(len(self))[index]
        path = self.paths[index]
        return Sample(read_bytes(path, index), {"label": self.labels[index]}, index, path)


def _files_below(folder: str, extensions: tuple[str, ...]) -> list[str]:
    found = [
        (parent, name)
        for parent, _, names in os.walk(folder, onerror=_fail)
        for name in names
        if name.lower().endswith(extensions)
    ]
    return [os.path.join(*entry) for entry in sorted(found)]


def _fail(error: OSError) -> None:
    raise error


class FileList:
    r"""Images listed in a CSV file with one row per image: `path`, and a column for each target.

    A column holds integers, floats or strings, whichever fits all its values first. Strings of the column
    `label` become indices into `classes`, the sorted distinct strings. The sample id of an image is its row,
    from 0.

    Args:
        file: the CSV file, UTF-8.
        root: the folder that paths are relative to; None: the folder of `file`.
        columns: names of the columns; None: the first row has them.
        delimiter: separator of columns.
        trust_paths: accept any path, also absolute paths elsewhere and paths that leave `root` by `..`.
            False: refuse them, since an untrusted list could name any file.

    Raises:
        OSError: the file cannot be read.
        ValueError: there is no column `path`, a row has another length, or a path leaves `root`; the message
            names the row.

    Example:
        >>> from tempfile import mkdtemp
        >>> file = Path(mkdtemp(), "train.csv")
        >>> _ = file.write_text("path,label,weight\na.jpg,dog,0.5\nb.jpg,cat,1\n")
        >>> files = FileList(file)
        >>> files.classes, files.targets(0)
        (['cat', 'dog'], {'label': 1, 'weight': 0.5})
    """

    def __init__(
        self,
        file: str | os.PathLike[str],
        root: str | os.PathLike[str] | None = None,
        *,
        columns: Sequence[str] | None = None,
        delimiter: str = ",",
        trust_paths: bool = False,
    ) -> None:
        self.root = Path(file).parent if root is None else Path(root)
        table = _read_table(Path(file), columns, delimiter)
        self.paths = table.pop("path")
        for row, path in enumerate([] if trust_paths else self.paths):
            check_path("FileList", self.root, path, f"row {row} of {file}")
        self.columns = {name: _typed(values) for name, values in table.items()}
        self.classes: list[str] = []
        labels = self.columns.get("label")
        if labels and isinstance(labels[0], str):
            self.classes = sorted(set(labels))
            indices = {name: index for index, name in enumerate(self.classes)}
            self.columns["label"] = [indices[label] for label in labels]

    def __len__(self) -> int:
        return len(self.paths)

    def targets(self, index: int) -> dict[str, Any]:
        """The targets in the row of an image."""
        return {name: values[index] for name, values in self.columns.items()}

    def __getitem__(self, index: int) -> Sample:
        index = range(len(self))[index]
        path = self.root / self.paths[index]
        return Sample(read_bytes(path, index), self.targets(index), index, str(path))


def _read_table(file: Path, columns: Sequence[str] | None, delimiter: str) -> dict[str, list[str]]:
    with open(file, encoding="utf-8-sig", newline="") as lines:
        try:
            rows = list(_rows(csv.reader(lines, delimiter=delimiter)))
        except (csv.Error, UnicodeDecodeError) as error:
            raise ValueError(f"FileList: {file} is not a CSV file: {error}") from error
    names = list(columns) if columns is not None else rows.pop(0)[1] if rows else []
    if "path" not in names or len(set(names)) != len(names):
        raise ValueError(f"FileList: expected distinct columns with 'path' in {file}, but got {names}")
    for line, row in rows:
        if len(row) != len(names):
            raise ValueError(
                f"FileList: expected {len(names)} columns in line {line} of {file}, but got {len(row)}"
            )
    return {name: [row[column] for _, row in rows] for column, name in enumerate(names)}


def _rows(reader: Any) -> Iterator[tuple[int, list[str]]]:
    """The rows that are not blank, with their line numbers."""
    yield from ((reader.line_num, row) for row in reader if row)


def _typed(values: list[str]) -> list[Any]:
    kinds: tuple[Callable[[str], Any], ...] = (int, float)
    for kind in kinds:
        try:
            return [kind(value) for value in values]
        except ValueError:
            continue
    return values
