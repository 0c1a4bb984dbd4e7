"""Shuffling what comes as a stream, where no index allows an exact shuffle."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count, islice
from typing import Any, Generic, TypeVar

import torch

from orbbec.data.order import place_of
from orbbec.philox import philox_draws
from orbbec.transforms.checks import whole

Item = TypeVar("Item")

_PLACE = 65534  # of a chain: that of no transform, nor that of `Order`
_AHEAD = 1024  # numbers drawn at once
_LARGEST = 2**24  # as many values as a uniform number has


class ShuffleBuffer(Generic[Item]):
    """A stream shuffled through a buffer: each item is drawn from `size`, and the next takes its place.

    An item can come at most `size` - 1 places early, and any number late. The order is a function of seed,
    epoch and the stream alone. The memory is that of `size` items.

    Args:
        items: an iterable that begins anew each time; a `set_epoch` that it has is called by this one's.
        size: of the buffer, from 1 (as they come) to 2^24.
        seed: from 0 to 2^63 - 1.

    Raises:
        ValueError: an argument is not one of those above.

    Example:
        >>> buffer = ShuffleBuffer(range(8), size=4, seed=2)
        >>> list(buffer)
        [2, 3, 5, 4, 0, 6, 1, 7]
        >>> buffer.load_state_dict(buffer.state_dict(delivered=6))
        >>> list(buffer)
        [1, 7]
    """

    def __init__(self, items: Iterable[Item], size: int, seed: int = 0) -> None:
        self.size = whole("ShuffleBuffer", "size", size, 1, _LARGEST)
        self.seed = whole("ShuffleBuffer", "seed", seed, 0, 2**63 - 1)
        self.items, self.epoch, self.start = items, 0, 0

    def __iter__(self) -> Iterator[Item]:
        return islice(self._shuffled(), self.start, None)

    def _shuffled(self) -> Iterator[Item]:
        numbers = self._uniforms()
        held: list[Item] = []
        for item in self.items:
            held.append(item)
            if len(held) == self.size:
                yield _take(held, next(numbers))
        while held:
            yield _take(held, next(numbers))

    def _uniforms(self) -> Iterator[float]:
        for block in count():
            yield from philox_draws(
                torch.tensor([block]), _AHEAD, seed=self.seed, epoch=self.epoch, place=_PLACE
            )[0].tolist()

    def set_epoch(self, epoch: int) -> None:
        """Begin an epoch; one that was resumed goes on where it stopped."""
        whole("ShuffleBuffer", "epoch", epoch, 0, 2**63 - 1)
        if epoch != self.epoch:
            self._begin(epoch, 0)

    def state_dict(self, delivered: int) -> dict[str, Any]:
        """Where the stream stands after `delivered` items of the epoch."""
        return {**self._identity(), "epoch": self.epoch, "start": self.start + delivered}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where a saved state stands; what comes before is read again and passed over.

        Raises:
            TypeError: the state is no dict, or a number in it is None.
            ValueError: it is of another size or seed, or says no place.
        """
        epoch, start = place_of("ShuffleBuffer", state)
        for name, value in self._identity().items():
            if state.get(name) != value:
                raise ValueError(
                    f"ShuffleBuffer: expected a state of {name} {value}, but got {state.get(name)}"
                )
        self._begin(epoch, start)

    def _begin(self, epoch: int, start: int) -> None:
        self.epoch, self.start = epoch, start
        if hasattr(self.items, "set_epoch"):
            self.items.set_epoch(epoch)

    def _identity(self) -> dict[str, int]:
        return {"size": self.size, "seed": self.seed}


def _take(held: list[Item], uniform: float) -> Item:
    """Remove the item that a number from 0 to 1 points at; the last one takes its place."""
    place = int(uniform * len(held))
    held[place], held[-1] = held[-1], held[place]
    return held.pop()
