"""What the wrappers of this folder share: any kind of images in, the same kind out."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from orbbec.binding.arguments import Matrix, OperatorInput, as_tensor, operator_input


def images_input(op: str, images: Any, channels: int | None = None) -> OperatorInput:
    """Describe images for an operator whose output has their sizes: an ImageBatch gives an ImageBatch."""
    given = operator_input(op, "images", images)
    if given.layout is None:
        return given

    def restore(output: Tensor) -> Any:
        return images.with_pixels(output, given.channels if channels is None else channels)

    return given._replace(restore=restore)


def fake_like(images: Tensor, layout: Tensor | None, channels: int, dtype: torch.dtype) -> Tensor:
    """An output without memory, with the sizes of the images and laid out as they are."""
    if layout is not None:
        return torch.empty_like(images, dtype=dtype)
    count, given, height, width = images.shape
    last = given > 1 and images.stride(1) == 1 and images.stride(3) != 1 and channels > 1
    return torch.empty(
        (count, channels, height, width),
        dtype=dtype,
        device=images.device,
        memory_format=torch.channels_last if last else torch.contiguous_format,
    )


def per_image(
    op: str, name: str, value: Any, given: OperatorInput, is_valid: Callable[[float], bool], rule: str
) -> tuple[Tensor | None, float]:
    """One number an image, as float64 on their device, or one for all; `is_valid` sees those on the host."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if not is_valid(float(value)):
            raise ValueError(f"{op}: expected {name} {rule}, but got {value}")
        return None, float(value)
    values = as_tensor(op, name, value)
    if values.dim() == 0:
        values = values.expand(1)
    count = given.images.size(0) if given.layout is None else given.layout.size(0)
    if values.dim() != 1 or values.size(0) not in (1, count):
        raise ValueError(f"{op}: expected {name} of shape [{count}], but got {list(values.shape)}")
    if values.device.type == "cpu" and not torch.compiler.is_compiling() and values.numel():
        for index, number in enumerate(values.tolist()):
            if not is_valid(number):
                raise ValueError(f"{op}: expected {name} {rule}, but got {number} for image {index}")
    values = values.detach().to(device=given.images.device, dtype=torch.float64, non_blocking=True)
    return values.expand(count).contiguous(), 0.0


Factor = float | Matrix
