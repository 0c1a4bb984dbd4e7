"""Argument checks of the filters."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec.bridge.arguments import (
    IMAGE_DTYPES,
    array_of,
    as_tensor,
    constant_numbers,
    is_ragged,
    operator_input,
    size_values,
    whole_value,
)
from orbbec.bridge.per_image import check_numbers, is_finite
from orbbec.bridge.plain import is_integer, is_real, shown
from orbbec.bridge.pointwise import call_like

_WHOLE = (torch.uint8, torch.int16, torch.int32, torch.int64)


def filter_images(
    op: str, images: Any, operator: str, *options: Any, dtypes: Sequence[torch.dtype] = IMAGE_DTYPES
) -> Any:
    """Filter images with the operator of this name, keeping type, sizes and dtype.

    Variable-size images are filtered into a buffer of equal length; layout table and plan are copied.
    """
    inputs = operator_input(op, "images", images, dtypes)
    if inputs.layout is None:
        return inputs.restore(call_like(operator, inputs, *options))
    batch: Any = images
    storage = call_like(operator, inputs._replace(images=batch.storage), *options)
    storage[batch.pixel_bytes :] = batch.storage[batch.pixel_bytes :]
    return replace(batch, storage=storage)


def count_of(images: Any) -> int:
    """The number of images in a value that `operator_input` accepts."""
    if isinstance(images, (Tensor, np.ndarray)):
        return int(images.shape[0]) if images.ndim == 4 else 1
    return len(images.layout) if is_ragged(images) else 1


def device_of(images: Any) -> torch.device:
    """The device of a value that `operator_input` accepts; the CPU for other values."""
    if isinstance(images, Tensor):
        return images.device
    return images.buffer.device if is_ragged(images) else torch.device("cpu")


def kernel_sizes(op: str, kernel_size: Any, count: int) -> list[int]:
    """`kernel_size` as height and width, once for all images or for each image in order."""
    if is_integer(kernel_size):
        return [whole_value(op, "kernel_size", kernel_size)] * 2
    if isinstance(kernel_size, Tensor) and kernel_size.device.type != "cpu":
        raise ValueError(f"{op}: expected kernel_size on the CPU")
    if isinstance(kernel_size, (Tensor, np.ndarray)):
        sizes = as_tensor(op, "kernel_size", kernel_size)
        if sizes.dtype not in _WHOLE:
            raise TypeError(f"{op}: expected kernel_size of whole numbers, but got {sizes.dtype}")
        if list(sizes.shape) == [count]:
            sizes = sizes[:, None].expand(count, 2)
        if list(sizes.shape) != [count, 2]:
            raise ValueError(
                f"{op}: expected kernel_size of shape [{count}] or [{count}, 2], but got "
                f"{list(sizes.shape)}; (height, width) of all images is a tuple"
            )
        return [int(size) for size in sizes.flatten().tolist()]
    sides = size_values(op, kernel_size, "kernel_size as a whole number, (height, width) or one per image")
    return [int(side) if isinstance(side, Tensor) else side for side in sides]


def numbers_of(
    op: str,
    name: str,
    value: Any,
    count: int,
    device: torch.device,
    is_valid: Callable[[Any], Any] = is_finite,
    rule: str = "as finite numbers",
) -> Tensor:
    """A number for all images, or one per image: float64 `[1]` on `device`, or `[count]` on its device.

    `is_valid` checks a number, or each number of an array, on the host.
    """
    if is_real(value):
        if not is_valid(float(value)):
            raise ValueError(f"{op}: expected {name} {rule}, but got {value}")
        return torch.full((1,), float(value), dtype=torch.float64, device=device)
    value = array_of(value)
    if not isinstance(value, (Tensor, np.ndarray)):
        raise TypeError(f"{op}: expected {name} as a number, a tensor or an array, but got {shown(value)}")
    numbers = constant_numbers(op, name, value).to(torch.float64)
    if list(numbers.shape) not in ([], [1], [count]):
        raise ValueError(f"{op}: expected {name} of shape [{count}], but got {list(numbers.shape)}")
    check_numbers(op, name, numbers, is_valid, rule)
    return numbers.reshape(-1)
