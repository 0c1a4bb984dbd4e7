"""Pair images of mixes from the source: which samples each sample of a batch is mixed with.

::

    indices of a batch --> and their pairs for the last mix --> and the pairs of all for the mix before it

A mix combines the first images with the last ones, which end there; the first ones are those of the next mix.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from orbbec.plan.stream import Stream

_STREAM = 65535  # of a pipeline's last possible transform: that of the first mix; the others are before it
_STEPS = 2**24  # of a random number


def with_pairs(
    indices: Sequence[int], counts: Sequence[int], length: int, seed: int, epoch: int
) -> list[int]:
    """The indices of samples, and those of their pair images for all mixes.

    `counts` has the pair images of each for each mix, see `Compose.others`; `length` is that of the source.

    Example:
        >>> mixed = with_pairs([7], [3, 1], 1000, seed=1, epoch=0)  # of two mosaics of four samples
        >>> len(mixed), mixed == with_pairs(mixed[:2], [3], 1000, seed=1, epoch=0)
        (8, True)
    """
    found = list(indices)
    for mix, count in reversed([*enumerate(counts)]):
        found += pairs_of(found, count, length, seed, epoch, mix) if count else []
    return found


def owner_of(row: int, count: int, counts: Sequence[int]) -> int:
    """The row of the sample, of `count`, to which a row belongs; see `with_pairs`.

    Example:
        >>> [owner_of(row, 2, [3, 1]) for row in range(16)]
        [0, 1, 0, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1]
    """
    for mix, number in enumerate(counts):
        first = count * prod(1 + other for other in counts[mix + 1 :])
        row = row if row < first else (row - first) // number
    return row


def pairs_of(
    indices: Sequence[int], count: int, length: int, seed: int, epoch: int, mix: int = 0
) -> list[int]:
    """The indices of `count` pair images of each sample, one sample after the other.

    Those of a sample depend only on seed, epoch, its index and the mix; a sample may be paired with itself.
    `length` is that of the source.

    Example:
        >>> both = pairs_of([7, 8], 3, 1000, seed=1, epoch=0)
        >>> pairs_of([8], 3, 1000, seed=1, epoch=0) == both[3:]
        True
    """
    stream = Stream(np.array(indices, np.int64), seed, epoch, _STREAM - mix)
    high, low = (stream.uniforms(2 * count).reshape(-1, 2) * _STEPS).astype(np.int64).T
    drawn: list[int] = ((high * _STEPS + low) % length).tolist()
    return drawn
