"""Shared gradients of mixed images: each image of a pair gets its weighted gradient."""

from typing import Any

import torch
from torch import Tensor

from orbbec._library import operators
from orbbec.bridge.fakes import register_fake
from orbbec.bridge.pointwise import fake_like


def has_pair(pair_indices: Tensor) -> Tensor:
    """Which images have a valid pair index: `[N, 1, 1, 1]`."""
    return ((pair_indices >= 0) & (pair_indices < pair_indices.size(0))).reshape(-1, 1, 1, 1)


def add_to_pairs(base: Tensor, parts: Tensor, pair_indices: Tensor) -> Tensor:
    """`base[n]` plus every `parts[m]` with `pair_indices[m] == n`, added in ascending order of m.

    Args:
        base: float `[N, C, H, W]`.
        parts: float `[N, C, H, W]`.
        pair_indices: int64 `[N]`; indices out of range are ignored.

    Example:
        >>> ones = torch.ones(3, 1, 1, 1)
        >>> add_to_pairs(ones, ones, torch.tensor([1, 1, 0])).flatten().tolist()
        [2.0, 3.0, 1.0]
    """
    ranked, order = torch.sort(pair_indices, stable=True)
    ends = torch.arange(pair_indices.size(0) + 1, device=pair_indices.device)
    sums: Tensor = operators.add_to_pairs(base, parts, order, torch.searchsorted(ranked, ends))
    return sums


@register_fake("add_to_pairs", base=4)
def _(base: Tensor, parts: Tensor, order: Tensor, starts: Tensor) -> Tensor:
    return fake_like(base, None)


def _setup_sum(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(inputs[2], inputs[3])


def _backward_of_sum(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    order, starts = ctx.saved_tensors
    count = order.size(0)
    rank = torch.arange(count, device=order.device)
    paired = torch.searchsorted(starts, rank, right=True) - 1  # pair index of the image at each rank
    inside = (rank >= starts[0]) & (rank < starts[-1])
    of_rank = gradient[paired.clamp(0, max(count - 1, 0))] * inside.reshape(-1, 1, 1, 1)
    # The caller's order may contain invalid indices; they go to an extra row at the end.
    rows = torch.where((order >= 0) & (order < count), order, count)
    of_parts = of_rank.new_zeros(count + 1, *of_rank.shape[1:]).index_copy(0, rows, of_rank)
    return gradient, of_parts[:count], None, None


torch.library.register_autograd("orbbec::add_to_pairs", _backward_of_sum, setup_context=_setup_sum)
