"""Arguments of one number per image."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec.bridge.arguments import Matrix, OperatorInput, array_of, on_device_of, real_numbers
from orbbec.bridge.plain import is_real
from orbbec.bridge.pointwise import count_of


def per_image(
    op: str, name: str, value: Any, inputs: OperatorInput, is_valid: Callable[[Any], Any], rule: str
) -> tuple[Tensor | None, float]:
    """One number per image, or one for all, as float64 on its device.

    `is_valid` checks a number, or each number of an array, on the host.
    """
    if is_real(value):
        if not is_valid(float(value)):
            raise ValueError(f"{op}: expected {name} {rule}, but got {value}")
        return None, float(value)
    values = real_numbers(op, name, array_of(value))
    count = count_of(inputs)
    if values.dim() > 1 or values.numel() not in (1, count):
        raise ValueError(f"{op}: expected {name} of shape [{count}], but got {list(values.shape)}")
    if values.device.type == "cpu" and not torch.compiler.is_compiling() and values.numel():
        numbers = values.detach().reshape(-1).double().numpy()
        good = is_valid(numbers)
        if not np.all(good):
            index = int(np.argmin(good))
            raise ValueError(f"{op}: expected {name} {rule}, but got {numbers[index]} for image {index}")
    if values.requires_grad:
        values = values.detach()
    values = values if values.shape == (count,) else values.expand(count)
    return on_device_of(inputs.images, values, torch.float64), 0.0


Factor = float | Sequence[float] | Matrix
