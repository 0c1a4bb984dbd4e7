"""Shared code of warp_affine, warp_perspective and remap, and output buffers of operators on images."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from orbbec._library import default_arithmetic, operators
from orbbec.bridge.arguments import (
    OperatorInput,
    channel_values,
    check_no_gradient,
    is_channels_last,
    name_value,
    new_images,
    operator_input,
    operator_output,
)
from orbbec.bridge.buffer_pool import pooled_output
from orbbec.bridge.dispatch import call_into
from orbbec.bridge.fakes import register_fake
from orbbec.bridge.names import Border, Interpolation, border_name, interpolation_name


class WarpOptions(NamedTuple):
    """The options of a warp, as users give them; `inverse` is `(flag,)` for warps by matrices."""

    interpolation: Interpolation
    border: Border
    fill: Any
    arithmetic: str | None
    inverse: tuple[bool, ...] = ()


def call_warp(
    op: str, images: Any, transform: tuple[Tensor, ...], size: list[int], options: WarpOptions, out: Any
) -> Any:
    """Call `torch.ops.orbbec.<op>`, or its out variant, on images of any kind.

    `transform` is the matrix, or both maps.
    """
    inputs: OperatorInput = operator_input(op, "images", images)
    arithmetic = options.arithmetic
    arguments = (
        inputs.images,
        inputs.layout,
        inputs.channels,
        *transform,
        size,
        interpolation_name(op, options.interpolation),
        border_name(op, options.border),
        channel_values(op, "fill", options.fill),
        *options.inverse,
        default_arithmetic() if arithmetic is None else name_value(op, "arithmetic", arithmetic),
    )
    if out is None:
        return inputs.restore(call_into(op, buffer_like(inputs, size, *transform), *arguments))
    target = operator_output(op, out)
    check_no_gradient(op, inputs.images, *transform, target.images)
    getattr(operators, f"{op}_out")(*arguments, target.images)
    return out


def buffer_like(
    inputs: OperatorInput, size: Sequence[int] | None, *others: Tensor | None, channels: int | None = None
) -> Tensor | None:
    """An output buffer in the layout of the images; see `pooled_output`.

    `size` and `channels` are those of the results; None: those of the images. `others` are the other tensors
    that the operator takes.
    """
    images, layout = inputs.images, inputs.layout
    if layout is not None and size is None:
        if torch.compiler.is_compiling():
            return None
        nbytes = images.untyped_storage().nbytes()  # with memory for the tables
        whole = pooled_output((nbytes,), images.dtype, False, images, layout, *others)
        return None if whole is None else whole[: images.numel()]
    count, depth, *sides = images.shape if layout is None else (layout.shape[0], inputs.channels)
    depth = depth if channels is None else channels
    shape = count, depth, *(sides if size is None else size)
    is_last = depth > 1 and is_channels_last(images, layout)
    return pooled_output(shape, images.dtype, is_last, images, *others)


def _check_devices(
    op: str, what: str, images: Tensor, layout: Tensor | None, *tensors: Tensor | None
) -> None:
    """Check that the operator can read the transform and the layout on their devices."""
    for tensor in tensors:
        if tensor is not None and tensor.device.type != "cpu" and tensor.device != images.device:
            raise ValueError(f"{op}: expected {what} on the CPU or on the device of images")
    if layout is not None and layout.device != images.device:
        raise ValueError(f"{op}: expected layout on the device of images")


def fake_output(images: Tensor, layout: Tensor | None, channels: int, size: list[int]) -> Tensor:
    """A fake output in the operator's layout: channels_last if the images are."""
    if layout is not None:
        return images.new_empty((layout.size(0), channels, *size))
    return new_images(images, (*images.shape[:2], *size), is_channels_last(images, None))


def register_fakes(op: str, tensors: int = 1, what: str = "the matrix or the maps") -> None:
    """Register the fake kernels of `op` and its out variant, whose transform, `what`, is so many tensors."""

    @register_fake(op, size=2)
    def _(images: Tensor, layout: Tensor | None, channels: int, *arguments: Any) -> Tensor:
        _check_devices(op, what, images, layout, *arguments[:tensors])
        return fake_output(images, layout, channels, arguments[tensors])

    @register_fake(f"{op}_out")
    def _(images: Tensor, layout: Tensor | None, channels: int, *arguments: Any) -> None:
        _check_devices(op, what, images, layout, *arguments[:tensors])
        if arguments[-1].device != images.device:
            raise ValueError(f"{op}: expected out on the device of images")
