"""A feed that the threads of a loader share; it runs while one of them does."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from orbbec.data.decode.native import feed_functions
from orbbec.data.locks import Locked
from orbbec.feed.feed import Feed

_READERS = 8  # most threads that only read


class SharedFeed(Locked):
    """Entered by each thread that uses it: it begins when first needed, and ends with the last of them.

    A forked process begins its own.

    Args:
        threads: number of threads that read and decode; 0: there is no feed.
        nice: added to their niceness.
        cores: cores that they run on; empty: those of the process.
    """

    def __init__(self, threads: int, nice: int = 0, cores: Sequence[int] = ()) -> None:
        super().__init__()
        self.is_on = threads > 0
        self._threads, self._nice, self._cores = threads, nice, cores

    def renew_lock(self) -> None:
        """Begin anew, also in a forked process, in which the threads do not exist."""
        super().renew_lock()
        self._users = 0
        self._feed: Feed | None = None

    def __enter__(self) -> SharedFeed:
        with self.lock:
            self._users += 1
        return self

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self._users -= 1
            if self._users == 0 and self._feed is not None:
                self._feed.end()
                self._feed = None

    @property
    def running(self) -> Feed | None:
        """The feed; None if there is none, nobody has entered it, or the system refuses more threads."""
        with self.lock:
            if self.is_on and self._users and self._feed is None:
                with suppress(RuntimeError):
                    self._feed = Feed(
                        self._threads,
                        feed_functions(),
                        readers=min(self._threads, _READERS),
                        nice=self._nice,
                        cores=self._cores,
                    )
            return self._feed

    def resize(self, threads: int) -> None:
        """Continue with another number of threads."""
        with self.lock:
            self._threads = threads
            if self._feed is not None:
                self._feed.resize(threads)
