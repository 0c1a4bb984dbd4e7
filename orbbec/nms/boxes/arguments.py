"""Argument checks of the box functions."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from orbbec.bridge.arguments import check_device, real_numbers

# Numbers per box of each format.
NUMBERS = {"xyxy": 4, "xywh": 4, "cxcywh": 4, "cxcywha": 5, "xywha": 5, "xyxyxyxy": 8}
_SYNONYMS = {"cxcywhr": "cxcywha", "xywhr": "xywha"}


def boxes_of(op: str, name: str, value: Any, numbers: int = 4) -> Tensor:
    """Convert `value` to a tensor `[..., numbers]`, keeping its gradient.

    Raises:
        TypeError: not a tensor or array, or complex or bool.
        ValueError: the shape is invalid.
    """
    boxes = real_numbers(op, name, value)
    if boxes.dim() < 1 or boxes.shape[-1] != numbers:
        raise ValueError(f"{op}: expected {name} of shape [..., {numbers}], but got {list(boxes.shape)}")
    check_device(op, boxes)
    return boxes


def pair_of(op: str, boxes1: Any, boxes2: Any, numbers: int = 4) -> tuple[Tensor, Tensor]:
    """Two sets of boxes, `[..., N, numbers]` and `[..., M, numbers]`, of one dtype on one device."""
    first, second = boxes_of(op, "boxes1", boxes1, numbers), boxes_of(op, "boxes2", boxes2, numbers)
    for name, boxes in (("boxes1", first), ("boxes2", second)):
        if boxes.dim() < 2:
            raise ValueError(
                f"{op}: expected {name} of shape [..., N, {numbers}], but got {list(boxes.shape)}"
            )
    if first.device != second.device:
        raise ValueError(f"{op}: expected boxes1 and boxes2 on one device")
    dtype = torch.promote_types(computed_dtype(first), computed_dtype(second))
    return first.to(dtype), second.to(dtype)


def computed_dtype(boxes: Tensor) -> torch.dtype:
    """The dtype of the computation: float32 for half types, int64 for integers."""
    if boxes.is_floating_point():
        return boxes.dtype if boxes.dtype == torch.float64 else torch.float32
    return torch.int64


def needs_gradient(*tensors: Tensor) -> bool:
    return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)


def format_name(op: str, name: str, value: Any, known: Sequence[str]) -> str:
    """The name of a format.

    Raises:
        ValueError: the format is not in `known`.
    """
    if isinstance(value, str) and (name_of_format := _SYNONYMS.get(value, value)) in known:
        return name_of_format
    raise ValueError(f"{op}: expected {name} as one of {', '.join(known)}, but got {value!r}")


def batched_pairs(first: Tensor, second: Tensor) -> tuple[Tensor, Tensor, list[int]]:
    """Both sets as `[B, N, K]` and `[B, M, K]`, and the shape of the pairwise result."""
    batch = torch.broadcast_shapes(first.shape[:-2], second.shape[:-2])  # type: ignore[no-untyped-call]
    count = math.prod(batch)
    rows = first.expand(*batch, *first.shape[-2:]).reshape(count, *first.shape[-2:])
    columns = second.expand(*batch, *second.shape[-2:]).reshape(count, *second.shape[-2:])
    return rows, columns, [*batch, first.shape[-2], second.shape[-2]]
