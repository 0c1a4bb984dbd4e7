"""Image files: in one folder per class, or listed in a CSV file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from orbbec.data.files import FileSource
from orbbec.data.readers.paths import check_link, check_path, image_files, is_hidden
from orbbec.data.readers.tables import read_table
from orbbec.data.sample import printable
from orbbec.transforms.base.checks import names

_JPEG, _NETPBM = (".jpg", ".jpeg", ".jpe", ".jfif"), (".ppm", ".pgm", ".pbm")
EXTENSIONS = (*_JPEG, *_NETPBM, ".png", ".bmp", ".tif", ".tiff", ".webp")


class ImageFolder(FileSource):
    """Images in one folder per class: `root/cat/1.jpg`, `root/dog/tall/2.png`.

    Classes are the folders in `root`, sorted as text: `10` before `2`. The order of images is that of
    `torchvision.datasets.ImageFolder`, and the sample id of an image is its index in this order. Links are
    followed, except to a folder that they are in. Hidden files and folders, such as `.ipynb_checkpoints`, and
    `__MACOSX` are skipped.

    Args:
        root: the folder of the classes.
        extensions: file extensions of images, in any case; other files are ignored.

    Raises:
        OSError: a folder cannot be read, or a link that may be one to a folder is broken.
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
        self.classes, self.paths, self.labels = labeled_files("ImageFolder", root, extensions, "images")
        self.columns = {"label": self.labels}


def labeled_files(
    op: str, root: str | os.PathLike[str], extensions: Sequence[str], kind: str
) -> tuple[list[str], list[str], list[int]]:
    """The classes, the files of all classes, and the index of the class of each; `kind` is for messages."""
    with os.scandir(root) as entries:
        classes = sorted(entry.name for entry in entries if _is_class(entry))
    if not classes:
        raise ValueError(f"{op}: expected a folder for each class in {printable(root)}, but there is none")
    endings = tuple(extension.lower() for extension in names(op, "extensions", extensions))
    paths: list[str] = []
    labels: list[int] = []
    for label, name in enumerate(classes):
        folder = os.path.join(root, name)
        found = image_files(folder, endings, above=os.fspath(root))
        if not found:
            raise ValueError(f"{op}: expected {kind} in {printable(folder)}, but got none")
        paths += found
        labels += [label] * len(found)
    return classes, paths, labels


def _is_class(entry: os.DirEntry[str]) -> bool:
    if is_hidden(entry.name):
        return False
    if entry.is_symlink():
        check_link(entry.path)  # without its class, others would be renumbered
    return entry.is_dir()


class FileList(FileSource):
    r"""Images listed in a CSV file with one row per image: `path`, and a column for each target.

    A column of integers such as `0` or `-12` holds integers; one of integers and fractions such as `0.5` or
    `1e-05` holds floats; any other holds strings, such as `007`, `1_11` or `nan`. Numbers next to other texts
    are an error, unless `types` says what the column holds. Strings of the column `label` become indices into
    `classes`, the sorted distinct strings. The sample id of an image is its row, from 0.

    Args:
        file: the CSV file, UTF-8. The names `path` and `label` may be in any case.
        root: the folder that paths are relative to; None: the folder of `file`.
        columns: names of the columns; None: the first row has them.
        delimiter: separator of columns, one character; with a space after it, spaces are skipped there.
        trust_paths: accept any path, also absolute paths elsewhere and paths that leave `root` by `..`.
            False: refuse them, since an untrusted list could name any file.
        types: `int`, `float` or `str` by the name of a column; other columns hold what all their texts are.

    Raises:
        OSError: the file cannot be read.
        ValueError: there is no column `path`, a row has another length, a path leaves `root`, a label is
            empty, or a text does not fit its column; the message names the row.
        TypeError: a type is none of these.

    Example:
        >>> from tempfile import mkdtemp
        >>> file = Path(mkdtemp(), "train.csv")
        >>> _ = file.write_text("path,label,weight\na.jpg,dog,0.5\nb.jpg,cat,1\n")
        >>> files = FileList(file)
        >>> files.classes, files.targets(0)
        (['cat', 'dog'], {'label': 1, 'weight': 0.5})
    """

    root: Path

    def __init__(
        self,
        file: str | os.PathLike[str],
        root: str | os.PathLike[str] | None = None,
        *,
        columns: Sequence[str] | None = None,
        delimiter: str = ",",
        trust_paths: bool = False,
        types: Mapping[str, type] | None = None,
    ) -> None:
        self.root = Path(file).parent if root is None else Path(root)
        table = read_table(Path(file), columns, delimiter)
        self.paths = table.columns.pop("path")
        for row, path in enumerate([] if trust_paths else self.paths):
            check_path("FileList", self.root, path, table.where(row))
        self.columns = values = table.values(types or {})
        self.classes: list[str] = []
        labels = values.get("label")
        if labels and isinstance(labels[0], str):
            self.classes = sorted(set(labels))
            indices = {name: index for index, name in enumerate(self.classes)}
            values["label"] = [indices[label] for label in labels]
