"""Accumulated times and counts by name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

from orbbec.data.locks import Locked


class Stopwatch(Locked):
    """Seconds and counts by name, summed over all threads.

    Example:
        >>> watch = Stopwatch()
        >>> watch.add("read", 0.5)
        >>> with watch.timing("decode"):
        ...     pass
        >>> list(watch.seconds), watch.seconds["read"]
        (['read', 'decode'], 0.5)
    """

    def __init__(self) -> None:
        super().__init__()
        self.seconds: dict[str, float] = {}
        self.counts: dict[str, int] = {}

    def add(self, name: str, seconds: float) -> None:
        with self.lock:
            self.seconds[name] = self.seconds.get(name, 0.0) + seconds

    def count(self, name: str, number: int) -> None:
        with self.lock:
            self.counts[name] = self.counts.get(name, 0) + number

    @contextmanager
    def timing(self, name: str) -> Iterator[None]:
        """Add the duration of the block."""
        began = perf_counter()
        try:
            yield
        finally:
            self.add(name, perf_counter() - began)
