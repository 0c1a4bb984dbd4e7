"""Samplers of other programs as the order of a `Loader`."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor

from orbbec.data.order import bounds_of, position_of
from orbbec.data.sampling.copies import numbered
from orbbec.transforms.base.checks import whole


class SamplerOrder:
    """The order of a sampler, or of a batch sampler, of torch or of another program; made by a `Loader`.

    The sampler distributes over ranks itself. An index that it repeats in an epoch has other random
    parameters each time. The order of an epoch is read when the epoch begins, after `set_epoch`, if the
    sampler has it.
    """

    def __init__(self, sampler: Iterable[Any], length: int) -> None:
        self.sampler, self.length = sampler, length
        self._epoch = -1
        self._positions = torch.zeros(0, dtype=torch.int64, device="cpu")
        self._ends: list[int] | None = None  # of the batches of a batch sampler

    def _read(self, epoch: int) -> None:
        if epoch == self._epoch:
            return
        set_epoch = getattr(self.sampler, "set_epoch", None)
        if set_epoch is not None:
            set_epoch(epoch)
        items = list(self.sampler)
        if not items and isinstance(self.sampler, Iterator):
            raise ValueError(
                "Loader: expected a sampler that begins anew each epoch, but the iterator has ended"
            )
        batches = [list(item) if isinstance(item, (list, tuple)) else [item] for item in items]
        indices = [self._index(index) for batch in batches for index in batch]
        self._positions = numbered(torch.tensor(indices, dtype=torch.int64, device="cpu"), self.length)
        is_batched = bool(items) and isinstance(items[0], (list, tuple))
        self._ends = list(accumulate(map(len, batches))) if is_batched else None
        self._epoch = epoch

    def _index(self, index: Any) -> int:
        return whole("Loader", "an index of the sampler", index, 0, self.length - 1)

    def indices(self, epoch: int, start: int) -> Tensor:
        """The positions that follow, see copies.py: int64 `[N]`."""
        self._read(epoch)
        return self._positions[start:]

    def bounds(self, epoch: int, start: int, batch_size: int, drop_last: bool) -> list[int]:
        """Where batches begin and end in `indices`."""
        self._read(epoch)
        if self._ends is not None:
            return [0, *(end - start for end in self._ends if end > start)]
        return bounds_of(len(self._positions) - start, batch_size, drop_last)

    def step_of(self, start: int, batch_size: int) -> int:
        """The number of the batch at a position of the epoch that was read last."""
        return start // batch_size if self._ends is None else sum(end <= start for end in self._ends)

    def state_dict(self, epoch: int, delivered: int, start: int = 0) -> dict[str, Any]:
        """The position, and what tells whether the sampler repeats its order."""
        taken = start + delivered
        return {"epoch": epoch, "start": taken, "order": self._digest(epoch, taken) if taken else 0}

    def resume(self, state: dict[str, Any]) -> tuple[int, int]:
        """The epoch and the start of a saved state.

        Raises:
            ValueError: the sampler has another order in this epoch now.
        """
        epoch, start = position_of("Loader", state)
        if start and state.get("order") != self._digest(epoch, start):
            raise ValueError(
                f"Loader: expected the sampler to repeat its order in epoch {epoch}, but it has another: "
                "give it a seed, or use an Order"
            )
        return epoch, start

    def _digest(self, epoch: int, taken: int) -> int:
        self._read(epoch)
        return zlib.crc32(self._positions[:taken].numpy().tobytes())
