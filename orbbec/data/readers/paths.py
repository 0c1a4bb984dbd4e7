"""Paths of files: those in a folder, and those listed in a file.

Listed paths must be in the folder of the images unless the user trusts the file.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from orbbec.data.sample import printable

_OF_ARCHIVERS = "__MACOSX"  # macOS adds a folder of this name to zip files, with a file for each image


def is_hidden(name: str) -> bool:
    """Whether a file or folder belongs to a program, not to the data: `.ipynb_checkpoints`, `._1.jpg`."""
    return name.startswith(".") or name == _OF_ARCHIVERS


def visible_files(folder: Path, pattern: str) -> list[Path]:
    """The files in a folder that match a pattern in lower case and are not hidden, sorted by name."""
    return sorted(
        path
        for path in folder.glob("*")
        if fnmatchcase(path.name.lower(), pattern) and not is_hidden(path.name) and not path.is_dir()
    )


def visible_folders(folder: Path) -> list[Path]:
    """The folders in a folder that are not hidden, sorted by name."""
    return sorted(path for path in folder.glob("*") if path.is_dir() and not is_hidden(path.name))


def image_files(folder: str | os.PathLike[str], extensions: tuple[str, ...], above: str = "") -> list[str]:
    """The images below a folder, sorted by folder and name; `extensions` are in lower case.

    Links to folders are followed, except to a folder that they are in, or to `above`, a folder above it.
    Hidden files and folders are skipped.
    """
    ancestors = frozenset({_identity(above)} if above else ())
    return [os.path.join(*entry) for entry in sorted(_walk(os.fspath(folder), extensions, ancestors))]


def has_images(folder: str | os.PathLike[str], extensions: tuple[str, ...]) -> bool:
    """Whether there is an image in or below a folder."""
    return next(_walk(os.fspath(folder), extensions, frozenset()), None) is not None


def by_stem(op: str, folder: Path, extensions: tuple[str, ...], ending: str = "") -> dict[str, str]:
    """The images below a folder, by their path in it without extension and `ending`, which must differ.

    Files whose names lack the ending are skipped.
    """
    found: dict[str, str] = {}
    for path in image_files(folder, extensions):
        stem = os.path.splitext(os.path.relpath(path, folder))[0]
        if not stem.endswith(ending):
            continue
        stem = stem.removesuffix(ending)
        if found.setdefault(stem, path) != path:
            raise ValueError(
                f"{op}: expected one file of each name, but got {printable(found[stem])} and "
                f"{printable(path)}"
            )
    return found


class Folder(NamedTuple):
    """A folder of files that have counterparts in other folders; see `by_stem`."""

    path: Path
    extensions: tuple[str, ...]
    ending: str
    kind: str  # what a file is, for messages: "an image"


def files_of_names(op: str, folders: Sequence[Folder]) -> list[list[str]]:
    """The files of each of several folders, in the order of those of the first, whose names they have.

    Raises:
        OSError: see `image_files`.
        ValueError: a file has no counterpart in a folder, two of a folder differ only in their extension, or
            there are no files.
    """
    files = [by_stem(op, folder.path, folder.extensions, folder.ending) for folder in folders]
    first, kind = files[0], folders[0].kind
    for other, folder in zip(files[1:], folders[1:], strict=True):
        for one, lonely, missing in ((first, other, folder.kind), (other, first, kind)):
            path = next((path for stem, path in one.items() if stem not in lonely), None)
            if path is not None:
                raise ValueError(f"{op}: expected {missing} for {printable(path)}, but there is none")
    if not first:
        raise ValueError(f"{op}: expected images in {printable(folders[0].path)}, but got none")
    return [[found[stem] for stem in first] for found in files]


def listed_lines(file: Path) -> list[tuple[str, str]]:
    """The lines of a list of files that are not blank, and where each is, for messages.

    Names of files may be in any encoding.
    """
    lines = file.read_text("utf-8-sig", "surrogateescape").split("\n")
    return [
        (line.strip(), f"line {number} of {printable(file)}")
        for number, line in enumerate(lines, start=1)
        if line.strip()
    ]


def check_link(path: str) -> None:
    """Refuse a broken link, which may have led to a folder of images.

    Raises:
        FileNotFoundError: the link is broken.
    """
    if not os.path.exists(path):
        raise FileNotFoundError(errno.ENOENT, "The link is broken", path)


_Identity = tuple[int, int]  # device and inode


def _identity(folder: str) -> _Identity:
    status = os.stat(folder)
    return status.st_dev, status.st_ino


def _walk(top: str, extensions: tuple[str, ...], above: frozenset[_Identity]) -> Iterator[tuple[str, str]]:
    folders = [(top, above)]
    while folders:
        folder, ancestors = folders.pop()
        identity = _identity(folder)
        if identity in ancestors:
            continue
        with os.scandir(folder) as entries:
            visible = [entry for entry in entries if not is_hidden(entry.name)]
        for entry in visible:
            if entry.is_dir():
                folders.append((entry.path, ancestors | {identity}))
            elif entry.name.lower().endswith(extensions):
                yield folder, entry.name
            elif entry.is_symlink():
                check_link(entry.path)


def check_path(op: str, root: str | os.PathLike[str], path: str, source: str) -> None:
    """Check that a path that `source` lists stays in the folder `root`; links in that folder are followed.

    Example:
        >>> check_path("FileList", "/data", "cats/../cats/1.jpg", "line 7 of train.csv")
        >>> check_path("FileList", "/data", "../etc/passwd", "line 8 of train.csv")
        Traceback (most recent call last):
        ValueError: FileList: expected paths in /data, but line 8 of train.csv has '../etc/passwd';
        trust_paths=True takes any
    """
    if "\0" in path or not path:
        raise ValueError(f"{op}: expected a path, but {source} has {path!r:.200}")
    if not (path.startswith("/") or ".." in path):
        return
    folder = os.path.abspath(root)
    if not os.path.abspath(os.path.join(folder, path)).startswith(os.path.join(folder, "")):
        raise ValueError(
            f"{op}: expected paths in {printable(root)}, but {source} has {path!r:.200}; "
            "trust_paths=True takes any"
        )
