"""Shared code of wrappers whose output has the sizes of the images."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from orbbec.bridge.arguments import (
    IMAGE_DTYPES,
    INTEGERS,
    OperatorInput,
    array_of,
    as_tensor,
    is_channels_last,
    new_images,
    operator_input,
)
from orbbec.bridge.dispatch import call_into
from orbbec.bridge.fakes import register_fake, register_out_fake
from orbbec.bridge.warp import buffer_like


def images_input(
    op: str, images: Any, channels: int | None = None, dtypes: Sequence[torch.dtype] = IMAGE_DTYPES
) -> OperatorInput:
    """Describe images for an operator that keeps their sizes: an ImageBatch gives an ImageBatch.

    `channels` are those of the output; None: those of the images. See `operator_input`.
    """
    inputs = operator_input(op, "images", images, dtypes)
    if inputs.layout is None:
        return inputs

    def restore(output: Tensor) -> Any:
        count = inputs.channels if channels is None else channels
        storage = pixels_with_tables(output, images.storage)
        return images.with_pixels(output, count) if storage is None else images.in_storage(storage, count)

    return OperatorInput(inputs.images, inputs.layout, inputs.channels, restore)


def call_like(op: str, inputs: OperatorInput, *options: Any, channels: int | None = None) -> Any:
    """Call an operator whose result has the sizes and the dtype of its images; see `pooled_output`.

    `channels` are those of the output; None: those of the images.
    """
    tensors = [option for option in options if isinstance(option, Tensor)]
    buffer = buffer_like(inputs, None, *tensors, channels=channels)
    return call_into(op, buffer, inputs.images, inputs.layout, inputs.channels, *options)


def pixels_with_tables(pixels: Tensor, storage: Tensor) -> Tensor | None:
    """The memory of new pixels with the tables of `storage` after them; None if there is no memory for them.

    Operators leave memory: `new_pointwise_output` in pointwise.h.
    """
    if torch.compiler.is_compiling() or pixels.storage_offset() != 0:
        return None
    if pixels.untyped_storage().nbytes() < storage.numel():
        return None
    whole = pixels.as_strided((storage.numel(),), (1,))
    whole[pixels.numel() :].copy_(storage[pixels.numel() :])
    return whole


def count_of(inputs: OperatorInput) -> int:
    """The number of images."""
    return inputs.images.size(0) if inputs.layout is None else inputs.layout.size(0)


def fake_like(images: Tensor, layout: Tensor | None, channels: int | None = None) -> Tensor:
    """A fake output with the sizes and the layout of the images."""
    if layout is not None:
        return torch.empty_like(images)
    count, depth, height, width = images.shape
    channels = depth if channels is None else channels
    last = is_channels_last(images, None) and channels > 1
    return new_images(images, (count, channels, height, width), last)


def register_fake_like(op: str, **dimensions: int) -> None:
    """Register the fake kernels of an operator whose output is like its images, and of its out variant."""

    @register_fake(op, **dimensions)
    def _(images: Tensor, layout: Tensor | None, *_: object) -> Tensor:
        return fake_like(images, layout)

    register_out_fake(op, **dimensions)


def whole_numbers(op: str, name: str, value: Any, shape: list[int], low: int, high: int) -> Tensor:
    """Integers as contiguous int64 of `shape` on their device; on the CPU, their range is checked."""
    values = as_tensor(op, name, array_of(value))
    if values.dtype not in INTEGERS:
        raise TypeError(f"{op}: expected {name} of whole numbers, but got {values.dtype}")
    if list(values.shape) != shape:
        raise ValueError(f"{op}: expected {name} of shape {shape}, but got {list(values.shape)}")
    if values.device.type == "cpu" and not torch.compiler.is_compiling():
        for index, number in enumerate(values.flatten().tolist()):
            if not low <= number <= high:
                raise ValueError(
                    f"{op}: expected {name} from {low} to {high}, but got {number} for image "
                    f"{index // max(values[0].numel(), 1)}"
                )
    return values.detach().to(torch.int64).contiguous()
