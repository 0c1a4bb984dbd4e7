"""Random numbers for a whole batch at once, each a function of its key and position."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
import torch

from orbbec._library import operators
from orbbec.bridge.arguments import Array

_AHEAD = 8  # numbers drawn at least: a call costs as much as a thousand


class Stream:
    """The random numbers of one transform, with a row per sample.

    The numbers of a sample depend only on seed, epoch, sample id and transform index, not on its batch.

    Args:
        sample_ids: int64 `[N]`.
        seed: from 0 to 2^63 - 1.
        epoch: from 0 to 2^63 - 1.
        transform_index: index of the transform in its pipeline, from 0 to 65535.

    Example:
        >>> both = Stream(np.array([7, 8]), seed=1).uniforms(3)
        >>> bool((Stream(np.array([8]), seed=1).uniforms(3) == both[1]).all())
        True
    """

    def __init__(self, sample_ids: Array, seed: int = 0, epoch: int = 0, transform_index: int = 0) -> None:
        self.sample_ids = np.ascontiguousarray(sample_ids, np.int64)
        self.seed, self.epoch, self.transform_index = seed, epoch, transform_index
        self._drawn = np.zeros((len(self.sample_ids), 0))
        self._position = 0

    def again(self) -> Stream:
        """The same stream from its beginning."""
        stream = copy(self)
        stream._position = 0
        return stream

    @property
    def key(self) -> tuple[int, int, int]:
        """Seed, epoch and transform index."""
        return self.seed, self.epoch, self.transform_index

    def __len__(self) -> int:
        return len(self.sample_ids)

    def uniforms(self, count: int) -> Array:
        """The next numbers, from 0 to 1 - 2^-24: float64 `[N, count]`."""
        begin, end = self._position, self._position + count
        if end > self._drawn.shape[1]:
            self._drawn = self._draw(max(end, 2 * self._drawn.shape[1], _AHEAD))
        self._position = end
        return self._drawn[:, begin:end]

    def skip(self, count: int) -> int:
        """Reserve the next numbers for an operator; returns the position of the first."""
        self._position += count
        return self._position - count

    def _draw(self, count: int) -> Array:
        """The first numbers of this transform: float64 `[N, count]`."""
        ids = torch.from_numpy(self.sample_ids)
        drawn = operators.philox_draws(ids, count, "uniform", 1, *self.key)
        result: Array = drawn.numpy().reshape(len(self), count)
        return result

    def between(self, low: Any, high: Any) -> Array:
        """One number per sample, from `low` to `high`: float64 `[N]`. Both may be arrays `[N]`."""
        result: Array = low + self.uniforms(1)[:, 0] * (high - low)
        return result

    def below(self, n: Any) -> Array:
        """One whole number per sample, from 0 to `n` - 1: int64 `[N]`. `n` may be an array `[N]`."""
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
        """Normal numbers of mean 0 and standard deviation 1, by Box and Muller: float64 `[N, count]`."""
        pairs = self.uniforms(2 * count).reshape(len(self), count, 2)
        result: Array = np.sqrt(-2 * np.log1p(-pairs[..., 0])) * np.cos(2 * np.pi * pairs[..., 1])
        return result

    def gammas(self, alpha: float, count: int, tries: int = 16) -> Array:
        """Numbers from the gamma distribution of shape `alpha`: float64 `[N, count]`.

        Source:
            Marsaglia, Tsang: A simple method for generating gamma variables (2000).
        """
        shape = alpha if alpha >= 1 else alpha + 1
        d = shape - 1 / 3
        x = self.normals(count * tries).reshape(len(self), count, tries)
        u = 1 - self.uniforms(count * tries).reshape(len(self), count, tries)
        v = (1 + x / np.sqrt(9 * d)) ** 3
        with np.errstate(invalid="ignore"):
            good = (v > 0) & (np.log(u) < 0.5 * x * x + d - d * v + d * np.log(v))
        first = good.argmax(-1)[..., None]  # no success in 16 tries: probability 10^-20
        result: Array = d * np.take_along_axis(v, first, -1)[..., 0]
        boost = 1 - self.uniforms(count) if alpha < 1 else None
        return result if boost is None else result * boost ** (1 / alpha)

    def dirichlets(self, alpha: float, count: int) -> Array:
        """Weights from the symmetric Dirichlet distribution: float64 `[N, count]`; each row sums to 1."""
        numbers = self.gammas(alpha, count)
        total = numbers.sum(1, keepdims=True)
        result: Array = np.divide(numbers, total, out=np.full_like(numbers, 1 / count), where=total > 0)
        return result

    def betas(self, alpha: float) -> Array:
        """Numbers from the distribution Beta(alpha, alpha): float64 `[N]`."""
        pair = self.gammas(alpha, 2)
        result: Array = pair[:, 0] / np.maximum(pair.sum(1), np.finfo(np.float64).tiny)
        return result
