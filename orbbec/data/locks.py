"""Locks for code that may be interrupted at any point: by Ctrl-C, a finaliser or a fork."""

from __future__ import annotations

import os
from collections import deque
from contextlib import suppress
from threading import RLock
from weakref import ReferenceType, ref


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
        with suppress(IndexError):
            while True:
                del _LOCKED[id(_GONE.popleft())]
        own = ref(self, _GONE.append)  # no function of Python's, in which Ctrl-C would be lost
        _LOCKED[id(own)] = own

    def renew_lock(self) -> None:
        """Have a free lock."""
        self.lock = RLock()


_LOCKED: dict[int, ReferenceType[Locked]] = {}
_GONE: deque[ReferenceType[Locked]] = deque()


def _begin_in_fork() -> None:
    for own in list(_LOCKED.values()):
        locked = own()
        if locked is not None:
            locked.renew_lock()


os.register_at_fork(after_in_child=_begin_in_fork)
