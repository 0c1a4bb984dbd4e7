"""Shared code of operators that draw noise: the key of the random numbers."""

from typing import Any

import torch
from torch import Tensor

from orbbec.bridge.arguments import as_tensor, dtype_name, tensor_of
from orbbec.bridge.plain import is_integer, is_sequence, shown

_LIMITS = {"seed": 1 << 63, "epoch": 1 << 63, "transform_index": 1 << 16}


def key_value(op: str, name: str, value: Any) -> int:
    """Check `value` of "seed", "epoch" or "transform_index": a whole number within the counter's range."""
    if not is_integer(value):
        raise TypeError(f"{op}: expected {name} as a whole number, but got {shown(value)}")
    if not 0 <= value < _LIMITS[name]:
        raise ValueError(f"{op}: expected {name} from 0 to {_LIMITS[name] - 1}, but got {value}")
    return int(value)


def whole_table(op: str, name: str, value: Any) -> Tensor:
    """Whole numbers in a tensor, an array or a sequence, as an int64 tensor on their device."""
    if is_sequence(value):
        try:
            value = tensor_of(list(value))
        except (TypeError, ValueError) as error:
            raise ValueError(f"{op}: expected {name} as whole numbers in rows of one length") from error
        value = value.to(torch.int64) if value.numel() == 0 else value
    table = as_tensor(op, name, value)
    if table.dtype == torch.bool or table.is_floating_point() or table.is_complex():
        raise TypeError(f"{op}: expected {name} of whole numbers, but got {dtype_name(table.dtype)}")
    return table.to(torch.int64)


def sample_table(op: str, sample_ids: Any, count: int) -> Tensor | None:
    """Sample ids as int64 `[count]`; None if they count up from 0."""
    if sample_ids is None:
        return None
    table = whole_table(op, "sample_ids", sample_ids)
    if list(table.shape) != [count]:
        raise ValueError(f"{op}: expected sample_ids of shape [{count}], but got {list(table.shape)}")
    return table


def noise_key(
    op: str, seed: int, sample_ids: Any, epoch: int, transform_index: int, count: int
) -> tuple[int, Tensor | None, int, int]:
    """What determines the noise of `count` images, as operators take it."""
    return (
        key_value(op, "seed", seed),
        sample_table(op, sample_ids, count),
        key_value(op, "epoch", epoch),
        key_value(op, "transform_index", transform_index),
    )
