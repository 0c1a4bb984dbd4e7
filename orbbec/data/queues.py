"""Tasks done by threads ahead of who takes the results, which come in the order of the tasks.

::

tasks --> at most `threads + ahead` of them begun or done --> results, in order
          idle: a thread waits for a task                     wait: the taker waits for a result

The garbage collector may drop a crew anywhere, also where the code it interrupts holds a lock. So to drop
a crew only signals, by a weak reference whose callback is `SimpleQueue.put`: it waits for no lock and runs no
Python, in which a Ctrl-C would be lost. Only `close` waits for threads.
"""

from __future__ import annotations

import atexit
import os
from _thread import start_new_thread
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from queue import SimpleQueue
from threading import Thread, current_thread
from threading import enumerate as enumerate_threads
from time import perf_counter, sleep
from typing import Any, Generic, Protocol, TypeAlias, TypeVar
from weakref import ReferenceType, ref

import torch

from orbbec._library import default_arithmetic
from orbbec.data.stopwatch import Stopwatch
from orbbec.data.threads import begin_worker

Task = TypeVar("Task")
Result = TypeVar("Result")

_LONGEST_START = 5.0  # seconds in which a thread begins, if Ctrl-C did not come before its start
_PAUSE = 0.001  # seconds between two looks at a thread that is to end

_numbers = count()  # of crews


class Stopped(Exception):  # said to a thread, as StopIteration is to a loop
    """The crew was closed while a task ran."""


class Stop(Protocol):
    """What tells a task that nobody waits for its result any more."""

    def is_set(self) -> bool:
        """Whether the task is to raise `Stopped`."""
        ...


class _Signal:
    """Set once the crew is closed or dropped."""

    def __init__(self, crew: Crew[Any, Any]) -> None:
        self._is_closed, self._crew = False, ref(crew)

    def set(self) -> None:
        self._is_closed = True

    def is_set(self) -> bool:
        return self._is_closed or self._crew() is None


class _Entry(Generic[Task, Result]):
    """A task, and its result or its error once it is done."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self._answer: SimpleQueue[tuple[Result | None, BaseException | None]] = SimpleQueue()

    def put(self, result: Result | None, error: BaseException | None = None) -> None:
        self._answer.put((result, error))

    def is_done(self) -> bool:
        return not self._answer.empty()

    def take(self) -> Result:
        result, error = self._answer.get()
        if error is None:
            return result  # type: ignore[return-value]
        try:
            raise error
        finally:
            error = None  # whose traceback holds this frame


_End: TypeAlias = "ReferenceType[Crew[Any, Any]] | None"  # in the place of a task, after the last one


class _Team(Generic[Task, Result]):
    """Threads that share a queue. They hold this, and not the crew."""

    def __init__(
        self,
        work: Callable[[Task, Stop], Result],
        begin: Callable[[], None],
        signal: _Signal,
        crew: Crew[Task, Result],
    ) -> None:
        self.signal = signal
        self._work, self._begin, self._watch = work, begin, crew.watch
        self._entries: SimpleQueue[_Entry[Task, Result] | _End] = SimpleQueue()
        self._dropped = ref(crew, self._entries.put)

    def put(self, entry: _Entry[Task, Result]) -> None:
        self._entries.put(entry)

    def end(self) -> None:
        """End the threads after the tasks that they have."""
        self._entries.put(None)

    def run(self, failure: BaseException | None = None) -> None:
        """What a thread does: tasks, or where it could not begin, say so of each."""
        try:
            if failure is None:
                self._begin()
        except BaseException as error:
            failure = error
        ended: float | None = None
        while isinstance(entry := self._entries.get(), _Entry):
            began = perf_counter()
            self._watch.add("idle", began - (began if ended is None else ended))
            self._do(entry, failure)
            del entry  # the result is the taker's
            ended = perf_counter()
            self._watch.add("work", ended - began)
        self._entries.put(entry)  # for the next thread

    def _do(self, entry: _Entry[Task, Result], failure: BaseException | None) -> None:
        try:
            if failure is not None:
                raise failure
            if self.signal.is_set():
                raise Stopped
            entry.put(self._work(entry.task, self.signal))
        except BaseException as error:
            entry.put(None, error)


class Worker(Thread):
    """A thread of a crew. A daemon, which `_end_all` ends after the threads that take results have ended."""

    def __init__(self, team: _Team[Any, Any], name: str) -> None:
        super().__init__(name=name, daemon=True)
        self.team, self._has_begun, self._process = team, False, os.getpid()
        self._begun: SimpleQueue[None] = SimpleQueue()

    def begin(self) -> None:
        """Start it, in another thread: the main one gets Ctrl-C, which would leave it half started."""
        start_new_thread(self._start, ())
        self._begun.get()  # `_end_all` knows it from here on

    def _start(self) -> None:
        try:
            self.start()
        except RuntimeError as error:  # there can be no more threads
            self._say_begun()
            self.team.run(error)

    def run(self) -> None:
        """Do tasks until the end of them, or of the crew."""
        self._say_begun()
        self.team.run()

    def _say_begun(self) -> None:
        self._has_begun = True
        self._begun.put(None)

    def wait(self) -> None:
        """Wait for its end, once it was told to stop."""
        if self is current_thread() or self._process != os.getpid():
            return
        latest = perf_counter() + _LONGEST_START
        while not self._has_begun and perf_counter() < latest:
            sleep(_PAUSE)
        while self in enumerate_threads():  # a `join` that Ctrl-C interrupts takes it for ended ever after
            sleep(_PAUSE)


class Crew(Generic[Task, Result]):
    """Threads that work ahead, in order; an error of a task is raised where its result is taken.

    They compute with the arithmetic that is the default of the thread that makes the crew.

    Args:
        work: does one task; is given the task and what tells it that nobody waits for the result, upon which
            it is to raise `Stopped`.
        tasks: taken one by one, in the thread that takes the results.
        threads: from 1.
        ahead: how many results may wait to be taken.
        cores: that threads run on; none: those of the process.
        watch: is told the seconds of "wait" (for results), and of all threads "work" and "idle" (between two
            tasks, for a result to be taken).
        workers: a list that gets the threads; whoever drops the crew can wait for them.

    Example:
        >>> with Crew(lambda number, stop: number**2, range(4), threads=2, ahead=1) as crew:
        ...     list(crew)
        [0, 1, 4, 9]
    """

    def __init__(
        self,
        work: Callable[[Task, Stop], Result],
        tasks: Iterable[Task],
        threads: int,
        ahead: int,
        *,
        cores: Sequence[int] = (),
        watch: Stopwatch | None = None,
        workers: list[Worker] | None = None,
    ) -> None:
        self.watch = watch or Stopwatch()
        self._work, self._tasks, self._cores = work, iter(tasks), cores
        self._arithmetic = default_arithmetic()
        self._pending: deque[_Entry[Task, Result]] = deque()
        self._signal = _Signal(self)
        self._workers = [] if workers is None else workers
        self._teams: list[_Team[Task, Result]] = []  # the last one takes tasks
        self._name = f"orbbec-data-{next(_numbers)}"
        self.resize(threads, ahead)

    def resize(self, threads: int, ahead: int) -> None:
        """Go on with other numbers; what was begun is ended by the threads that began it."""
        for team in self._teams[-1:]:
            team.end()
        others, cores, arithmetic = torch.get_num_threads(), self._cores, self._arithmetic
        self._teams.append(
            _Team(self._work, lambda: begin_worker(others, cores, arithmetic), self._signal, self)
        )
        self._missing = threads  # of the last team, which were not started yet
        self._limit = threads + ahead  # of tasks begun or done

    def __iter__(self) -> Iterator[Result]:
        return self

    def __next__(self) -> Result:
        try:
            with self.watch.timing("wait"):
                return self._taken()
        except BaseException:  # Ctrl-C, too
            self.close()
            raise

    def _taken(self) -> Result:
        self._fill()
        pending = self._pending
        if not pending or self._signal.is_set():
            raise StopIteration
        try:
            result = pending[0].take()
        except Stopped:
            raise StopIteration from None
        pending.popleft()
        return result

    def has_next(self) -> bool:
        """Whether the next result can be taken without waiting."""
        self._fill()
        pending = self._pending
        return bool(pending) and pending[0].is_done()

    def close(self) -> None:
        """Stop all threads; returns when they have ended. Whoever waits for a result gets none."""
        self._signal.set()
        pending, self._pending, self._tasks = self._pending, deque(), iter(())
        for team in self._teams:
            team.end()
        for entry in tuple(pending):
            entry.put(None, Stopped())
        for worker in tuple(self._workers):
            worker.wait()

    def __enter__(self) -> Crew[Task, Result]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _fill(self) -> None:
        pending = self._pending
        while len(pending) < self._limit and not self._signal.is_set():
            try:
                task = next(self._tasks)
            except StopIteration:
                return
            entry: _Entry[Task, Result] = _Entry(task)
            pending.append(entry)
            if self._missing:
                self._missing -= 1
                self._start()
            self._teams[-1].put(entry)

    def _start(self) -> None:
        worker = Worker(self._teams[-1], f"{self._name}-{len(self._workers)}")
        self._workers.append(worker)
        worker.begin()


@atexit.register
def _end_all() -> None:
    """End the threads of crews that were never closed, before the interpreter takes apart what they use."""
    workers = [thread for thread in enumerate_threads() if isinstance(thread, Worker)]
    for worker in workers:
        worker.team.signal.set()
        worker.team.end()
    for worker in workers:
        worker.wait()
