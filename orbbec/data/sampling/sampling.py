"""Samplings: what an epoch has instead of each sample once."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from orbbec.bridge.arguments import Array
from orbbec.bridge.plain import shown
from orbbec.data.sampling.copies import MAX_COPIES, numbered
from orbbec.data.sampling.shuffle import Shuffle
from orbbec.transforms.base.checks import entries, flag, whole

_STEP = 2  # stream of the order of samples that were drawn


@runtime_checkable
class Sampling(Protocol):
    """What an epoch of an `Order` has."""

    def entries(self, length: int, world_size: int) -> int:
        """The number of entries of an epoch of all ranks, the same in each epoch."""
        ...

    def sequence(self, length: int, world_size: int, shuffle: Shuffle) -> Tensor:
        """The entries of an epoch, as positions of copies: int64 `[entries]`; see copies.py."""
        ...

    def identity(self, world_size: int) -> dict[str, Any]:
        """What tells it apart, for saved states; JSON."""
        ...


@dataclass(frozen=True)
class Repeats:
    """Each sample several times per epoch, with different random parameters: repeated augmentation.

    The copies of a sample follow each other, so that with ranks each goes to another one. By default an epoch
    has as many entries as the source has samples, of which it takes a part, another in each epoch, as in
    DeiT's recipe.

    Args:
        copies: number of copies of a sample.
        samples: number of entries of an epoch of all ranks, at most `copies` times the length of the source;
            None: the length of the source.

    Source:
        Hoffer et al., "Augment your batch", 2020; Touvron et al., "Training data-efficient image
        transformers", 2021.

    Example:
        >>> from orbbec.data import Order
        >>> positions = Order(6, seed=1, sampling=Repeats(3)).indices()
        >>> (positions % 6).tolist(), (positions // 6).tolist()
        ([1, 1, 1, 4, 4, 4], [0, 1, 2, 0, 1, 2])
    """

    copies: int = 3
    samples: int | None = None

    def __post_init__(self) -> None:
        whole("Repeats", "copies", self.copies, 1, MAX_COPIES)
        if self.samples is not None:
            whole("Repeats", "samples", self.samples, 1)

    def entries(self, length: int, world_size: int) -> int:
        """See `Sampling`."""
        samples = length if self.samples is None else self.samples
        if samples > length * self.copies:
            raise ValueError(
                f"Repeats: expected at most {length * self.copies} samples, {self.copies} times the length "
                f"of the source, but got {samples}"
            )
        return samples

    def sequence(self, length: int, world_size: int, shuffle: Shuffle) -> Tensor:
        """See `Sampling`."""
        entries = self.entries(length, world_size)
        chosen = shuffle.permuted(torch.arange(length, device="cpu"))[: -(-entries // self.copies)]
        copies = torch.arange(self.copies, device="cpu") * length
        return (chosen[:, None] + copies).flatten()[:entries]

    def identity(self, world_size: int) -> dict[str, Any]:
        """See `Sampling`."""
        return {"repeats": self.copies, "samples": self.samples}


class Weights:
    """Samples drawn with replacement, with probabilities in proportion to their weights.

    Args:
        weights: a number from 0 for each sample of the source, such as 1 by the number of samples of its
            class.
        samples: number of entries of an epoch of all ranks; None: the number of weights.

    Raises:
        ValueError: a weight is negative or not finite, or all are 0.

    Example:
        >>> from orbbec.data import Order
        >>> (Order(4, seed=1, sampling=Weights([0, 3, 1, 0])).indices() % 4).tolist()
        [2, 1, 1, 1]
    """

    def __init__(self, weights: Sequence[float] | Array | Tensor, samples: int | None = None) -> None:
        table = _numbers("Weights", "weights", weights)
        if table.ndim != 1 or not (table >= 0).all() or not 0 < table.sum() < math.inf:
            raise ValueError(
                f"Weights: expected numbers from 0 with a positive sum, but got {table.tolist()!r:.80}"
            )
        self._ends = table.cumsum()
        self._last = int(np.flatnonzero(table)[-1])
        self.samples = len(table) if samples is None else whole("Weights", "samples", samples, 1)

    def entries(self, length: int, world_size: int) -> int:
        """See `Sampling`."""
        if len(self._ends) != length:
            raise ValueError(f"Weights: expected {length} weights, one per sample, but got {len(self._ends)}")
        return self.samples

    def sequence(self, length: int, world_size: int, shuffle: Shuffle) -> Tensor:
        """See `Sampling`."""
        drawn = shuffle.uniform(self.samples).numpy() * self._ends[-1]
        indices = np.searchsorted(self._ends, drawn, side="right").clip(max=self._last)
        return numbered(torch.from_numpy(indices), length)

    def identity(self, world_size: int) -> dict[str, Any]:
        """See `Sampling`."""
        return {"weights": zlib.crc32(self._ends.tobytes()), "samples": self.samples}


class Mixture:
    """Several sources, each a fixed fraction of an epoch, for a `ConcatDataset` of them.

    Each source goes through all of its samples before one is repeated; a source with fewer entries than
    samples has a random part of them in each epoch.

    Args:
        lengths: the length of each source.
        ratios: how much of an epoch each source has, as numbers from 0 in any unit.
        samples: number of entries of an epoch of all ranks; None: the sum of the lengths.

    Raises:
        ValueError: there are not as many ratios as lengths, a ratio is negative, all are 0, or a source
            without samples has a ratio above 0.

    Example:
        >>> from orbbec.data import Order
        >>> mixture = Mixture([100, 2], [1, 1], samples=8)
        >>> indices = Order(102, seed=1, sampling=mixture).indices() % 102
        >>> sorted(indices[indices >= 100].tolist())
        [100, 100, 101, 101]
    """

    def __init__(self, lengths: Sequence[int], ratios: Sequence[float], samples: int | None = None) -> None:
        several = entries("Mixture", "lengths", lengths)
        self.lengths = [whole("Mixture", "a length", length, 0) for length in several]
        table = _numbers("Mixture", "ratios", ratios)
        if table.shape != (len(self.lengths),) or not (table >= 0).all() or not 0 < table.sum() < math.inf:
            raise ValueError(
                f"Mixture: expected {len(self.lengths)} ratios from 0 with a positive sum, but got "
                f"{list(ratios)!r:.80}"
            )
        self.samples = sum(self.lengths) if samples is None else whole("Mixture", "samples", samples, 1)
        self.counts = _apportioned(table, self.samples)
        for number, (length, count) in enumerate(zip(self.lengths, self.counts, strict=True)):
            if count and not length:
                raise ValueError(f"Mixture: expected samples in source {number}, but its length is 0")

    def entries(self, length: int, world_size: int) -> int:
        """See `Sampling`."""
        if length != sum(self.lengths):
            raise ValueError(f"Mixture: expected lengths with the sum {length}, but got {self.lengths}")
        return self.samples

    def sequence(self, length: int, world_size: int, shuffle: Shuffle) -> Tensor:
        """See `Sampling`."""
        chosen, begin = [], 0
        for number, (part, count) in enumerate(zip(self.lengths, self.counts, strict=True)):
            passes = -(-count // max(part, 1))
            chosen.append(begin + shuffle.permutations(passes, part, _STEP + 1 + number).flatten()[:count])
            begin += part
        indices = torch.cat(chosen)
        if not shuffle.enabled:
            indices = indices[np.concatenate(list(map(_even, self.counts))).argsort(kind="stable")]
        return numbered(shuffle.permuted(indices, _STEP), length)

    def identity(self, world_size: int) -> dict[str, Any]:
        """See `Sampling`."""
        return {"lengths": self.lengths, "counts": self.counts}


def _even(count: int) -> Array:
    """Positions from 0 to 1 at equal distances."""
    return (np.arange(count) + 0.5) / max(count, 1)


def _apportioned(table: Array, samples: int) -> list[int]:
    """Whole numbers in proportion to ratios, with the sum `samples`; largest remainders are rounded up."""
    exact = table / table.sum() * samples
    counts = np.floor(exact).astype(np.int64)
    rest = np.argsort(counts - exact, kind="stable")[: samples - int(counts.sum())]
    counts[rest] += 1
    return [int(count) for count in counts]


class Buckets:
    """Batches of samples of one bucket each, such as images of like aspect.

    The samples of each bucket are shuffled and divided into steps of `batch_size` samples for each rank, and
    the steps of all buckets are shuffled. All ranks have the same bucket in a step.

    Args:
        buckets: the number of the bucket of each sample, from 0; see `aspect_buckets`.
        batch_size: images per batch, that of the `Loader`.
        drop_last: drop the last samples of a bucket that do not fill a step. False: repeat samples of the
            bucket.

    Raises:
        ValueError: a number is negative.

    Example:
        >>> from orbbec.data import Order
        >>> order = Order(6, seed=1, sampling=Buckets([0, 1, 0, 1, 0, 1], batch_size=2))
        >>> (order.indices() % 6).reshape(-1, 2).tolist()
        [[1, 5], [0, 4], [3, 1], [4, 2]]
    """

    def __init__(
        self, buckets: Sequence[int] | Array | Tensor, batch_size: int, drop_last: bool = False
    ) -> None:
        table = np.asarray(buckets)
        if table.ndim != 1 or table.dtype.kind not in "iu" or (table < 0).any():
            raise ValueError(f"Buckets: expected whole numbers from 0, but got {table.tolist()!r:.80}")
        self._buckets = torch.from_numpy(table.astype(np.int64))
        self.batch_size = whole("Buckets", "batch_size", batch_size, 1)
        self.drop_last = flag("Buckets", "drop_last", drop_last)

    def entries(self, length: int, world_size: int) -> int:
        """See `Sampling`."""
        if len(self._buckets) != length:
            found = len(self._buckets)
            raise ValueError(f"Buckets: expected {length} numbers, one per sample, but got {found}")
        return sum(self._sizes(world_size))

    def _sizes(self, world_size: int) -> list[int]:
        """The number of entries of each bucket."""
        step = self.batch_size * world_size
        counts = torch.bincount(self._buckets)
        steps = counts // step if self.drop_last else -(-counts // step)
        return [int(count) * step for count in steps]

    def sequence(self, length: int, world_size: int, shuffle: Shuffle) -> Tensor:
        """See `Sampling`."""
        order = shuffle.permuted(torch.arange(length, device="cpu"))
        buckets = self._buckets[order]
        chosen = [torch.zeros(0, dtype=torch.int64, device="cpu")]
        for bucket, size in enumerate(self._sizes(world_size)):
            members = order[buckets == bucket]
            chosen.append(members[torch.arange(size, device="cpu") % len(members)])
        steps = torch.cat(chosen).reshape(-1, self.batch_size * world_size)
        return numbered(shuffle.permuted(steps, _STEP).flatten(), length)

    def identity(self, world_size: int) -> dict[str, Any]:
        """See `Sampling`."""
        digest = zlib.crc32(self._buckets.numpy().tobytes())
        return {"buckets": digest, "step": self.batch_size * world_size, "drop_last": self.drop_last}


def aspect_buckets(sizes: Sequence[tuple[int, int]] | Array, bounds: Sequence[float] = (1.0,)) -> Array:
    """The bucket of each image by its width divided by its height.

    Args:
        sizes: (height, width) of each image, such as `Coco.sizes`.
        bounds: rising bounds between the buckets; a ratio that is equal to a bound is above it.

    Returns:
        int64 `[N]`.

    Example:
        >>> aspect_buckets([(480, 640), (640, 480), (500, 500)]).tolist()
        [1, 0, 1]
    """
    table, ends = (_numbers("aspect_buckets", *each) for each in (("sizes", sizes), ("bounds", bounds)))
    table = table.reshape(0, 2) if table.size == 0 else table
    if table.ndim != 2 or table.shape[1] != 2 or not (table > 0).all():
        raise ValueError(f"aspect_buckets: expected positive sizes [N, 2], but got {shown(sizes)}")
    if ends.ndim != 1 or not (np.diff(ends) >= 0).all():
        raise ValueError(f"aspect_buckets: expected rising bounds, but got {shown(bounds)}")
    return np.searchsorted(ends, table[:, 1] / table[:, 0], side="right")


def _numbers(op: str, name: str, values: Any) -> Array:
    """Numbers of any kind as float64."""
    try:
        return np.asarray(values, np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{op}: expected {name} as numbers, but got {shown(values)}") from error
