"""Files that stay open, once per process."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from orbbec.data.locks import Locked

_Open = Callable[[Path], Any]


class Descriptor:
    """A file that is open for `os.pread` as long as this object exists, also in forked processes.

    A new file is for this user only.
    """

    def __init__(self, path: str, flags: int = os.O_RDONLY) -> None:
        self.number = os.open(path, flags, 0o600)

    def __del__(self) -> None:
        with suppress(AttributeError):  # it could not be opened
            os.close(self.number)


class OpenFile(Locked):
    """A file that each process opens on first use and shares between its threads.

    Made by `open_file`. The result of `open` has a method `close`.
    """

    def __init__(self, open: _Open, path: Path) -> None:
        super().__init__()
        self.path = path
        self._open = open
        self._opened: tuple[int, Any] | None = None  # the process that opened it, and the handle

    def __call__(self) -> Any:
        """The handle of this process."""
        opened = self._opened
        if opened is not None and opened[0] == os.getpid():
            return opened[1]
        with self.lock:
            if self._opened is not None and self._opened[0] != os.getpid():  # inherited through a fork
                self._close()
            opened = self._opened or (os.getpid(), self._open(self.path))
            self._opened = opened
            return opened[1]

    def close(self) -> None:
        """Close the file in this process; the next use opens it again."""
        with self.lock:
            self._close()

    def _close(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            opened[1].close()

    def __reduce__(self) -> tuple[Any, ...]:
        return open_file, (self._open, self.path)


_FILES: WeakValueDictionary[tuple[_Open, Path], OpenFile] = WeakValueDictionary()
_ASKING = Locked()  # `setdefault` alone could create two files for two threads


def open_file(open: _Open, path: Path) -> OpenFile:
    """The file at a path, the same object for every caller, since LMDB cannot open a file twice.

    `open` can be pickled.

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
    """Check that an open file still has `size` bytes.

    Beyond the end of a file, HDF5 reads zeros, and LMDB's memory map crashes the process.
    """
    found = path.stat().st_size
    if found < size:
        raise ValueError(f"the file is truncated: expected {size} bytes, but got {found}")
