"""Checks of paths listed in files: they must be in the image folder unless the user trusts the file."""

from __future__ import annotations

import os


def check_path(op: str, root: str | os.PathLike[str], path: str, source: str) -> None:
    """Check that a listed path stays in its folder; links in that folder are followed.

    Args:
        op: name of the reader, for messages.
        root: the folder.
        path: relative to the folder, or absolute.
        source: where the path is listed, for messages.

    Raises:
        ValueError: the path leaves the folder or is invalid.

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
            f"{op}: expected paths in {root}, but {source} has {path!r:.200}; trust_paths=True takes any"
        )
