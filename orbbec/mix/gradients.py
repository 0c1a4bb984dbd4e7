"""Gradients of mixed images, distributed to both images of each pair."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from orbbec.bridge.partners import add_to_partners, has_partner

# Splits the gradient of an output into those of the image itself and of the other image.
Split = Callable[[Tensor, tuple[Tensor, ...]], tuple[Tensor, Tensor]]


def register_gradient(op: str, partners_at: int, tables: tuple[int, ...], split: Split) -> None:
    """Register the gradient of `op` for its images.

    Args:
        op: the operator; its first argument is the images.
        partners_at: position of the pair indices among its arguments.
        tables: positions of the other arguments of `split`.
        split: computes both gradients from the gradient of the output and these arguments.
    """

    def setup(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(inputs[partners_at], *(inputs[place] for place in tables))
        ctx.arguments = len(inputs)

    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        partners, *rest = ctx.saved_tensors
        own, parts = split(gradient, tuple(rest))
        known = has_partner(partners)
        sums = add_to_partners(torch.where(known, own, gradient), parts, partners)
        return sums, *[None] * (ctx.arguments - 1)

    torch.library.register_autograd(f"orbbec::{op}", backward, setup_context=setup)
