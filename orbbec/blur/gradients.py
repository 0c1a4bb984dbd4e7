"""Gradients of the filters: the window turned round, and what fell on the border folded back."""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

Filter = Callable[[Tensor], Tensor]


def gradient_of(gradient: Tensor, window: tuple[int, int], border: str, turned: Filter) -> Tensor:
    """The gradient for the images of a filter.

    Sums have a fixed order, the same on every device.

    Args:
        gradient: of the output, float `[N, C, H, W]`.
        window: (height, width) of the largest kernel.
        border: of the filter.
        turned: the filter by the kernel turned half a circle, with zeros outside.

    Returns:
        `[N, C, H, W]`, of the dtype of `gradient`.
    """
    working = gradient if gradient.dtype == torch.float64 else gradient.float()
    height, width = gradient.shape[-2:]
    if gradient.numel() == 0:
        return torch.zeros_like(gradient)
    (above, below, down), (before, after, along) = map(_margins, window)
    spread = turned(pad(working, (before, after + along, above, below + down)))
    spread = spread[..., down : down + height + above + below, along : along + width + before + after]
    rows = _fold(spread, -2, above, below, border)
    return _fold(rows, -1, before, after, border).to(gradient.dtype)


def _margins(kernel: int) -> tuple[int, int, int]:
    """Before and after a pixel, and how far a kernel that is turned round stands beside its place."""
    return kernel // 2, kernel - 1 - kernel // 2, 1 - kernel % 2


def _fold(values: Tensor, axis: int, before: int, after: int, border: str) -> Tensor:
    """Add what lies outside to the pixels that stand there."""
    size = values.shape[axis] - before - after
    folded = values.narrow(axis, before, size)
    if border == "constant":
        return folded
    outside = [*range(-before, 0), *range(size, size + after)]
    folded = folded.clone()
    for first, inside, step, length in _runs([(p, border_index(p, size, border)) for p in outside]):
        part = values.narrow(axis, first + before, length)
        low = inside if step > 0 else inside - length + 1
        folded.narrow(axis, low, length).add_(part if step > 0 else part.flip(axis))
    return folded


def _runs(pairs: list[tuple[int, int]]) -> Iterator[tuple[int, int, int, int]]:
    """(position, index, step, length) of the runs along which both change by one."""
    begin = 0
    while begin < len(pairs):
        position, index = pairs[begin]
        step = pairs[begin + 1][1] - index if begin + 1 < len(pairs) else 1
        end = begin + 1
        while (
            end < len(pairs)
            and abs(step) == 1
            and pairs[end] == (position + end - begin, index + step * (end - begin))
        ):
            end += 1
        yield position, index, step if end - begin > 1 else 1, end - begin
        begin = end


def border_index(position: int, size: int, border: str) -> int:
    """The pixel that stands at a position outside, as core/border.h has it.

    Example:
        >>> [border_index(p, 3, "reflect101") for p in (-2, -1, 3, 4)]
        [2, 1, 1, 0]
    """
    if border == "replicate" or size == 1:
        return min(max(position, 0), size - 1)
    if border == "wrap":
        return position % size
    seam = 1 if border == "reflect101" else 0
    phase = position % (2 * (size - seam))
    return phase if phase < size else 2 * size - 1 - seam - phase


def register_gradient(
    op: str, window_of: Callable[..., tuple[int, int]], turned_of: Callable[..., Filter]
) -> None:
    """Register the gradient of `op(images, layout, channels, *options)`, whose last option is the border.

    It is an operator of its own, `op_backward(gradient, *options)`, so that a compiler need not look into it;
    and the gradient of that is the filter again, since both are linear.

    Args:
        op: the operator.
        window_of: from its options, (height, width) of the largest kernel.
        turned_of: from its options, the filter turned round, with zeros outside.
    """
    forward = getattr(torch.ops.orbbec, op).default
    after_channels = str(forward._schema).partition(" channels, ")[2]
    backward_op = f"orbbec::{op}_backward"
    torch.library.define(backward_op, f"(Tensor gradient, {after_channels}")

    @torch.library.impl(backward_op, "default")
    def of_images(gradient: Tensor, *options: Any) -> Tensor:
        turned = turned_of(*options)
        return gradient_of(gradient, window_of(*options), options[-1], turned).contiguous()

    @torch.library.register_fake(backward_op)
    def fake(gradient: Tensor, *options: Any) -> Tensor:
        return gradient.new_empty(gradient.shape)

    def filtered(gradient: Tensor, *options: Any) -> Tensor:
        result: Tensor = forward(gradient, None, 0, *options)
        return result

    _register_linear(f"orbbec::{op}", 3, getattr(torch.ops.orbbec, f"{op}_backward").default)
    _register_linear(backward_op, 1, filtered)


def _register_linear(op: str, before: int, transposed: Callable[..., Tensor]) -> None:
    """Register `transposed(gradient, *options)` as the gradient of an operator that is linear in its images.

    Args:
        op: the operator.
        before: how many arguments stand before its options; the first are the images.
        transposed: the other operator, by the same options.
    """

    def setup(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        options = inputs[before:]
        ctx.save_for_backward(*[value for value in options if isinstance(value, Tensor)])
        ctx.options = [None if isinstance(value, Tensor) else value for value in options]

    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        saved = iter(ctx.saved_tensors)
        options = [next(saved) if value is None else value for value in ctx.options]
        return transposed(gradient, *options), *[None] * (before - 1 + len(options))

    torch.library.register_autograd(op, backward, setup_context=setup)
