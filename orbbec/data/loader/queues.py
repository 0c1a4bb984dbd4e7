"""Threads that work ahead of a consumer; results come in the order of the tasks.

::

tasks --> at most `threads + ahead` of them begun or done --> results, in order
          idle: a thread waits for a task                     wait: the consumer waits for a result

The garbage collector may drop a crew anywhere, also while the interrupted code holds a lock. Dropping a crew
therefore only sends a signal, by a weak reference whose callback is `SimpleQueue.put`: it takes no lock and
runs no Python code, in which a Ctrl-C would be lost. Only `close` waits for threads.
"""

from __future__ import annotations

import atexit
import math
import os
from _thread import start_new_thread
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import count
from queue import SimpleQueue
from threading import Thread, current_thread
from threading import enumerate as enumerate_threads
from time import perf_counter, sleep
from typing import Any, Generic, Protocol, TypeAlias, TypeVar
from weakref import ReferenceType, ref

import torch

from orbbec._library import default_arithmetic
from orbbec.data.loader.stopwatch import Stopwatch
from orbbec.data.loader.threads import begin_worker

Item = TypeVar("Item")
Task = TypeVar("Task")
Result = TypeVar("Result")

_LONGEST_START = 5.0  # seconds for a thread to start; longer means that Ctrl-C prevented it
_LONGEST_END = 30.0  # seconds; longer means that a source or a stream waits for something
_PAUSE = 0.001  # seconds between two checks of a thread that should end

_numbers = count()  # of crews


class Stopped(Exception):  # a signal to a thread, like StopIteration
    """The crew was closed while a task ran."""


class Stop(Protocol):
    """Tells a task that its result is no longer needed."""

    def is_set(self) -> bool:
        """Whether the task should raise `Stopped`."""
        ...


def until(stop: Stop, items: Iterable[Item]) -> Iterator[Item]:
    """The items, until a task should stop; then it raises Stopped."""
    for item in items:
        if stop.is_set():
            raise Stopped
        yield item


class _Signal:
    """Set when the crew is closed or dropped."""

    def __init__(self, crew: Crew[Any, Any]) -> None:
        self._is_closed, self._crew = False, ref(crew)

    def set(self) -> None:
        self._is_closed = True

    def is_set(self) -> bool:
        return self._is_closed or self._crew() is None


class Promise(Generic[Result]):
    """The result or the error of a task, to be taken once."""

    def __init__(self) -> None:
        self._answer: SimpleQueue[tuple[Result | None, BaseException | None]] = SimpleQueue()
        self._has_failed = False

    def put(self, result: Result | None, error: BaseException | None = None) -> None:
        """Answer the promise."""
        self._has_failed = error is not None
        self._answer.put((result, error))

    def has_result(self) -> bool:
        """Whether `take` returns without waiting."""
        return not self._answer.empty() and not self._has_failed

    def take(self) -> Result:
        """Wait for the result, or raise the error."""
        result, error = self._answer.get()
        if error is None:
            return result  # type: ignore[return-value]
        try:
            raise error
        finally:
            error = None  # its traceback refers to this stack frame


class _Entry(Promise[Result], Generic[Task, Result]):
    """A task and its result."""

    def __init__(self, task: Task) -> None:
        super().__init__()
        self.task = task


_End: TypeAlias = "ReferenceType[Crew[Any, Any]] | None"  # queued after the last task


class _Team(Generic[Task, Result]):
    """Threads that share a queue. They refer to the team, not to the crew."""

    def __init__(
        self,
        work: Callable[[Task, Stop], Result],
        begin: Callable[[], None],
        signal: _Signal,
        crew: Crew[Task, Result],
    ) -> None:
        self.signal, self._resource = signal, crew.resource
        self._work, self._begin, self._watch = work, begin, crew.watch
        self._entries: SimpleQueue[_Entry[Task, Result] | _End] = SimpleQueue()
        self._dropped = ref(crew, self._entries.put)

    def put(self, entry: _Entry[Task, Result]) -> None:
        self._entries.put(entry)

    def end(self) -> None:
        """End the threads after the queued tasks."""
        self._entries.put(None)

    def run(self, failure: BaseException | None = None) -> None:
        """The body of a thread: run tasks, or fail each task if the thread could not start."""
        with self._resource:
            self._run(failure)

    def _run(self, failure: BaseException | None) -> None:
        try:
            if failure is None:
                self._begin()
        except BaseException as error:
            failure = error
        end: float | None = None
        while isinstance(entry := self._entries.get(), _Entry):
            began = perf_counter()
            self._watch.add("idle", began - (began if end is None else end))
            self._do(entry, failure)
            del entry  # the result belongs to the consumer
            end = perf_counter()
            self._watch.add("work", end - began)
        self._entries.put(entry)  # for the next thread

    def _do(self, entry: _Entry[Task, Result], failure: BaseException | None) -> None:
        try:
            if failure is not None:
                raise failure
            if self.signal.is_set():
                raise Stopped
            entry.put(self._work(entry.task, self.signal))
        except Stopped:
            entry.put(None, Stopped())  # without a traceback: it would refer to the entry
        except BaseException as error:
            entry.put(None, error)


class Worker(Thread):
    """A daemon thread of a crew. `_end_all` ends it after the consumers have ended."""

    def __init__(self, team: _Team[Any, Any], name: str) -> None:
        super().__init__(name=name, daemon=True)
        self.team: _Team[Any, Any] | None = team  # None after it has ended
        self._has_begun, self._process = False, os.getpid()
        self._begun: SimpleQueue[None] = SimpleQueue()

    def begin(self) -> None:
        """Start it from another thread: Ctrl-C in the main thread could leave it half started."""
        start_new_thread(self._start, ())
        self._begun.get()  # from here on `_end_all` knows it

    def _start(self) -> None:
        try:
            self.start()
        except RuntimeError as error:  # the system refuses more threads
            self._run(error)

    def run(self) -> None:
        """Run tasks until they or the crew end."""
        self._run(None)

    def _run(self, failure: BaseException | None) -> None:
        self._say_begun()
        if self.team is not None:
            self.team.run(failure)
        self.team = None  # what it works with, such as the generator of a stream, ends here

    def _say_begun(self) -> None:
        self._has_begun = True
        self._begun.put(None)

    def wait(self, longest: float = math.inf) -> None:
        """Wait until it has ended, after it was told to stop, or for so many seconds."""
        if self is current_thread() or self._process != os.getpid():
            return
        began = perf_counter()
        while not self._has_begun and perf_counter() - began < _LONGEST_START:
            sleep(_PAUSE)
        # After an interrupted `join`, Python considers the thread ended.
        while self in enumerate_threads() and perf_counter() - began < longest:
            sleep(_PAUSE)


class Crew(Generic[Task, Result]):
    """Threads that work ahead, in order. The error of a task is raised when its result is taken.

    The threads use the default arithmetic of the thread that makes the crew.

    Args:
        work: runs one task; gets the task and a `Stop`, and should raise `Stopped` when it is set.
        tasks: consumed one by one, in the thread that takes the results. Its `stop`, if any, is called when
            the crew is stopped.
        threads: number of threads, at least 1.
        ahead: number of results that may wait to be taken.
        resource: entered by each thread, and left when it ends.
        cores: cores that the threads run on; empty: those of the process.
        watch: gets the seconds of "wait" (for results), and of all threads "work" and "idle" (between two
            tasks, waiting for a result to be taken).
        workers: a list that receives the threads, so that others can wait for them.

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
        resource: AbstractContextManager[Any] | None = None,
        cores: Sequence[int] = (),
        watch: Stopwatch | None = None,
        workers: list[Worker] | None = None,
    ) -> None:
        self.watch, self.resource = watch or Stopwatch(), resource or nullcontext()
        self._work, self._tasks, self._cores = work, iter(tasks), cores
        self._arithmetic = default_arithmetic()
        self._pending: deque[_Entry[Task, Result]] = deque()
        self._signal = _Signal(self)
        self._workers = [] if workers is None else workers
        self._teams: list[_Team[Task, Result]] = []  # the last team receives tasks
        self._name = f"orbbec-data-{next(_numbers)}"
        self.resize(threads, ahead)

    def resize(self, threads: int, ahead: int) -> None:
        """Continue with other numbers of threads and results; running tasks finish in their threads."""
        if self._teams:
            self._teams[-1].end()
        others, cores, arithmetic = torch.get_num_threads(), self._cores, self._arithmetic
        self._teams.append(
            _Team(self._work, lambda: begin_worker(others, cores, arithmetic), self._signal, self)
        )
        self._missing = threads  # threads of the last team that are not started yet
        self._limit = threads + ahead  # on tasks running or done

    def __iter__(self) -> Iterator[Result]:
        return self

    def __next__(self) -> Result:
        try:
            with self.watch.timing("wait"):
                return self._taken()
        except BaseException:  # Ctrl-C too
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
        """Whether the next result can be taken without waiting; False if it is an error."""
        self._fill()
        pending = self._pending
        return bool(pending) and pending[0].has_result()

    def promise(self) -> Promise[Result]:
        """The next result, to be taken by another thread."""
        self._fill()
        if not self._pending:
            raise StopIteration
        return self._pending.popleft()

    def stop(self) -> None:
        """Tell all threads to stop. A waiting consumer gets no result."""
        self._signal.set()
        pending, self._pending = self._pending, deque()
        tasks, self._tasks = self._tasks, iter(())
        getattr(tasks, "stop", lambda: None)()
        for team in self._teams:
            team.end()
        for entry in tuple(pending):
            entry.put(None, Stopped())

    def close(self) -> None:
        """Stop all threads and wait until they have ended."""
        self.stop()
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
    """End the threads of crews that were never closed, before the interpreter shuts down."""
    workers = [thread for thread in enumerate_threads() if isinstance(thread, Worker)]
    for worker in workers:
        if (team := worker.team) is not None:
            team.signal.set()
            team.end()
    for worker in workers:
        worker.wait(_LONGEST_END)
