"""A lock for what may be interrupted at any point: by a finaliser, or by a fork."""

from __future__ import annotations

import os
from threading import RLock
from weakref import WeakSet


class Lock:
    """A lock that the thread that holds it may take again, and that a forked process finds free.

    The garbage collector may run a finaliser of the user's in the midst of the code under the lock; and a
    process may be forked while another thread holds it, which does not exist in the child.

    Example:
        >>> lock = Lock()
        >>> with lock, lock:
        ...     pass
    """

    def __init__(self) -> None:
        self._lock = RLock()
        _LOCKS.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def renew(self) -> None:
        """Be free, whoever held it."""
        self._lock = RLock()


_LOCKS: WeakSet[Lock] = WeakSet()


def _begin_in_fork() -> None:
    for lock in _LOCKS:
        lock.renew()


os.register_at_fork(after_in_child=_begin_in_fork)
