"""Gradients of mixed images, distributed to both images of each pair."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from orbbec.bridge.gradients.pairs import add_to_pairs, has_pair

# Splits the gradient of an output into those of the image itself and of the other image, by a table.
Split = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


def register_gradient(op: str, position: int, split: Split) -> None:
    """Register the gradient of `op` for its images.

    Args:
        op: the operator; its first argument is the images.
        position: of the pair indices among its arguments; the table of `split` follows.
        split: computes both gradients from the gradient of the output and the table.
    """

    def setup(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs[position : position + 2])
        ctx.arguments = len(inputs)

    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        pair_indices, table = ctx.saved_tensors
        base, parts = split(gradient, table)
        known = has_pair(pair_indices)
        sums = add_to_pairs(torch.where(known, base, gradient), parts, pair_indices)
        return sums, *[None] * (ctx.arguments - 1)

    torch.library.register_autograd(f"orbbec::{op}", backward, setup_context=setup)
