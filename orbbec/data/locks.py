"""Locks for code that may be interrupted at any point: by Ctrl-C, a finaliser or a fork."""

from __future__ import annotations

import os
from threading import RLock
from weakref import WeakSet


class Locked:
    """Has a lock that the thread that holds it may take again, and that a forked process finds free.

    The garbage collector may run a finaliser of the user's in the midst of the code under the lock; and a
    process may be forked while another thread holds it, which does not exist in the child. The lock is
    Python's own, since Ctrl-C can leave one locked whose `__enter__` is written in Python.

    Example:
        >>> locked = Locked()
        >>> with locked.lock, locked.lock:
        ...     pass
    """

    def __init__(self) -> None:
        self.renew_lock()
        _LOCKED.add(self)

    def renew_lock(self) -> None:
        """Have a free lock."""
        self.lock = RLock()


_LOCKED: WeakSet[Locked] = WeakSet()


def _begin_in_fork() -> None:
    for locked in _LOCKED:
        locked.renew_lock()


os.register_at_fork(after_in_child=_begin_in_fork)
