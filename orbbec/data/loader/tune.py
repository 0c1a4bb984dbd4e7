"""Tuning of a loader's threads and prefetch from queue stalls in its first steps."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from orbbec.transforms.base.checks import whole

_PREFETCH = 2  # initial value
_STEPS = 16  # steps of the model between two choices
_CHOICES = 4  # at most; even, since a choice that went too far is followed by one that reverts it
KEEPS_UP = 0.05  # largest fraction of its time that the model may wait
IDLE = 0.2  # fraction of the threads' time; smaller fractions are wake-up latency
_SPARE = 1.25  # threads per busy thread
_MOST_AHEAD = 8


class Settings(NamedTuple):
    """The tuned settings."""

    threads: int
    prefetch: int


def next_settings(now: Settings, spent: Mapping[str, float], budget: int) -> Settings:
    """The next settings, from the waiting times of both sides of the queue.

    ::

                            threads are busy      threads are idle
        the model waits     more threads          more batches ahead: batch times vary
        the model is busy   no change             as many threads as are busy, plus a quarter

    Args:
        now: the settings that were measured.
        spent: seconds: "wait" and "step" of the model, "idle" and "work" of the threads.
        budget: largest number of threads.

    Example:
        >>> spent = {"wait": 0.0, "step": 8.0, "idle": 24.0, "work": 8.0}  # of four threads, one would do
        >>> next_settings(Settings(threads=4, prefetch=2), spent, budget=4)
        Settings(threads=2, prefetch=2)
    """
    starves = _fraction(spent, "wait", "step") > KEEPS_UP
    idle = _fraction(spent, "idle", "work")
    if starves and idle > IDLE:
        return Settings(now.threads, min(max(2 * now.prefetch, 1), max(_MOST_AHEAD, now.prefetch)))
    if starves:
        return Settings(min(2 * now.threads, budget), now.prefetch)
    busy = now.threads * (1 - idle)
    return Settings(min(max(math.ceil(_SPARE * busy), 1), now.threads), now.prefetch)


def _fraction(spent: Mapping[str, float], part: str, other: str) -> float:
    whole = spent.get(part, 0.0) + spent.get(other, 0.0)
    return spent.get(part, 0.0) / whole if whole else 0.0


@dataclass
class Tuner:
    """Chooses settings a few times in the first steps of an epoch, until they no longer change.

    Args:
        settings: the initial settings.
        budget: largest number of threads.
        free: which of "threads" and "prefetch" may change.
    """

    settings: Settings
    budget: int
    free: frozenset[str]

    def __post_init__(self) -> None:
        self._choices = _CHOICES if self.free else 0
        self._steps, self._before = 0, dict[str, float]()

    def begin(self) -> None:
        """Begin an epoch with an empty queue."""
        self._steps = 0

    def step(self, seconds: Mapping[str, float]) -> bool:
        """Record a step of the model; returns whether the settings have changed.

        Args:
            seconds: total seconds so far, in the form of `next_settings`.
        """
        if not self._choices:
            return False
        self._steps += 1
        filled = self._steps - sum(self.settings)  # steps since the queue was first full
        if filled == 0:
            self._before = dict(seconds)
        if filled < _STEPS:
            return False
        spent = {name: value - self._before.get(name, 0.0) for name, value in seconds.items()}
        chosen = next_settings(self.settings, spent, self.budget)
        chosen = self.settings._replace(**{name: getattr(chosen, name) for name in self.free})
        changed = chosen != self.settings
        self._choices = self._choices - 1 if changed else 0
        self.settings, self._steps = chosen, 0
        return changed


def tuner_for(threads: int | str, prefetch: int | str, budget: int) -> Tuner:
    """The tuner of a `Loader`, whose arguments are numbers or "auto", for at most `budget` threads."""
    requests = {"threads": threads, "prefetch": prefetch}
    settings = Settings(
        budget if threads == "auto" else whole("Loader", "threads", threads, 1),
        _PREFETCH if prefetch == "auto" else whole("Loader", "prefetch", prefetch, 0),
    )
    return Tuner(settings, budget, frozenset(name for name, value in requests.items() if value == "auto"))
