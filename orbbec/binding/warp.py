"""What the wrappers of warp_affine, warp_perspective and remap share."""

from typing import Any

import torch
from torch import Tensor

from orbbec._library import default_arithmetic
from orbbec.binding.arguments import (
    OperatorInput,
    check_no_gradient,
    fill_values,
    name_value,
    operator_input,
    operator_output,
)
from orbbec.binding.dispatch import call_operator


def call_warp(
    op: str,
    images: Any,
    map_tensor: Tensor,
    size: list[int],
    interpolation: str,
    border: str,
    fill: Any,
    extra: tuple[Any, ...],
    arithmetic: str | None,
    out: Any,
) -> Any:
    """Call `torch.ops.orbbec.<op>`, or its out form, on images of any kind."""
    given: OperatorInput = operator_input(op, "images", images)
    arguments = (
        given.images,
        given.layout,
        given.channels,
        map_tensor,
        size,
        name_value(op, "interpolation", interpolation),
        name_value(op, "border", border),
        fill_values(op, fill),
        *extra,
        default_arithmetic() if arithmetic is None else name_value(op, "arithmetic", arithmetic),
    )
    if out is None:
        return given.restore(call_operator(getattr(torch.ops.orbbec, op).default, *arguments))
    target = operator_output(op, out)
    check_no_gradient(op, given.images, map_tensor, target.images)
    getattr(torch.ops.orbbec, f"{op}_out")(*arguments, target.images)
    return out


def check_devices(op: str, images: Tensor, layout: Tensor | None, map_tensor: Tensor) -> None:
    """Refuse a map or a layout where the operator could not read it."""
    if map_tensor.device.type != "cpu" and map_tensor.device != images.device:
        raise ValueError(f"{op}: expected the map on the CPU or on the device of images")
    if layout is not None and layout.device != images.device:
        raise ValueError(f"{op}: expected layout on the device of images")


def fake_output(images: Tensor, layout: Tensor | None, channels: int, size: list[int]) -> Tensor:
    """An output without memory, laid out as the operator lays it out: channels last where the images are."""
    if layout is not None:
        return images.new_empty((layout.size(0), channels, *size))
    count, channels = images.shape[:2]
    last = channels > 1 and images.stride(1) == 1 and images.stride(3) != 1
    memory_format = torch.channels_last if last else torch.contiguous_format
    return torch.empty(
        (count, channels, *size), dtype=images.dtype, device=images.device, memory_format=memory_format
    )


def register_fakes(op: str) -> None:
    """Register what `op` and its out form give where tensors have no memory."""

    @torch.library.register_fake(f"orbbec::{op}")
    def _(
        images: Tensor,
        layout: Tensor | None,
        channels: int,
        map_tensor: Tensor,
        size: list[int],
        *options: object,
    ) -> Tensor:
        check_devices(op, images, layout, map_tensor)
        return fake_output(images, layout, channels, size)

    @torch.library.register_fake(f"orbbec::{op}_out")
    def _(
        images: Tensor,
        layout: Tensor | None,
        channels: int,
        map_tensor: Tensor,
        size: list[int],
        *options: Any,
    ) -> None:
        check_devices(op, images, layout, map_tensor)
        if options[-1].device != images.device:
            raise ValueError(f"{op}: expected out on the device of images")
