"""Argument checks of the mixing operators."""

from typing import Any

import torch
from torch import Tensor

from orbbec.bridge.arguments import OperatorInput, copied_to, real_numbers
from orbbec.bridge.plain import is_real
from orbbec.bridge.pointwise import count_of, images_input, whole_numbers


def mixed_input(op: str, images: Any, pair_indices: Any) -> tuple[OperatorInput, Tensor]:
    """Images, and their pair indices as int64 `[N]` on their device.

    Raises:
        ValueError: an index on the host is out of range, or refers to an image of another size.
    """
    inputs = images_input(op, images)
    count = count_of(inputs)
    index = whole_numbers(op, "pair_indices", pair_indices, [count], 0, count - 1)
    if inputs.layout is not None and index.device.type == "cpu" and inputs.layout.device.type == "cpu":
        sizes = inputs.layout[:, 1:]
        different = (sizes != sizes[index]).any(1).nonzero().flatten().tolist()
        if different:
            n = different[0]
            height, width = sizes[n].tolist()
            other_height, other_width = sizes[index[n]].tolist()
            raise ValueError(
                f"{op}: expected pair_indices of equal size, but image {n} is {height}x{width} "
                f"and the other image {other_height}x{other_width}"
            )
    return inputs, to_device(index, inputs)


def to_device(table: Tensor, inputs: OperatorInput) -> Tensor:
    """A table on the device of the images."""
    return copied_to(inputs.images.device, table)


def every_image(values: Tensor, count: int, shape: list[int]) -> Tensor:
    """Expand one value of `shape` for all images to one per image."""
    return values.expand([count, *shape]) if list(values.shape) == shape else values


def float_numbers(op: str, name: str, value: Any, inputs: OperatorInput) -> Tensor:
    """A number, or one per image, as float64 `[N]` on the device of the images."""
    count = count_of(inputs)
    if is_real(value):
        return torch.full((count,), float(value), dtype=torch.float64, device=inputs.images.device)
    values = real_numbers(op, name, value)
    if list(values.shape) not in ([], [count]):
        raise ValueError(f"{op}: expected {name} of shape [{count}], but got {list(values.shape)}")
    return to_device(values.detach().to(torch.float64).expand(count).contiguous(), inputs)
