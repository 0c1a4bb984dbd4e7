"""Files that stay open: once in each process, whoever asks for them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from orbbec.data.locks import Locked

_Open = Callable[[Path], Any]


class OpenFile(Locked):
    """A file that each process opens for itself at its first use, for all its threads.

    Made by `open_file`. What `open` gives has a method `close`.
    """

    def __init__(self, open: _Open, path: Path) -> None:
        super().__init__()
        self.path = path
        self._open = open
        self._opened: tuple[int, Any] | None = None  # the process that opened it, and the handle

    def __call__(self) -> Any:
        """What `open` gave in this process."""
        opened = self._opened
        if opened is not None and opened[0] == os.getpid():
            return opened[1]
        with self.lock:
            if self._opened is not None and self._opened[0] != os.getpid():  # of the parent that was forked
                self._close()
            opened = self._opened or (os.getpid(), self._open(self.path))
            self._opened = opened
            return opened[1]

    def close(self) -> None:
        """Close it in this process; the next use opens it again."""
        with self.lock:
            self._close()

    def _close(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            opened[1].close()

    def __reduce__(self) -> tuple[Any, ...]:
        return open_file, (self._open, self.path)


_FILES: WeakValueDictionary[tuple[_Open, Path], OpenFile] = WeakValueDictionary()
_ASKING = Locked()  # for a file: `setdefault` gives two threads two


def open_file(open: _Open, path: Path) -> OpenFile:
    """The file at a path: the same for all who ask, as LMDB opens none twice.

    Args:
        open: makes the handle; a function that pickles.
        path: of the file.

    Example:
        >>> file = open_file(Path.open, Path(__file__))
        >>> file() is open_file(Path.open, Path(__file__))()
        True
        >>> file.close()
    """
    key = open, path.resolve()
    with _ASKING.lock:
        return _FILES.setdefault(key, OpenFile(*key))


def check_size(path: Path, size: int) -> None:
    """See that an open file has not shrunk.

    Beyond the end of a file HDF5 reads zeros, and reading what LMDB maps there ends the process.

    Raises:
        ValueError: the file has fewer than `size` bytes.
    """
    found = path.stat().st_size
    if found < size:
        raise ValueError(f"the file is cut off: expected {size} bytes, but got {found}")
