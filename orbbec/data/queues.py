"""Tasks done by threads ahead of who takes the results, which come in the order of the tasks.

::

tasks --> at most `threads + ahead` of them begun or done --> results, in order
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event
from time import perf_counter
from typing import Generic, TypeVar

import torch

from orbbec.data.threads import compute_alone

Task = TypeVar("Task")
Result = TypeVar("Result")


class Stopped(Exception):  # said to a thread, as StopIteration is to a loop
    """The crew was closed while a task ran."""


class Crew(Generic[Task, Result]):
    """Threads that work ahead, in order; an error of a task is raised where its result is taken.

    Args:
        work: does one task; is given the task and an event that is set once nobody waits for the result, upon
            which it is to raise `Stopped`.
        tasks: taken one by one, in the thread that takes the results.
        threads: from 1.
        ahead: how many results may wait to be taken.

    Example:
        >>> with Crew(lambda number, stopped: number**2, range(4), threads=2, ahead=1) as crew:
        ...     list(crew)
        [0, 1, 4, 9]
    """

    def __init__(
        self, work: Callable[[Task, Event], Result], tasks: Iterable[Task], threads: int, ahead: int
    ) -> None:
        self.limit = threads + ahead  # of tasks begun or done; may be changed at any time
        self.waited = 0.0  # seconds, for results
        self._work, self._tasks = work, iter(tasks)
        self._pending: deque[Future[Result]] = deque()
        self._stopped = Event()
        self._pool = ThreadPoolExecutor(threads, "orbbec-data", compute_alone, (torch.get_num_threads(),))

    def __iter__(self) -> Iterator[Result]:
        return self

    def __next__(self) -> Result:
        self._fill()
        if not self._pending:
            self.close()
            raise StopIteration
        began = perf_counter()
        try:
            return self._pending.popleft().result()
        except BaseException:  # Ctrl-C, too
            self.close()
            raise
        finally:
            self.waited += perf_counter() - began

    def has_next(self) -> bool:
        """Whether the next result can be taken without waiting."""
        self._fill()
        return bool(self._pending) and self._pending[0].done()

    def close(self) -> None:
        """Stop all threads; returns when they have ended."""
        self._stopped.set()
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._pending.clear()
        self._tasks = iter(())

    def __enter__(self) -> Crew[Task, Result]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _fill(self) -> None:
        while len(self._pending) < self.limit:
            try:
                task = next(self._tasks)
            except StopIteration:
                return
            self._pending.append(self._pool.submit(self._work, task, self._stopped))
