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
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import Sampler

from orbbec.noise.philox import philox_draws
from orbbec.transforms.base.checks import choice, flag, whole

_WORDS = 2**32 - 1  # draws lie below this
_LAST_EPOCH = 2**63 - 1
_POSITION = 65535  # the last stream position, beyond any transform, so that orders and draws are independent


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

    def __post_init__(self) -> None:
        checked = {
            "length": whole("Order", "length", self.length, 0),
            "seed": whole("Order", "seed", self.seed, 0, 2**63 - 1),
            "shuffle": flag("Order", "shuffle", self.shuffle),
            "world_size": whole("Order", "world_size", self.world_size, 1),
            "workers": whole("Order", "workers", self.workers, 1),
            "tail": choice("Order", "tail", self.tail, ("keep", "drop", "pad")),
        }
        checked["rank"] = whole("Order", "rank", self.rank, 0, self.world_size - 1)
        checked["worker"] = whole("Order", "worker", self.worker, 0, self.workers - 1)
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        """The number of samples in an epoch."""
        return self.count()

    def count(self, start: int = 0) -> int:
        """The number of samples from position `start` of the order on."""
        left = max(self.length - start, 0)
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
        order = self._shuffled(epoch) if self.shuffle else torch.arange(self.length, device="cpu")
        first, step = start + self.rank + self.world_size * self.worker, self.world_size * self.workers
        taken = order[first::step][: self.count(start)]
        beyond = first + step * torch.arange(len(taken), self.count(start), device="cpu")
        return torch.cat([taken, order[beyond % self.length]])

    def _shuffled(self, epoch: int) -> Tensor:
        words = philox_draws(
            torch.arange(self.length, device="cpu"),
            2,
            kind="below",
            below=_WORDS,
            seed=self.seed,
            epoch=epoch,
            transform_index=_POSITION,
        ).to(torch.int64)
        keys = (words[:, 0] << 31) | (words[:, 1] >> 1)
        return torch.argsort(keys, stable=True)

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
        taken = min(start + delivered * self.world_size, self.length)  # padding lies beyond the order
        return {**self._identity(), "epoch": epoch, "start": taken}

    def resume(self, state: dict[str, Any]) -> tuple[int, int]:
        """The epoch and the start of a saved state, for `indices`, also with another number of ranks.

        Raises:
            TypeError: the state is not a dict, or a number in it is None.
            ValueError: the state belongs to another order, or its position is invalid.
        """
        _check_names("Order", state)
        for name, value in self._identity().items():
            if state.get(name) != value:
                raise ValueError(f"Order: expected a state of {name} {value}, but got {state.get(name)}")
        return position_of("Order", state, self.length)

    def _identity(self) -> dict[str, Any]:
        return {"length": self.length, "seed": self.seed, "shuffle": self.shuffle}


def position_of(op: str, state: Mapping[str, Any], length: float = math.inf) -> tuple[int, int]:
    """The epoch and the start of a saved state.

    Args:
        op: owner of the state, for messages.
        state: a dict with "epoch" and "start".
        length: length of the epoch.

    Raises:
        TypeError: the state is not a dict, or a number in it is None.
        ValueError: a number is missing or out of range.
    """
    _check_names(op, state)
    epoch = whole(op, "epoch of a state", state["epoch"], 0, _LAST_EPOCH)
    return epoch, whole(op, "start of a state", state["start"], 0, length)


def _check_names(op: str, state: Any) -> None:
    if not isinstance(state, Mapping):
        raise TypeError(f"{op}: expected a state as a dict, but got {type(state).__name__}")
    for name in ("epoch", "start"):
        if name not in state:
            raise ValueError(f"{op}: expected a state with '{name}', but got {', '.join(map(str, state))}")


def _dealt(count: int, taker: int, takers: int) -> int:
    """How many of `count` samples taker number `taker` gets in round-robin order."""
    return (count - taker + takers - 1) // takers


def order_of_rank(length: int, seed: int, shuffle: bool, drop_last: bool) -> Order:
    """The order of this rank for a `Loader`. All ranks have equally many samples, so that none waits.

    Ranks come from the process group or, before it is initialized, from torchrun's environment variables.
    """
    rank, world_size = _rank_and_world_size()
    return Order(length, seed, shuffle, rank, world_size, tail="drop" if drop_last else "pad")


def check_length(order: Order, length: int | None) -> None:
    """Refuse an order of another length than that of a `Loader`'s source, which is None for a stream."""
    if length is None:
        raise ValueError("Loader: expected a source with an index for order")
    if order.length != length:
        raise ValueError(f"Loader: expected order of the source's length {length}, but got {order.length}")


def _rank_and_world_size() -> tuple[int, int]:
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_rank(), torch.distributed.get_world_size()
    named = {name: os.environ.get(name) for name in ("RANK", "WORLD_SIZE")}  # set by torchrun
    if not all(named.values()):
        return 0, 1
    for name, value in named.items():
        if not (value or "").strip().isdecimal():
            raise ValueError(
                f"Loader: expected environment variable {name} as a whole number, but got '{value}'"
            )
    return int(named["RANK"] or 0), int(named["WORLD_SIZE"] or 1)


class OrderSampler(Sampler[int]):
    """An order for `torch.utils.data.DataLoader(dataset, sampler=...)`.

    Args:
        order: the order of this rank.

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
