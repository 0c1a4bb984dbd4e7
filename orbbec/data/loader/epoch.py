"""One epoch of a Loader: batches go from its threads to the device and to the model."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter
from traceback import format_exception
from typing import Any

from orbbec.data.loader.assemble import Assembled
from orbbec.data.loader.queues import Crew, Stop
from orbbec.data.loader.tasks import Task
from orbbec.data.sample import BadSample, SourceError


@dataclass
class Progress:
    """An epoch, its start in the order of all ranks, and the number of samples this rank has taken since."""

    epoch: int
    start: int = 0
    delivered: int = 0


class Epoch(Iterator[Any]):
    """The batches of one epoch. The epoch begins when its first batch is requested.

    `prepare` is a thread's work on a task, and `finish` the work on a batch on the device's side stream.

    Dropping it drops its crew, which stops the threads. Neither this object nor its members are generators,
    because Python would close a generator wherever the garbage collector runs.
    """

    def __init__(
        self,
        loader: Any,
        prepare: Callable[[Task, Stop], tuple[int, Assembled]],
        finish: Callable[[Assembled], Any],
    ) -> None:
        self._loader, self._prepare, self._finish = loader, prepare, finish
        self._crew: Crew[Task, tuple[int, Assembled]] | None = None  # set when the epoch begins
        self._progress, self._process = Progress(0), 0
        self._staged: deque[tuple[int, Any, Any]] = deque()
        self._is_over = self._is_displaced = False
        self._handed = 0.0  # time when the model got its batch
        self._number = 0  # of the next batch of the crew

    @property
    def open_progress(self) -> Progress | None:
        """The open epoch; None before it begins and after it ends."""
        return None if self._crew is None or self._is_over else self._progress

    def __next__(self) -> Any:
        if self._is_displaced:
            raise RuntimeError("Loader: expected one epoch at a time, but a newer epoch ended this one")
        if self._is_over:
            raise StopIteration
        try:
            if self._crew is None:
                self._process = os.getpid()
                self._progress, self._crew = self._loader._begin(self._prepare)
            elif self._process != os.getpid():
                raise RuntimeError("Loader: expected an epoch of this process, but it began before a fork")
            else:
                self._loader._assembler.watch.add("step", perf_counter() - self._handed)
            batch = self._taken(self._crew)
        except StopIteration:
            if not self._is_over:
                self._is_over = True
                self._loader._end()
            raise
        except (BadSample, SourceError) as error:
            self.close()
            raise _short(error) from None
        except BaseException:  # Ctrl-C too
            self.close()
            raise
        self._handed = perf_counter()
        return batch

    def close(self) -> None:
        """Stop the threads and wait until they have ended. Threads that wait for a batch get none."""
        self._is_over, self._staged = True, deque()
        if self._crew is not None:
            self._crew.close()

    def displace(self) -> None:
        """Like `close`, but requests for more batches raise an explanation."""
        self._is_displaced = not self._is_over
        self.close()

    def _taken(self, crew: Crew[Task, tuple[int, Assembled]]) -> Any:
        """The next batch for the model, without batches whose samples were all skipped."""
        loader = self._loader
        while True:
            count, batch, event = self._next(crew)
            self._progress.delivered += count
            loader._at = self._progress
            if len(batch.sample_ids):
                loader._images += len(batch.sample_ids)
                return loader._staging.ready(batch, event)

    def _next(self, crew: Crew[Task, tuple[int, Assembled]]) -> tuple[int, Any, Any]:
        """The oldest batch on the device; sends more batches that are ready."""
        loader, staged = self._loader, self._staged
        while not staged or (len(staged) < loader._staging.depth and crew.has_next()):
            is_busy, began = loader._staging.mark(), perf_counter()
            count, prepared = next(crew)
            if is_busy():
                loader._assembler.watch.add("hidden", perf_counter() - began)
            is_tuned = loader._tuner.step(loader.seconds)
            if is_tuned or loader._assembler.needs_makers():
                crew.resize(*loader._assembler.crew(*loader._tuner.settings, loader.batch_size))
            staged.append((count, *loader._staging.stage(self._finish, prepared)))
            loader._memory.end(self._number)
            self._number += 1
        return staged.popleft()


def _short(error: BadSample | SourceError) -> BadSample | SourceError:
    """The error without traceback and cause, which `details` keeps as text."""
    error.details = "".join(format_exception(error))
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)
