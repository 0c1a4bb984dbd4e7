"""The order of a `Loader`, from its argument `order`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import torch

from orbbec.data.order import Order
from orbbec.data.sampling.samplers import SamplerOrder
from orbbec.data.sampling.sampling import Sampling


def order_for(
    order: Any, length: int | None, of_rank: Callable[[int], Order], batch_size: int
) -> Order | SamplerOrder | None:
    """The order of a `Loader`.

    Args:
        order: an `Order`, a sampling, or a sampler; None: that of `of_rank`.
        length: length of the source; None: it is a stream.
        of_rank: gives the order of this rank for a length.
        batch_size: images per batch.

    Raises:
        TypeError: `order` is none of these.
        ValueError: it does not fit the source or the batches.
    """
    if length is None:
        if order is not None:
            raise ValueError("Loader: expected a source with an index for order")
        return None
    if order is None:
        return of_rank(length)
    if isinstance(order, Sampling):
        order = replace(of_rank(length), sampling=order)
    if isinstance(order, Order):
        _check(order, length, batch_size)
        return order
    if isinstance(order, Iterable):
        return SamplerOrder(order, length)
    raise TypeError(
        f"Loader: expected an Order, a sampling or a sampler as order, but got {type(order).__name__}"
    )


def _check(order: Order, length: int, batch_size: int) -> None:
    if order.length != length:
        raise ValueError(f"Loader: expected order of the source's length {length}, but got {order.length}")
    expected = getattr(order.sampling, "batch_size", batch_size)
    if expected != batch_size:
        raise ValueError(f"Loader: expected batch_size {expected}, as that of Buckets, but got {batch_size}")


def has_copies(order: Order | SamplerOrder | None) -> bool:
    """Whether an epoch may have a sample several times."""
    return isinstance(order, SamplerOrder) or (order is not None and order.sampling is not None)


def order_of_rank(length: int, seed: int, shuffle: bool, drop_last: bool) -> Order:
    """The order of this rank for a `Loader`. All ranks have equally many samples, so that none waits.

    Ranks come from the process group or, before it is initialized, from torchrun's environment variables.
    """
    rank, world_size = _rank_and_world_size()
    return Order(length, seed, shuffle, rank, world_size, tail="drop" if drop_last else "pad")


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
