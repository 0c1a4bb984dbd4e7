"""Arguments of one number per image."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec.bridge.arguments import Matrix, OperatorInput, array_of, constant_numbers, on_device_of
from orbbec.bridge.plain import is_real
from orbbec.bridge.pointwise import count_of


def is_finite(numbers: Any) -> Any:
    """Of a number, or of each number of an array."""
    return abs(numbers) < math.inf


def check_numbers(op: str, name: str, values: Tensor, is_valid: Callable[[Any], Any], rule: str) -> None:
    """Raise ValueError if a number on the host is not valid."""
    if values.device.type != "cpu" or torch.compiler.is_compiling() or not values.numel():
        return
    numbers = values.detach().reshape(-1).double().numpy()
    good = is_valid(numbers)
    if not np.all(good):
        index = int(np.argmin(good)) * (len(values) if values.dim() else 1) // len(numbers)
        raise ValueError(f"{op}: expected {name} {rule}, but got {numbers[~good][0]} for image {index}")


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
    values = constant_numbers(op, name, array_of(value))
    count = count_of(inputs)
    if values.dim() > 1 or values.numel() not in (1, count):
        raise ValueError(f"{op}: expected {name} of shape [{count}], but got {list(values.shape)}")
    check_numbers(op, name, values, is_valid, rule)
    values = values if values.shape == (count,) else values.expand(count)
    return on_device_of(inputs.images, values, torch.float64), 0.0


Factor = float | Sequence[float] | Matrix
