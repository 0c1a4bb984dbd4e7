"""Gradients of the filters: correlation with the flipped window, and folding of the border."""

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from orbbec.bridge.arguments import dtype_name

_MOST_ELEMENTS = 2**40  # per gradient: beyond any memory, yet safe from overflow with a window added


class Pass(NamedTuple):
    """A filter, or one pass of a separable filter."""

    window: tuple[int, int]  # (height, width) of the largest kernel
    flipped: Callable[[Tensor], Tensor]  # the filter with the kernel rotated by 180 degrees, zeros outside


def gradient_of(gradient: Tensor, border: str, passes: Sequence[Pass]) -> Tensor:
    """The gradient for the images of a filter.

    Sums have the same order on every device. A separable filter is transposed pass by pass, since the margins
    of a large window on both axes would have many times the pixels of the image.

    Args:
        gradient: gradient of the output, float `[N, C, H, W]`.
        border: border of the filter.
        passes: the passes of the filter.

    Returns:
        `[N, C, H, W]`, of the dtype of `gradient`.
    """
    if gradient.numel() == 0:
        return torch.zeros_like(gradient)
    working = gradient if gradient.dtype == torch.float64 else gradient.float()
    for window, flipped in passes:
        working = _transposed(working, window, border, flipped)
    return working.to(gradient.dtype)


def _transposed(
    gradient: Tensor, window: tuple[int, int], border: str, flipped: Callable[[Tensor], Tensor]
) -> Tensor:
    height, width = gradient.shape[-2:]
    (above, below, top), (before, after, left) = map(_margins, window)
    spread = flipped(pad(gradient, (before, after + left, above, below + top)))
    spread = spread[..., top : top + height + above + below, left : left + width + before + after]
    rows = _fold(spread, -2, above, below, border)
    return _fold(rows, -1, before, after, border)


def _margins(kernel: int) -> tuple[int, int, int]:
    """The margins before and after, and the shift of a flipped kernel of even size."""
    return kernel // 2, kernel - 1 - kernel // 2, 1 - kernel % 2


def _fold(values: Tensor, axis: int, before: int, after: int, border: str) -> Tensor:
    """Add the gradient outside the image to the pixels that the border repeats there."""
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
    """Runs (position, index, step, length) along which both change by one."""
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
    """The index of the pixel that a border repeats at a position, as in core/border.h.

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


def register_gradient(op: str, passes_of: Callable[..., Sequence[Pass]]) -> None:
    """Register the gradient of `op(images, layout, channels, *options)`, whose last option is the border.

    The gradient is an operator of its own, `op_backward(gradient, *options)`, so that torch.compile does not
    trace it. Its own gradient is the filter, since both are linear.

    Args:
        op: the operator.
        passes_of: gives the passes of the filter from its options.
    """
    forward = getattr(torch.ops.orbbec, op).default
    after_channels = str(forward._schema).partition(" channels, ")[2]
    backward_op = f"orbbec::{op}_backward"
    torch.library.define(backward_op, f"(Tensor gradient, {after_channels}")

    @torch.library.impl(backward_op, "default")
    def of_images(gradient: Tensor, *options: Any) -> Tensor:
        _check_gradient(op, gradient)
        filtered(gradient.new_empty((*gradient.shape[:3], 0)), *options)  # checks the options
        return gradient_of(gradient, options[-1], passes_of(*options)).contiguous()

    @torch.library.register_fake(backward_op)
    def fake(gradient: Tensor, *options: Any) -> Tensor:
        _check_gradient(op, gradient)
        return gradient.new_empty(gradient.shape)

    def filtered(gradient: Tensor, *options: Any) -> Tensor:
        result: Tensor = forward(gradient, None, 0, *options)
        return result

    _register_linear(f"orbbec::{op}", 3, getattr(torch.ops.orbbec, f"{op}_backward").default)
    _register_linear(backward_op, 1, filtered)


def _check_gradient(op: str, gradient: Tensor) -> None:
    if gradient.dim() != 4:
        raise ValueError(f"{op}: expected gradient of shape [N, C, H, W], but got {list(gradient.shape)}")
    if not gradient.is_floating_point():
        raise TypeError(f"{op}: expected gradient of a floating type, but got {dtype_name(gradient.dtype)}")
    if prod(max(side, 1) for side in gradient.shape) > _MOST_ELEMENTS:
        raise ValueError(f"{op}: a gradient of shape {list(gradient.shape)} is too large")


def axis_passes(kernel_size: list[int], blur: Callable[[Tensor, list[int]], Tensor]) -> list[Pass]:
    """The vertical and the horizontal pass of a symmetric filter.

    Args:
        kernel_size: (height, width) for all images, or for each image in order.
        blur: the filter for such sizes, with zeros outside.
    """

    def along(axis: int) -> Pass:
        sizes = [size if i % 2 == axis else 1 for i, size in enumerate(kernel_size)]
        window = max(sizes[::2], default=1), max(sizes[1::2], default=1)
        return Pass(window, lambda images: blur(images, sizes))

    return [along(0), along(1)]


def _register_linear(op: str, before: int, transposed: Callable[..., Tensor]) -> None:
    """Register `transposed(gradient, *options)` as the gradient of an operator that is linear in its images.

    Args:
        op: the operator.
        before: number of arguments before its options; the first is the images.
        transposed: the transposed operator, with the same options.
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
