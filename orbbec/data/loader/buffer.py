"""A shuffle buffer for streams, which have no index for an exact shuffle."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count, islice
from typing import Any, Generic, TypeVar

import torch

from orbbec.data.order import position_of
from orbbec.noise.philox import philox_draws
from orbbec.transforms.base.checks import whole

Item = TypeVar("Item")

_POSITION = 65534  # stream position that no transform and no `Order` uses
_AHEAD = 1024  # numbers drawn at once
_LARGEST = 2**24  # number of distinct values of a uniform draw


class ShuffleBuffer(Generic[Item]):
    """Shuffle a stream through a buffer: draw an item from the buffer, then refill it from the stream.

    An item can come at most `size` - 1 positions early, and arbitrarily late. The order depends only on seed,
    epoch and the stream. The buffer holds `size` items in memory.

    Args:
        items: an iterable that can be iterated repeatedly; its `set_epoch`, if any, is called by this one's.
        size: size of the buffer, from 1 (no shuffling) to 2^24.
        seed: from 0 to 2^63 - 1.

    Raises:
        ValueError: an argument is out of range.

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
        buffer: list[Item] = []
        for item in self.items:
            buffer.append(item)
            if len(buffer) == self.size:
                yield _take(buffer, next(numbers))
        while buffer:
            yield _take(buffer, next(numbers))

    def _uniforms(self) -> Iterator[float]:
        for block in count():
            block_ids = torch.tensor([block], device="cpu")
            yield from philox_draws(
                block_ids, _AHEAD, seed=self.seed, epoch=self.epoch, transform_index=_POSITION
            )[0].tolist()

    def set_epoch(self, epoch: int) -> None:
        """Begin an epoch; a resumed epoch continues where it stopped."""
        epoch = whole("ShuffleBuffer", "epoch", epoch, 0, 2**63 - 1)
        if epoch != self.epoch:
            self._begin(epoch, 0)

    def state_dict(self, delivered: int) -> dict[str, Any]:
        """The state of the stream after `delivered` items of the epoch."""
        return {**self._identity(), "epoch": self.epoch, "start": self.start + delivered}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state; earlier items are read again and skipped.

        Raises:
            TypeError: the state is not a dict, or a number in it is None.
            ValueError: the state has another size or seed, or no valid position.
        """
        self._begin(*position_of("ShuffleBuffer", state, self._identity()))

    def _begin(self, epoch: int, start: int) -> None:
        self.epoch, self.start = epoch, start
        if hasattr(self.items, "set_epoch"):
            self.items.set_epoch(epoch)

    def _identity(self) -> dict[str, int]:
        return {"size": self.size, "seed": self.seed}


def _take(buffer: list[Item], uniform: float) -> Item:
    """Remove the item selected by a number from 0 to 1, and move the last item there."""
    index = int(uniform * len(buffer))
    buffer[index], buffer[-1] = buffer[-1], buffer[index]
    return buffer.pop()
