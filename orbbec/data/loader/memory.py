"""A limit on the decoded pixels and the results that batches hold at once."""

from __future__ import annotations

import sys
from pathlib import Path
from threading import Condition, Event

from torch import Tensor

from orbbec.batch.image_batch import empty_on_host
from orbbec.data.loader.limits import GROUPS, memory_bytes, ranks_here
from orbbec.data.loader.queues import Stop, Stopped

_LARGEST = 8 << 30  # bytes
_PIECE = 256 << 20  # bytes: copying them takes some 10 ms, decoding them longer
_WAIT = 0.05  # seconds between two checks whether to stop


class MemoryBudget:
    """Bytes of the batches of an epoch, which are numbered in their order.

    The oldest batch gets what it needs, even beyond the limit: the model waits for it, and until it is done
    no other batch returns its bytes. `most` is the most bytes in use at once, so far.

    Example:
        >>> from threading import Event
        >>> budget = MemoryBudget(100)
        >>> budget.take(0, 80, Event())
        >>> budget.take(1, 20, Event())
        >>> budget.end(0)
        >>> budget.in_use, budget.most
        (20, 100)
    """

    def __init__(self, limit: int, most: int = 0) -> None:
        self.limit, self.most = limit, most
        self._bytes: dict[int, int] = {}  # by number of the batch
        self._done: set[int] = set()  # younger than the oldest that is not
        self._oldest = 0
        self._changed = Condition()

    @property
    def in_use(self) -> int:
        """The bytes of all batches."""
        return sum(self._bytes.values())

    def take(self, number: int, nbytes: int, stopped: Stop) -> None:
        """Wait until a batch may have so many bytes in all; fewer than before it may have at once.

        Raises:
            Stopped: the event was set.
        """
        with self._changed:
            before = self._bytes.get(number, 0)
            while number > self._oldest and nbytes > before and self.in_use - before + nbytes > self.limit:
                self._changed.wait(_WAIT)
                if stopped.is_set():
                    raise Stopped
            self._bytes[number] = nbytes
            self.most = max(self.most, self.in_use)
            self._changed.notify_all()

    def end(self, number: int) -> None:
        """Return the bytes of a batch that is done."""
        with self._changed:
            self._bytes.pop(number, None)
            self._done.add(number)
            while self._oldest in self._done:
                self._done.remove(self._oldest)
                self._oldest += 1
            self._changed.notify_all()


class Job:
    """What a thread that makes a batch needs to know: when to stop, and where its memory comes from.

    `augments`: whether it augments the batch too, as on the CPU.
    """

    def __init__(self, stopped: Stop, budget: MemoryBudget, number: int, augments: bool = False) -> None:
        self._stopped, self._budget, self._number, self.augments = stopped, budget, number, augments

    def is_set(self) -> bool:
        """Whether the batch is no longer needed."""
        return self._stopped.is_set()

    def take(self, nbytes: int) -> None:
        """Wait until the batch may have so many bytes in all.

        Raises:
            Stopped: the batch is no longer needed.
        """
        self._budget.take(self._number, nbytes, self._stopped)

    def empty(self, nbytes: int, *, pin_memory: bool) -> Tensor:
        """Uninitialized memory for the pixels of the batch; see `take`."""
        self.take(nbytes)
        return empty_on_host(nbytes, pin_memory=pin_memory)

    def is_large(self, nbytes: int) -> bool:
        """Whether a batch takes more than half of the memory of all."""
        return nbytes > self._budget.limit // 2

    @property
    def piece_bytes(self) -> int:
        """The bytes of a piece of a large batch; see `Pieces`."""
        return min(_PIECE, self._budget.limit // 4)


def lone_job() -> Job:
    """The job of a batch that nobody stops, with all memory."""
    return Job(Event(), MemoryBudget(sys.maxsize), 0)


def default_limit(cgroups: Path = GROUPS) -> int:
    """A quarter of the memory of the machine or the control group, shared by ranks, at most 8 GiB.

    Example:
        >>> default_limit() >= 1
        True
    """
    return max(1, min(memory_bytes(cgroups) // 4 // ranks_here(), _LARGEST))
