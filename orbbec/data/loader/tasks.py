"""The tasks of an epoch: the items of each batch, by index or from a stream.

::

    order:   indices of a batch  -------------------------------------------->  threads that make batches
    stream:  a thread reads the samples of a batch at a time --> promises  -->  wait for their samples
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import count, islice, pairwise, repeat
from typing import Any, TypeAlias

from torch import Tensor

from orbbec.data.loader.queues import Crew, Promise, Stop, Worker, until
from orbbec.data.readers.wrap import WrappedStream

# Items to read, the epoch, and the number of the batch in it.
Task: TypeAlias = tuple[Sequence[Any] | Promise[Sequence[Any]], int, int]


class IndexTasks(Iterator[Task]):
    """The indices of each batch of an epoch, between two bounds."""

    def __init__(self, indices: Tensor, epoch: int, bounds: Sequence[int]) -> None:
        self._batches = enumerate(pairwise(bounds))
        self._indices, self._epoch = indices, epoch

    def __next__(self) -> Task:
        number, (begin, end) = next(self._batches)
        return self._indices[begin:end].tolist(), self._epoch, number


class StreamTasks(Iterator[Task]):
    """Promises of the samples of each batch, which one thread reads in order; `workers` receives the thread.

    The first `start` samples are skipped. The thread reads no further than the promises, and its errors are
    raised where a promise is taken, StopIteration after the last sample.
    """

    def __init__(
        self, stream: Any, epoch: int, start: int, batch_size: int, drop_last: bool, workers: list[Worker]
    ) -> None:
        reader = _Reader(stream, start, batch_size, batch_size if drop_last else 1)
        self._crew = Crew(reader.read, repeat(None), threads=1, ahead=0, resource=reader, workers=workers)
        self._epoch, self._numbers = epoch, count()

    def __next__(self) -> Task:
        return self._crew.promise(), self._epoch, next(self._numbers)

    def stop(self) -> None:
        """Stop the thread after the sample that it reads; promises end."""
        self._crew.stop()


class _Reader(AbstractContextManager["_Reader"]):
    """Reads the samples of one batch after the other. The thread that leaves it drops the iterator."""

    def __init__(self, stream: Any, start: int, batch_size: int, fewest: int) -> None:
        self._stream, self._start, self._batch_size, self._fewest = stream, start, batch_size, fewest
        self._samples: Iterator[Any] | None = None
        self._items = stream.items if isinstance(stream, WrappedStream) else stream

    def read(self, _: None, stop: Stop) -> Sequence[Any]:
        begins = self._samples is None
        samples = list(until(stop, islice(self._begun(stop), self._batch_size)))
        if begins and not samples and not self._start and isinstance(self._items, Iterator):
            raise ValueError(
                "Loader: expected a stream that begins anew each epoch, but the iterator has ended"
            )
        if len(samples) < self._fewest:
            raise StopIteration
        return samples

    def __exit__(self, *_: object) -> None:
        self._samples = None

    def _begun(self, stop: Stop) -> Iterator[Any]:
        if self._samples is None:
            self._samples = self._after_start(stop)
        return self._samples

    def _after_start(self, stop: Stop) -> Iterator[Any]:
        samples: Iterator[Any] = iter(self._stream)
        passed = sum(1 for _ in until(stop, islice(samples, self._start)))
        if passed < self._start:
            raise ValueError(f"Loader: expected a stream of at least {self._start} samples, but got {passed}")
        return samples
