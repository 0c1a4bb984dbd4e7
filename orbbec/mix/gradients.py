"""Gradients for images that are mixed: a share of each goes to itself, the rest to its partner."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from orbbec.binding.partners import add_to_partners, has_partner

# The shares of the gradient of an output that are the image's own and its partner's.
Shares = Callable[[Tensor, tuple[Tensor, ...]], tuple[Tensor, Tensor]]


def register_gradient(op: str, partners_at: int, tables: tuple[int, ...], shares: Shares) -> None:
    """Register the gradient of `op` for its images.

    Args:
        op: the operator; its first argument are the images.
        partners_at: the place of the partners among its arguments.
        tables: the places of what `shares` needs besides.
        shares: from the gradient of the output and those, the two shares.
    """

    def setup(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(inputs[partners_at], *(inputs[place] for place in tables))
        ctx.arguments = len(inputs)

    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        partners, *rest = ctx.saved_tensors
        own, parts = shares(gradient, tuple(rest))
        known = has_partner(partners)
        sums = add_to_partners(torch.where(known, own, gradient), parts, partners)
        return sums, *[None] * (ctx.arguments - 1)

    torch.library.register_autograd(f"orbbec::{op}", backward, setup_context=setup)
