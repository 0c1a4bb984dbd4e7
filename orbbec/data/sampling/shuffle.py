"""Random numbers and orders of an epoch, independent of those of transforms."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from orbbec.noise.philox import philox_draws

_WORDS = 2**32 - 1  # draws lie below this
_POSITION = 65535  # the last stream position, beyond any transform; others are below it
_MANTISSA = 53  # bits


@dataclass(frozen=True)
class Shuffle:
    """The random orders of one epoch; if not `enabled`, `permuted` changes nothing.

    Example:
        >>> Shuffle(1, 0).permuted(torch.arange(5)).tolist()
        [1, 4, 2, 3, 0]
    """

    seed: int
    epoch: int
    enabled: bool = True

    def permuted(self, values: Tensor, stream: int = 0) -> Tensor:
        """Values `[N, ...]` in random order; another stream gives an independent order."""
        if not self.enabled:
            return values
        return values[torch.argsort(self._keys(len(values), stream), stable=True)]

    def permutations(self, rows: int, count: int, stream: int) -> Tensor:
        """Independent orders of the numbers from 0 to `count` - 1: int64 `[rows, count]`."""
        if not self.enabled:
            return torch.arange(count, device="cpu").repeat(rows, 1)
        return torch.argsort(self._keys(rows * count, stream).reshape(rows, count), dim=1, stable=True)

    def uniform(self, count: int, stream: int = 1) -> Tensor:
        """Random numbers from 0 to below 1: float64 `[count]`, also if not enabled."""
        return (self._keys(count, stream) >> (63 - _MANTISSA)).to(torch.float64) * 2.0**-_MANTISSA

    def _keys(self, count: int, stream: int) -> Tensor:
        """Random int64 `[count]` of 63 bits."""
        words = philox_draws(
            torch.arange(count, device="cpu"),
            2,
            kind="below",
            below=_WORDS,
            seed=self.seed,
            epoch=self.epoch,
            transform_index=_POSITION - stream,
        ).to(torch.int64)
        return (words[:, 0] << 31) | (words[:, 1] >> 1)
