"""Locks for code that Ctrl-C, a finalizer or a fork may interrupt at any point."""

from __future__ import annotations

import os
from collections import deque
from contextlib import suppress
from threading import RLock
from weakref import ReferenceType, ref


class Locked:
    """Base of objects with a reentrant lock that is free in forked processes.

    Reentrant, because the garbage collector may run a user's finalizer while the lock is held. Free after a
    fork, because the thread that holds it does not exist in the child. It is Python's built-in RLock, since
    Ctrl-C inside an `__enter__` written in Python could leave a lock locked.

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
        reference = ref(self, _GONE.append)  # a C function: Ctrl-C inside a Python callback would be lost
        _LOCKED[id(reference)] = reference

    def renew_lock(self) -> None:
        """Replace the lock by a free one."""
        self.lock = RLock()


_LOCKED: dict[int, ReferenceType[Locked]] = {}
_GONE: deque[ReferenceType[Locked]] = deque()


def _begin_in_fork() -> None:
    for reference in list(_LOCKED.values()):
        locked = reference()
        if locked is not None:
            locked.renew_lock()


os.register_at_fork(after_in_child=_begin_in_fork)
