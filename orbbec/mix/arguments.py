"""Argument checks of the mixing operators."""

from typing import Any

from torch import Tensor

from orbbec.bridge.arguments import OperatorInput, copied_to
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
