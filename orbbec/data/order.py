"""The order of samples: shuffled per epoch, distributed over ranks and workers, resumable.

All ranks know one order of the samples of an epoch. They take samples in round-robin fashion, so that after
some steps the ranks together have taken a prefix of the order, and the rest can be distributed over another
number of ranks::

    order           5 2 7 0 3 6 1 4
    rank 0 of 2     5   7   3   1
    rank 1 of 2       2   0   6   4
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import Sampler

from orbbec.data.sampling.sampling import Sampling
from orbbec.data.sampling.shuffle import Shuffle
from orbbec.transforms.base.checks import choice, flag, whole

_LAST = 2**63 - 1  # of int64


@dataclass(frozen=True)
class Order:
    """The order in which one rank takes the samples of a source.

    Shuffling sorts by 63-bit keys, each a function of (seed, epoch, index): every order of the source is
    equally likely and independent of ranks, workers and batches.

    Args:
        length: length of the source.
        seed: from 0 to 2^63 - 1.
        shuffle: False: keep the order of the source in every epoch.
        rank: rank of this process, from 0 to `world_size` - 1.
        world_size: number of processes that share an epoch.
        tail: what happens if `world_size` does not divide the length. "keep": some ranks have one sample
            more; none is lost or repeated. "drop": the last samples are dropped. "pad": the first samples
            are repeated. "drop" and "pad" give all ranks equally many samples, as synchronized steps need.
        worker: worker of this rank, from 0 to `workers` - 1.
        workers: number of workers that share the rank's samples, again round-robin.
        sampling: what an epoch has instead of each sample once, such as `Repeats`, `Weights`, `Mixture` or
            `Buckets`; an index `i` then stands for copy `i // length` of sample `i % length`, and `shuffle`
            orders what the sampling takes.

    Raises:
        ValueError: an argument is out of range.

    Example:
        >>> order = Order(5, seed=1)
        >>> order.indices(epoch=0).tolist(), order.indices(epoch=1).tolist()
        ([1, 4, 2, 3, 0], [1, 2, 3, 4, 0])
        >>> [Order(5, seed=1, rank=rank, world_size=2).indices().tolist() for rank in (0, 1)]
        [[1, 2, 0], [4, 3]]
    """

    length: int
    seed: int = 0
    shuffle: bool = True
    rank: int = 0
    world_size: int = 1
    tail: str = "keep"
    worker: int = 0
    workers: int = 1
    sampling: Sampling | None = None

    def __post_init__(self) -> None:
        checked = {
            "length": whole("Order", "length", self.length, 0, _LAST),
            "seed": whole("Order", "seed", self.seed, 0, _LAST),
            "shuffle": flag("Order", "shuffle", self.shuffle),
            "world_size": whole("Order", "world_size", self.world_size, 1),
            "workers": whole("Order", "workers", self.workers, 1),
            "tail": choice("Order", "tail", self.tail, ("keep", "drop", "pad")),
        }
        checked["rank"] = whole("Order", "rank", self.rank, 0, self.world_size - 1)
        checked["worker"] = whole("Order", "worker", self.worker, 0, self.workers - 1)
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        if not isinstance(self.sampling, Sampling | None):
            raise TypeError(f"Order: expected a sampling or None, but got {type(self.sampling).__name__}")
        whole("Order", "entries of an epoch", self.entries, 0, _LAST)

    @property
    def entries(self) -> int:
        """The number of entries of an epoch of all ranks."""
        return self.length if self.sampling is None else self.sampling.entries(self.length, self.world_size)

    def __len__(self) -> int:
        """The number of samples in an epoch."""
        return self.count()

    def count(self, start: int = 0) -> int:
        """The number of samples from position `start` of the order on."""
        left = max(self.entries - start, 0)
        if self.tail == "drop":
            of_rank = left // self.world_size
        else:
            of_rank = _dealt(left, self.rank if self.tail == "keep" else 0, self.world_size)
        return _dealt(of_rank, self.worker, self.workers)

    def indices(self, epoch: int = 0, start: int = 0) -> Tensor:
        """The indices that are taken, in order.

        Args:
            epoch: from 0 to 2^63 - 1.
            start: position in the order of all ranks to begin at: see `resume`.

        Returns:
            int64 `[count(start)]` on the CPU.
        """
        start = whole("Order", "start", start, 0)
        order = self._sequence(epoch)
        first, step = start + self.rank + self.world_size * self.worker, self.world_size * self.workers
        taken = order[first::step][: self.count(start)]
        beyond = first + step * torch.arange(len(taken), self.count(start), device="cpu")
        return torch.cat([taken, order[beyond % self.entries]])

    def _sequence(self, epoch: int) -> Tensor:
        """The entries of an epoch of all ranks."""
        shuffle = Shuffle(self.seed, epoch, self.shuffle)
        if self.sampling is not None:
            return self.sampling.sequence(self.length, self.world_size, shuffle)
        return shuffle.permuted(torch.arange(self.length, device="cpu"))

    def bounds(self, epoch: int, start: int, batch_size: int, drop_last: bool) -> list[int]:
        """Where the batches of a `Loader` begin and end in `indices(epoch, start)`."""
        return bounds_of(self.count(start), batch_size, drop_last)

    def step_of(self, start: int, batch_size: int) -> int:
        """The number of the batch at a position of an epoch."""
        return start // (batch_size * self.world_size)

    def part(self, worker: int, workers: int) -> Order:
        """The order of one worker of this rank; the workers together take the rank's samples.

        Example:
            >>> rank = Order(8, shuffle=False, rank=1, world_size=2)
            >>> rank.indices().tolist(), [rank.part(worker, 2).indices().tolist() for worker in (0, 1)]
            ([1, 3, 5, 7], [[1, 5], [3, 7]])
        """
        return replace(self, worker=worker, workers=workers)

    def state_dict(self, epoch: int, delivered: int, start: int = 0) -> dict[str, Any]:
        """The state of all ranks, to be saved with the model.

        Args:
            epoch: the epoch.
            delivered: number of samples of `indices(epoch, start)` that each rank has received from its
                workers.
            start: start of the epoch.

        Example:
            >>> state = Order(6, seed=1, world_size=2).state_dict(epoch=3, delivered=2)
            >>> epoch, start = Order(6, seed=1, world_size=1).resume(state)
            >>> epoch, start, len(Order(6, seed=1).indices(epoch, start))
            (3, 4, 2)
        """
        delivered = whole("Order", "delivered", delivered, 0)
        taken = min(start + delivered * self.world_size, self.entries)  # padding lies beyond the order
        return {**self._identity(), "epoch": epoch, "start": taken}

    def resume(self, state: dict[str, Any]) -> tuple[int, int]:
        """The epoch and the start of a saved state, for `indices`, also with another number of ranks.

        Raises:
            TypeError: the state is not a dict, or a number in it is None.
            ValueError: the state belongs to another order, or its position is invalid.
        """
        return position_of("Order", state, self._identity(), self.entries)

    def _identity(self) -> dict[str, Any]:
        identity = {"length": self.length, "seed": self.seed, "shuffle": self.shuffle}
        return identity if self.sampling is None else identity | self.sampling.identity(self.world_size)


def position_of(
    op: str, state: Any, identity: Mapping[str, Any] | None = None, length: float = math.inf
) -> tuple[int, int]:
    """The epoch and the start of a saved state of this identity, in an epoch of this length."""
    if not isinstance(state, Mapping):
        raise TypeError(f"{op}: expected a state as a dict, but got {type(state).__name__}")
    for name in ("epoch", "start"):
        if name not in state:
            found = ", ".join(map(str, state)) or "an empty dict"
            raise ValueError(f"{op}: expected a state with '{name}', but got {found}")
    if identity is not None:
        for name in {**identity, **state}:
            value, actual = identity.get(name), state.get(name)
            if name not in ("epoch", "start") and actual != value:
                raise ValueError(f"{op}: expected a state of {name} {value}, but got {actual}")
    epoch = whole(op, "epoch of a state", state["epoch"], 0, _LAST)
    return epoch, whole(op, "start of a state", state["start"], 0, length)


def _dealt(count: int, taker: int, takers: int) -> int:
    """How many of `count` samples taker number `taker` gets in round-robin order."""
    return (count - taker + takers - 1) // takers


def bounds_of(count: int, batch_size: int, drop_last: bool) -> list[int]:
    """Where batches of one size begin and end.

    Example:
        >>> bounds_of(5, 2, False), bounds_of(5, 2, True)
        ([0, 2, 4, 5], [0, 2, 4])
    """
    bounds = list(range(0, count + 1, batch_size))
    return bounds if drop_last or bounds[-1] == count else [*bounds, count]


class OrderSampler(Sampler[int]):
    """An order for `torch.utils.data.DataLoader(dataset, sampler=...)`.

    Args:
        order: the order of this rank. If it has a sampling, the dataset is `Copies(dataset)`.

    Example:
        >>> sampler = OrderSampler(Order(5, seed=1))
        >>> sampler.set_epoch(1)
        >>> list(sampler)
        [1, 2, 3, 4, 0]
        >>> sampler.load_state_dict(sampler.state_dict(delivered=3))
        >>> list(sampler)
        [4, 0]
    """

    def __init__(self, order: Order) -> None:
        self.order, self.epoch, self.start = order, 0, 0

    def __len__(self) -> int:
        return self.order.count(self.start)

    def __iter__(self) -> Iterator[int]:
        return iter(self.order.indices(self.epoch, self.start).tolist())

    def set_epoch(self, epoch: int) -> None:
        """Begin an epoch; a resumed epoch continues where it stopped."""
        if epoch != self.epoch:
            self.epoch, self.start = epoch, 0

    def state_dict(self, delivered: int) -> dict[str, Any]:
        """The state of the ranks after `delivered` samples of the epoch, not counting samples read ahead."""
        return self.order.state_dict(self.epoch, delivered, self.start)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state.

        Raises:
            ValueError: the state belongs to another order.
        """
        self.epoch, self.start = self.order.resume(state)
