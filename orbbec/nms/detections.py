"""Conversion of boxes, scores and groups between users' types and the operators' tensors."""

from collections.abc import Callable
from typing import Any, TypeAlias

import torch
from torch import Tensor

from orbbec._library import operators
from orbbec.bridge.arguments import Array, as_tensor, check_device, dtype_name, whole_value
from orbbec.bridge.fakes import register_fake
from orbbec.bridge.plain import is_real

Boxes: TypeAlias = Tensor | Array
_END_OF_INT64 = 2.0**63


def box_tensor(op: str, name: str, value: Any, columns: int) -> Tensor:
    """`value` as a tensor `[N, columns]` in the dtype of the computation: float32 for half types.

    Raises:
        TypeError: not a tensor or array, or not of real numbers.
        ValueError: the shape is invalid.
    """
    boxes = _table(op, name, value, columns)
    return boxes if boxes.dtype in (torch.float32, torch.float64) else boxes.float()


def _constant(op: str, name: str, value: Any) -> Tensor:
    """`value` as a tensor without gradient."""
    tensor = as_tensor(op, name, value)
    return tensor.detach() if tensor.requires_grad else tensor


def real_tensor(op: str, name: str, value: Any) -> Tensor:
    """`value` as a detached tensor of real numbers."""
    tensor = _constant(op, name, value)
    if not tensor.is_floating_point():
        dtype = dtype_name(tensor.dtype)
        raise TypeError(f"{op}: expected {name} of float16, bfloat16, float32 or float64, but got {dtype}")
    check_device(op, tensor)
    return tensor


def detection_rows(op: str, dets: Any) -> Tensor:
    """`dets` as a tensor `[N, 5]`: boxes and scores."""
    return _table(op, "dets", dets, 5)


def _table(op: str, name: str, value: Any, columns: int) -> Tensor:
    table = real_tensor(op, name, value)
    if table.dim() != 2 or table.shape[1] != columns:
        raise ValueError(f"{op}: expected {name} of shape [N, {columns}], but got {list(table.shape)}")
    return table


def vector(op: str, name: str, value: Any, boxes: Tensor) -> Tensor:
    """`value` as a tensor `[N]`, one value for each of `boxes`, on their device.

    Raises:
        TypeError: not a tensor or array, or of complex numbers.
        ValueError: the shape or device is invalid.
    """
    values = _constant(op, name, value)
    if values.is_complex():
        raise TypeError(f"{op}: expected {name} of real numbers, but got {dtype_name(values.dtype)}")
    if values.dim() != 1 or values.shape[0] != boxes.shape[0]:
        raise ValueError(f"{op}: expected {name} of shape [{boxes.shape[0]}], but got {list(values.shape)}")
    if values.device != boxes.device:
        raise ValueError(f"{op}: expected {name} on the device of boxes")
    return values


def like(template: Any, *results: Tensor) -> Any:
    """One result or a tuple of results, as tensors if `template` is a tensor, otherwise as arrays."""
    kinds = results if isinstance(template, Tensor) else tuple(result.cpu().numpy() for result in results)
    return kinds[0] if len(kinds) == 1 else kinds


def is_number(value: Any) -> bool:
    """Whether an argument is a threshold rather than an array of scores."""
    return is_real(value) or getattr(value, "ndim", None) == 0


def best_first(op: str, scores: Tensor) -> Tensor:
    """Indices of the scores in descending order; stable, NaN first."""
    return stable_argsort(op, scores if scores.dtype == torch.float64 else scores.float(), descending=True)


def stable_argsort(op: str, values: Tensor, descending: bool = False) -> Tensor:
    """Indices `[N]` that sort float32, float64 or int64 values stably."""
    if values.is_cuda:
        return values.argsort(descending=descending, stable=True)
    indices: Tensor = operators.argsort(values, descending, op)
    return indices


@register_fake("argsort")
def _(values: Tensor, descending: bool, op: str = "argsort") -> Tensor:
    return values.new_empty(values.shape, dtype=torch.int64)


def select_indices(op: str, indices: Tensor, chosen: Tensor) -> Tensor:
    """The entries of int64 `indices` `[N]` where the mask `chosen` is set."""
    if indices.is_cuda:
        return indices[chosen]
    found: Tensor = operators.selected_indices(indices, chosen, op)
    return found


@register_fake("selected_indices")
def _(indices: Tensor, chosen: Tensor, op: str = "selected_indices") -> Tensor:
    return indices.new_empty((torch.library.get_ctx().new_dynamic_size(),))


def keep_greedily(
    op: str,
    keepers_of: Callable[[Tensor, Tensor | None], Tensor],
    boxes: Tensor,
    scores: Tensor,
    groups: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """Suppress boxes within their groups.

    Args:
        op: the name in errors.
        keepers_of: an operator on boxes and groups `[N]`, best first within each group: the index of the box
            that suppresses each box, its own index if it is kept.
        boxes: `[N, ...]`.
        scores: `[N]`.
        groups: int64 `[N]`, or None for one group.

    Returns:
        bool `[N]`, whether each box is kept, and int64 `[N]`, its index in `boxes`; both by descending score.
    """
    order = best_first(op, scores)
    indices = torch.arange(len(boxes), device=boxes.device)
    if groups is None:
        return keepers_of(boxes.index_select(0, order), None) == indices, order
    ordered = groups.index_select(0, order)
    by_group = stable_argsort(op, ordered)
    ranked = boxes.index_select(0, order.index_select(0, by_group))
    keep = keepers_of(ranked, ordered.index_select(0, by_group)) == indices
    return torch.empty_like(keep).scatter_(0, by_group, keep), order


def group_numbers(op: str, name: str, value: Any, boxes: Tensor) -> Tensor | None:
    """`value` as int64 `[N]`, the group of each of `boxes`; None if it is None.

    Raises:
        TypeError: not of integers or floats; of floats under a compiler, which cannot check them.
        ValueError: the shape or device is invalid, or a float is not a whole number.
    """
    if value is None:
        return None
    groups = vector(op, name, value, boxes)
    if groups.is_floating_point() and torch.compiler.is_compiling():
        raise TypeError(f"{op}: expected {name} of integers, but got {dtype_name(groups.dtype)}")
    if groups.is_floating_point():
        _check_whole(op, name, groups)
    return groups.to(torch.int64)


def _check_whole(op: str, name: str, numbers: Tensor) -> None:
    wrong = (numbers != numbers.trunc()) | ~(numbers.abs() < _END_OF_INT64)
    if wrong.any():
        index = int(wrong.nonzero()[0])
        raise ValueError(
            f"{op}: expected {name} of whole numbers, but got {float(numbers[index])} at index {index}"
        )


def check_max_output(op: str, count: Any) -> None:
    """Check a number of boxes; None means no limit.

    Raises:
        TypeError: not a whole number.
        ValueError: below 0.
    """
    if count is not None and whole_value(op, "max_output", count) < 0:
        raise ValueError(f"{op}: expected max_output of at least 0, but got {count}")


def chosen_indices(op: str, keep: Tensor, order: Tensor, max_output: int | None) -> tuple[Tensor, ...]:
    """The kept entries of `order`; with `max_output`, what `at_most` returns."""
    return (select_indices(op, order, keep),) if max_output is None else at_most(keep, order, max_output)


def at_most(keep: Tensor, order: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The first `count` kept entries of `order`, padded with -1, and their number; does not synchronize."""
    rank = keep.cumsum(0) - 1
    slot = torch.where(keep & (rank < count), rank, torch.full_like(rank, count))
    chosen = torch.full((count + 1,), -1, dtype=torch.int64, device=order.device)
    return chosen.scatter_(0, slot, order)[:count], keep.sum().clamp(max=count)
