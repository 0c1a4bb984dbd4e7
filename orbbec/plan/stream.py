"""Random numbers of a whole batch at once, each a function of its place alone."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import lru_cache
from typing import Any

import numpy as np

from orbbec.binding.arguments import Array

_MASK = np.uint64(0xFFFFFFFF)
_LOW, _SHIFT = 0xFFFFFFFF, np.uint64(32)
_ROUND_KEYS = (0x9E3779B9, 0xBB67AE85)
_FACTORS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))


def philox(counter: Sequence[Any], key: tuple[int, int]) -> list[Array]:
    """Philox4x32-10: the four words of each block, as uint64 below 2^32.

    Args:
        counter: four words, uint64 arrays or numbers that broadcast.
        key: two words.

    Source:
        Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3 (2011).

    Example:
        >>> [f"{int(word):08x}" for word in philox([np.uint64(0)] * 4, (0, 0))]
        ['6627e8d5', 'e169c58d', 'bc57ac4c', '9b00dbd8']
    """
    a, b, c, d = counter
    low, high = key
    for _ in range(10):
        left, right = a * _FACTORS[0], c * _FACTORS[1]
        a = (right >> _SHIFT) ^ b ^ np.uint64(low)
        c = (left >> _SHIFT) ^ d ^ np.uint64(high)
        b, d = right & _MASK, left & _MASK
        low, high = (low + _ROUND_KEYS[0]) & _LOW, (high + _ROUND_KEYS[1]) & _LOW
    return [a, b, c, d]


@lru_cache
def key_of(seed: int, epoch: int) -> tuple[int, int]:
    """The Philox key that stands for a seed and an epoch."""
    counter = [np.uint64(word) for word in (epoch & _LOW, epoch >> 32, 0, 0)]
    first, second, *_ = philox(counter, (seed & _LOW, seed >> 32))
    return int(first), int(second)


def uniforms(sample_ids: Array, places: Array, count: int, key: tuple[int, int]) -> Array:
    """The first `count` numbers of every sample at every place: float64 `[places, N, count]`.

    Number `i` is word `i % 4` of the block at draw number `i // 4`, its upper 24 bits: 0 to 1 - 2^-24.
    """
    ids = sample_ids.astype(np.int64).view(np.uint64)[None, :, None]
    blocks = np.arange(-(-count // 4), dtype=np.uint64)[None, None, :]
    shape = (len(places), ids.shape[1], blocks.shape[2])
    upper = (places.astype(np.uint64) << np.uint64(16))[:, None, None]
    counter = [np.broadcast_to(word, shape) for word in (blocks, upper, ids & _MASK, ids >> _SHIFT)]
    words = np.stack(philox(counter, key), -1).reshape(*shape[:2], -1)[..., :count]
    return (words >> np.uint64(8)).astype(np.float64) * 2.0**-24


class Stream:
    """The numbers of one transform: rows of samples, drawn in order.

    What a sample draws depends on seed, epoch, its id and the place in the chain, and on nothing else: not on
    the batch that it is in.

    Args:
        sample_ids: int64 `[N]`.
        seed: from 0 to 2^63 - 1.
        epoch: from 0 to 2^63 - 1.
        place: of the transform in its chain, from 0 to 65535.

    Example:
        >>> both = Stream(np.array([7, 8]), seed=1).uniforms(3)
        >>> bool((Stream(np.array([8]), seed=1).uniforms(3) == both[1]).all())
        True
    """

    _AHEAD = 8  # numbers drawn at once for every place of a chain

    def __init__(self, sample_ids: Array, seed: int = 0, epoch: int = 0, place: int = 0) -> None:
        self.sample_ids = np.ascontiguousarray(sample_ids, np.int64)
        self.seed, self.epoch, self.place = seed, epoch, place
        self._key = key_of(seed, epoch)
        self._drawn = np.zeros((len(self.sample_ids), 0))
        self._position = 0

    def at_places(self, count: int) -> list[Stream]:
        """The streams of places 0 to `count` - 1; the first numbers of all are drawn at once."""
        first = uniforms(self.sample_ids, np.arange(count), self._AHEAD, self._key)
        streams = []
        for place in range(count):
            stream = self.again()
            stream.place, stream._drawn = place, first[place]
            streams.append(stream)
        return streams

    def again(self) -> Stream:
        """The same numbers from the first on."""
        stream = copy(self)
        stream._position = 0
        return stream

    def __len__(self) -> int:
        return len(self.sample_ids)

    def uniforms(self, count: int) -> Array:
        """The next numbers, from 0 to 1 - 2^-24: float64 `[N, count]`."""
        begin, end = self._position, self._position + count
        if end > self._drawn.shape[1]:
            self._drawn = uniforms(self.sample_ids, np.array([self.place]), end, self._key)[0]
        self._position = end
        return self._drawn[:, begin:end]

    def between(self, low: Any, high: Any) -> Array:
        """One number a sample, from `low` to `high`: float64 `[N]`. Both may be arrays `[N]`."""
        result: Array = low + self.uniforms(1)[:, 0] * (high - low)
        return result

    def below(self, n: Any) -> Array:
        """One whole number a sample, from 0 to `n` - 1: int64 `[N]`. `n` may be an array `[N]`."""
        result: Array = (self.uniforms(1)[:, 0] * n).astype(np.int64)
        return result

    def chance(self, p: float) -> Array:
        """True with probability `p`: bool `[N]`."""
        result: Array = self.uniforms(1)[:, 0] < p
        return result

    def permutation(self, n: int) -> Array:
        """The numbers 0 to `n` - 1 in random order: int64 `[N, n]`."""
        return np.argsort(self.uniforms(n), axis=1, kind="stable")

    def normals(self, count: int) -> Array:
        """Normal numbers of mean 0 and deviation 1, by Box and Muller: float64 `[N, count]`."""
        pairs = self.uniforms(2 * count).reshape(len(self), count, 2)
        result: Array = np.sqrt(-2 * np.log1p(-pairs[..., 0])) * np.cos(2 * np.pi * pairs[..., 1])
        return result

    def gammas(self, alpha: float, count: int, tries: int = 16) -> Array:
        """Numbers of the gamma distribution of shape `alpha`: float64 `[N, count]`.

        Source:
            Marsaglia, Tsang: A simple method for generating gamma variables (2000).
        """
        shape = alpha if alpha >= 1 else alpha + 1
        d = shape - 1 / 3
        x = self.normals(count * tries).reshape(len(self), count, tries)
        u = 1 - self.uniforms(count * tries).reshape(len(self), count, tries)
        v = (1 + x / np.sqrt(9 * d)) ** 3
        with np.errstate(invalid="ignore", divide="ignore"):
            good = (v > 0) & (np.log(u) < 0.5 * x * x + d - d * v + d * np.log(v))
        first = good.argmax(-1)[..., None]  # none in 16 tries: one in 10^20
        result: Array = d * np.take_along_axis(v, first, -1)[..., 0]
        boost = 1 - self.uniforms(count) if alpha < 1 else None
        return result if boost is None else result * boost ** (1 / alpha)

    def betas(self, alpha: float) -> Array:
        """Numbers of the distribution Beta(alpha, alpha): float64 `[N]`."""
        pair = self.gammas(alpha, 2)
        result: Array = pair[:, 0] / np.maximum(pair.sum(1), np.finfo(np.float64).tiny)
        return result
