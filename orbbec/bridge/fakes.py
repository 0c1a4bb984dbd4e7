"""Registration of fake kernels."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch import Tensor

Fake = Callable[..., Any]


def register_fake(op: str, **dimensions: int) -> Callable[[Fake], Fake]:
    """Register a function as the fake kernel of an operator, with checks of the dimensions it indexes.

    Images are always checked: `[N, C, H, W]`, or a flat buffer and its layout table `[N, 3]`.

    Args:
        op: the operator.
        dimensions: by schema name, the number of dimensions of a tensor or the length of a list.

    Returns:
        A decorator that returns the function unchanged.
    """
    names = [argument.name for argument in getattr(torch.ops.orbbec, op).default._schema.arguments]
    ragged = {"images", "layout"} <= set(names)
    if "images" in names:
        dimensions = {"images": 4, **dimensions}

    def register(fake: Fake) -> Fake:
        @wraps(fake)
        def checked(*arguments: Any, **named: Any) -> Any:
            values = {**dict(zip(names, arguments, strict=False)), **named}
            expected = dict(dimensions)
            if ragged and values["layout"] is not None:
                expected |= {"images": 1, "layout": 2}
            for name, number in expected.items():
                _check(op, name, values[name], number)
            return fake(*arguments, **named)

        torch.library.register_fake(f"orbbec::{op}")(checked)
        return fake

    return register


def register_out_fake(op: str, **dimensions: int) -> None:
    """Register the fake kernel of the out variant of an operator; see `register_fake`."""

    @register_fake(f"{op}_out", **dimensions)
    def _(images: Tensor, *arguments: Any) -> None:
        if arguments[-1].device != images.device:
            raise ValueError(f"{op}: expected out on the device of images")


def _check(op: str, name: str, value: Any, number: int) -> None:
    if isinstance(value, Tensor) and value.dim() != number:
        raise ValueError(f"{op}: expected {name} of {number} dimensions, but got shape {list(value.shape)}")
    if isinstance(value, (list, tuple)) and len(value) != number:
        raise ValueError(f"{op}: expected {name} as {number} numbers, but got {list(value)}")
