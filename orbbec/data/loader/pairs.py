"""Pair images of mixes from the source: which samples each sample of a batch is mixed with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from orbbec.plan.stream import Stream

_STREAM = 65535  # of a pipeline's last possible transform
_STEPS = 2**24  # of a random number


def pairs_of(indices: Sequence[int], count: int, length: int, seed: int, epoch: int) -> list[int]:
    """The indices of `count` pair images of each sample, one sample after the other.

    Those of a sample depend only on seed, epoch and its index; a sample may be paired with itself.

    Args:
        indices: indices of the samples.
        count: pair images of each.
        length: number of samples of the source.
        seed: seed of the pipeline.
        epoch: the epoch.

    Example:
        >>> both = pairs_of([7, 8], 3, 1000, seed=1, epoch=0)
        >>> pairs_of([8], 3, 1000, seed=1, epoch=0) == both[3:]
        True
    """
    stream = Stream(np.array(indices, np.int64), seed, epoch, _STREAM)
    high, low = (stream.uniforms(2 * count).reshape(-1, 2) * _STEPS).astype(np.int64).T
    drawn: list[int] = ((high * _STEPS + low) % length).tolist()
    return drawn
