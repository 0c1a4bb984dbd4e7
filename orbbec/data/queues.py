"""Tasks done by threads ahead of who takes the results, which come in the order of the tasks.

::

tasks --> at most `threads + ahead` of them begun or done --> results, in order
          idle: a thread waits for a place                    wait: the taker waits for a result
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import count
from threading import Event, local
from threading import enumerate as enumerate_threads
from time import perf_counter, sleep
from typing import Generic, TypeVar

import torch

from orbbec.data.stopwatch import Stopwatch
from orbbec.data.threads import begin_worker

Task = TypeVar("Task")
Result = TypeVar("Result")

_numbers = count()  # of crews


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
        cores: that threads run on; none: those of the process.
        watch: is told the seconds of "wait" (for results), and of all threads "work" and "idle" (between two
            tasks, for a result to be taken).

    Example:
        >>> with Crew(lambda number, stopped: number**2, range(4), threads=2, ahead=1) as crew:
        ...     list(crew)
        [0, 1, 4, 9]
    """

    def __init__(
        self,
        work: Callable[[Task, Event], Result],
        tasks: Iterable[Task],
        threads: int,
        ahead: int,
        *,
        cores: Sequence[int] = (),
        watch: Stopwatch | None = None,
    ) -> None:
        self.watch = watch or Stopwatch()
        self._work, self._tasks, self._cores = work, iter(tasks), cores
        self._pending: deque[Future[Result]] = deque()
        self._stopped, self._of_thread = Event(), local()
        self._pools: list[ThreadPoolExecutor] = []  # the last one takes tasks
        self._name = f"orbbec-data-{next(_numbers)}-"  # which threads of this crew begin with
        self.resize(threads, ahead)

    def resize(self, threads: int, ahead: int) -> None:
        """Go on with other numbers; what was begun is ended by the threads that began it."""
        for pool in self._pools:
            pool.shutdown(wait=False)
        given = torch.get_num_threads(), self._cores
        self._pools.append(ThreadPoolExecutor(threads, self._name, begin_worker, given))
        self._limit = threads + ahead  # of tasks begun or done

    def __iter__(self) -> Iterator[Result]:
        return self

    def __next__(self) -> Result:
        with self.watch.timing("wait"):
            self._fill()
            if not self._pending:
                self.close()
                raise StopIteration
            try:
                return self._pending.popleft().result()
            except BaseException:  # Ctrl-C, too
                self.close()
                raise

    def has_next(self) -> bool:
        """Whether the next result can be taken without waiting."""
        self._fill()
        return bool(self._pending) and self._pending[0].done()

    def close(self) -> None:
        """Stop all threads; returns when they have ended."""
        self._stopped.set()
        for pool in self._pools:
            pool.shutdown(wait=True, cancel_futures=True)
        while any(thread.name.startswith(self._name) for thread in enumerate_threads()):
            sleep(0.001)  # a thread whose start Ctrl-C interrupted, which no pool knows
        self._pending.clear()
        self._tasks = iter(())

    def __enter__(self) -> Crew[Task, Result]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _fill(self) -> None:
        while len(self._pending) < self._limit:
            try:
                task = next(self._tasks)
            except StopIteration:
                return
            self._pending.append(self._pools[-1].submit(self._timed, task))

    def _timed(self, task: Task) -> Result:
        began = perf_counter()
        self.watch.add("idle", began - getattr(self._of_thread, "ended", began))
        try:
            return self._work(task, self._stopped)
        finally:
            self._of_thread.ended = perf_counter()
            self.watch.add("work", self._of_thread.ended - began)
