"""Shared code of roi_align, roi_align_rotated and roi_pool."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor

from orbbec._library import operators
from orbbec.bridge.arguments import (
    check_device,
    dtype_name,
    flag_value,
    is_channels_last,
    new_images,
    number_value,
    size_values,
    whole_value,
)
from orbbec.bridge.dispatch import call_operator
from orbbec.bridge.fakes import register_fake
from orbbec.bridge.plain import is_integer

Rois: TypeAlias = Tensor | Sequence[Tensor]
OutputSize: TypeAlias = int | Sequence[int]

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def check_float(op: str, name: str, tensor: Any) -> None:
    """Check for a floating-point tensor.

    Raises:
        TypeError: `tensor` is not a tensor or has another dtype.
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{op}: expected {name} as a tensor, but got {type(tensor).__name__}")
    if tensor.dtype not in FLOATS:
        got = dtype_name(tensor.dtype)
        raise TypeError(f"{op}: expected {name} of float16, bfloat16, float32 or float64, but got {got}")


def check_input(op: str, input: Any) -> None:
    """Check for a floating-point tensor `[N, C, H, W]`.

    Raises:
        TypeError: `input` is not a tensor or has another dtype.
        ValueError: the number of dimensions is invalid, or CUDA is used after a fork.
    """
    check_float(op, "input", input)
    if input.dim() != 4:
        raise ValueError(f"{op}: expected input of shape [N, C, H, W], but got {list(input.shape)}")
    check_device(op, input)


def pool_rois(
    op: str,
    input: Any,
    rois: Any,
    numbers: int,
    output_size: Any,
    spatial_scale: float,
    sampling_ratio: int,
    aligned: bool,
) -> Tensor:
    """Call `torch.ops.orbbec.<op>` after checking its arguments.

    Args:
        op: name of the operator.
        input: see `check_input`.
        rois: see `as_rois`.
        numbers: numbers per region, including its image index.
        output_size: see `output_size_values`.
        spatial_scale: see `roi_align`.
        sampling_ratio: see `roi_align`.
        aligned: see `roi_align`.
    """
    check_input(op, input)
    table, size = as_rois(op, rois, numbers), output_size_values(op, output_size)
    scale = number_value(op, "spatial_scale", spatial_scale)
    samples = whole_value(op, "sampling_ratio", sampling_ratio)
    aligned = flag_value(op, "aligned", aligned)
    result: Tensor = call_operator(getattr(operators, op), input, table, size, scale, samples, aligned)
    return result


def as_rois(op: str, rois: Any, numbers: int) -> Tensor:
    """Regions as one `[K, numbers]` tensor whose first column is the index of the image.

    Args:
        op: name of the operator, for messages.
        rois: such a tensor, or `[L, numbers - 1]` tensors, one per image.
        numbers: numbers per region, including its image index.

    Raises:
        TypeError: not a tensor or a list of tensors, or another dtype.
        ValueError: the shape is invalid.
    """
    if isinstance(rois, (list, tuple)):
        return _from_list(op, rois, numbers)
    check_float(op, "rois", rois)
    one: Tensor = rois
    if one.dim() != 2 or one.shape[1] != numbers:
        raise ValueError(f"{op}: expected rois of shape [K, {numbers}], but got {list(one.shape)}")
    return one


def _from_list(op: str, rois: Sequence[Any], numbers: int) -> Tensor:
    if not rois:
        raise ValueError(f"{op}: expected rois as a tensor or one tensor per image, but got an empty list")
    columns = []
    for index, boxes in enumerate(rois):
        check_float(op, f"rois[{index}]", boxes)
        if boxes.dim() != 2 or boxes.shape[1] != numbers - 1:
            raise ValueError(
                f"{op}: expected rois[{index}] of shape [L, {numbers - 1}], but got {list(boxes.shape)}"
            )
        # At least float32: half types cannot represent the indices of a large batch.
        wide = boxes if boxes.dtype == torch.float64 else boxes.float()
        columns.append(torch.cat((wide.new_full((wide.shape[0], 1), index), wide), dim=1))
    return torch.cat(columns)


def output_size_values(op: str, output_size: Any) -> list[int]:
    """`output_size` as [height, width]; one number means both."""
    if is_integer(output_size):
        return [whole_value(op, "output_size", output_size)] * 2
    return size_values(op, output_size, "output_size as a number or (height, width)")


def register_roi_align(op: str) -> None:
    """Register the fake kernels of `op` and of its backward pass, and the gradients of both."""
    forward = getattr(operators, op)
    backward = getattr(operators, f"{op}_backward")

    @register_fake(op, input=4, rois=2, output_size=2)
    def _(input: Tensor, rois: Tensor, output_size: list[int], *options: object) -> Tensor:
        shape = (rois.shape[0], input.shape[1], *output_size)
        return new_images(input, shape, is_channels_last(input, None))

    @register_fake(f"{op}_backward", gradient=4, rois=2, input_size=4)
    def _(
        gradient: Tensor, rois: Tensor, input_size: list[int], channels_last: bool, *options: object
    ) -> Tensor:
        return new_images(gradient, input_size, channels_last)

    def keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        input, rois, _, *options = inputs
        ctx.save_for_backward(rois)
        ctx.input_size, ctx.channels_last, ctx.options = input.shape, is_channels_last(input, None), options

    def gradient_of_input(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        (rois,) = ctx.saved_tensors
        result = call_operator(backward, gradient, rois, ctx.input_size, ctx.channels_last, *ctx.options)
        return result, None, None, None, None, None

    def keep_for_second(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        gradient, rois, _, _, *options = inputs
        ctx.save_for_backward(rois)
        ctx.output_size, ctx.options = gradient.shape[2:], options

    # The operator is linear in its input, so the gradient of its gradient is the operator itself.
    def gradient_of_gradient(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        (rois,) = ctx.saved_tensors
        return forward(gradient, rois, ctx.output_size, *ctx.options), None, None, None, None, None, None

    torch.library.register_autograd(f"orbbec::{op}", gradient_of_input, setup_context=keep)
    torch.library.register_autograd(
        f"orbbec::{op}_backward", gradient_of_gradient, setup_context=keep_for_second
    )
