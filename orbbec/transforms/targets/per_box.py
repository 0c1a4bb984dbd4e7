"""What belongs to the boxes of a target, by name: entries with one row per box."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec.batch.collate import sequence_like
from orbbec.bridge.arguments import Array

PER_BOX_KEYS = (
    *("labels", "label_ids", "class_labels", "class_ids", "category_ids"),
    *("scores", "confidence", "area", "iscrowd", "is_crowd", "difficult", "truncated", "occluded"),
    *("visibility", "track_ids", "instance_ids", "masks", "polygons"),
)

# Views of what torch's index_select lacks.
_SIGNED = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}


def row_count(value: Any) -> int | None:
    """The number of rows of an array or a sequence; None for other values."""
    if isinstance(value, (Tensor, np.ndarray)):
        return value.shape[0] if value.ndim else None  # len() of a tensor takes ten times as long
    is_sequence = isinstance(value, Sequence) and not isinstance(value, (str, bytes))
    return len(value) if is_sequence else None


def chosen_rows(value: Any, chosen: Array | None, is_shared: bool = True) -> Any:
    """The rows of an array or a sequence where a mask is set, with its type.

    Args:
        value: the array or sequence.
        chosen: bool `[K]`; None: all rows.
        is_shared: whether all rows of an array become a copy.
    """
    if isinstance(value, Tensor):
        if chosen is None:
            return value.clone() if is_shared else value
        if value.dtype in _SIGNED:
            return chosen_rows(value.view(_SIGNED[value.dtype]), chosen).view(value.dtype)
        rows = torch.from_numpy(chosen.nonzero()[0])  # faster than by truth values
        return value.index_select(0, rows.to(value.device))
    if isinstance(value, np.ndarray):
        if chosen is None:
            return value.copy() if is_shared else value
        return value[chosen]
    every = value if chosen is None else compress(value, chosen.tolist())
    return sequence_like(list(every), value)


def joined_rows(values: Sequence[Any]) -> Any:
    """The rows of several values, with the type of the first that has any."""
    filled = [value for value in values if row_count(value)] or values[:1]
    first = filled[0]
    if isinstance(first, Tensor):
        return torch.cat([torch.as_tensor(value, device=first.device) for value in filled])
    if isinstance(first, np.ndarray):
        return np.concatenate([np.asarray(value) for value in filled])
    return sequence_like([row for value in filled for row in value], first)


def example_of(values: Sequence[Any]) -> Any:
    """A value of the type that `joined_rows` gives, whose rows do not matter."""
    first, *others = values
    is_common = all(value is first or _are_alike(value, first) for value in others)
    return first if is_common else joined_rows(values)


def _are_alike(one: Any, other: Any) -> bool:
    return type(one) is type(other) and getattr(one, "dtype", None) == getattr(other, "dtype", None)
