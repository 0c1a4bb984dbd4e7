"""Gradients of mixed images, distributed to both images of each pair."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from orbbec.bridge.gradients.pairs import add_to_pairs, has_pair

# Splits the gradient of an output into those of the image itself and of the other image.
Split = Callable[[Tensor, tuple[Tensor, ...]], tuple[Tensor, Tensor]]


def register_gradient(op: str, index_position: int, tables: tuple[int, ...], split: Split) -> None:
    """Register the gradient of `op` for its images.

    Args:
        op: the operator; its first argument is the images.
        index_position: position of the pair indices among its arguments.
        tables: positions of the other arguments of `split`.
        split: computes both gradients from the gradient of the output and these arguments.
    """

    def setup(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(inputs[index_position], *(inputs[position] for position in tables))
        ctx.arguments = len(inputs)

    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        pair_indices, *rest = ctx.saved_tensors
        base, parts = split(gradient, tuple(rest))
        known = has_pair(pair_indices)
        sums = add_to_pairs(torch.where(known, base, gradient), parts, pair_indices)
        return sums, *[None] * (ctx.arguments - 1)

    torch.library.register_autograd(f"orbbec::{op}", backward, setup_context=setup)
