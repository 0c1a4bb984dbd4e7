"""The targets of a batch in one dict, as `orbbec.data.collate` makes them: tensors `[N, ...]`, lists of N."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec.batch import ImageBatch
from orbbec.batch.collate import is_pil, sequence_like
from orbbec.transforms.base.tv_tensors import is_tv_tensor, plain, wrapped
from orbbec.transforms.targets.dense import DENSE_KINDS
from orbbec.transforms.targets.run_lengths import are_runs
from orbbec.transforms.targets.state import MASK_KEYS, POINT_KEYS

TARGET_KEYS = ("boxes", "polygons", *MASK_KEYS, *POINT_KEYS, *DENSE_KINDS)
_RANKS = {"mask": 2, "boxes": 2, "masks": 3, "flow": 3, "normals": 3}  # of the targets of one image


def is_of_batch(target: dict[str, Any], images: Any, count: int) -> bool:
    """Whether a dict has the targets of all images of a batch, not those of one image.

    Args:
        target: boxes, masks and other entries.
        images: the images.
        count: their number.
    """
    if not (isinstance(images, (ImageBatch, list, tuple)) or getattr(images, "ndim", 0) > 3):
        return False
    ranked = [_is_of_several(target[key], rank) for key, rank in _RANKS.items() if key in target]
    return all(ranked) if ranked else count != 1


def _is_of_several(value: Any, rank: int) -> bool:
    if isinstance(value, (list, tuple)):
        if not value or (rank == _RANKS["masks"] and isinstance(value[0], (list, tuple))):
            return not value or are_runs(value[0])
        return is_pil(value[0]) or np.ndim(value[0]) == rank
    return isinstance(value, ImageBatch) or getattr(value, "ndim", 0) > rank


def split(target: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """One dict per image. Entries without a row per image are left out.

    Raises:
        ValueError: boxes, masks or points are of another number of images.

    Example:
        >>> split({"mask": torch.zeros(2, 4, 6), "names": ["a", "b"], "step": 7}, 2)[1]["names"]
        'b'
    """
    columns = {key: rows_of_batch(key, value, count) for key, value in target.items()}
    return [{key: rows[n] for key, rows in columns.items() if rows is not None} for n in range(count)]


def rows_of_batch(key: str, value: Any, count: int) -> Sequence[Any] | None:
    """The rows of an entry, one per image; None if it has none."""
    if isinstance(value, ImageBatch):
        rows: Sequence[Any] = [image[..., 0] if image.shape[-1] == 1 else image for image in value.images()]
    elif isinstance(value, (Tensor, np.ndarray)):
        rows = list(plain(value)) if value.ndim else []
        rows = [wrapped(row, like=value) for row in rows] if is_tv_tensor(value) else rows
    else:
        rows = value if isinstance(value, (list, tuple)) else []
    if len(rows) == count:
        return rows
    if key in TARGET_KEYS:
        raise ValueError(
            f"Compose: expected {key} of {count} images in the dict of a batch, but got {len(rows)}; "
            "pass one dict per image, or entries with a row per image"
        )
    return None


def joined(targets: Sequence[dict[str, Any]], before: dict[str, Any]) -> dict[str, Any]:
    """The targets of a batch in one dict: arrays of one shape and dtype are stacked, others listed.

    Args:
        targets: one dict per image.
        before: the dict before; its entries without a row per image are kept.
    """
    if not targets:
        return dict(before)
    unchanged = {
        key: value for key, value in before.items() if rows_of_batch(key, value, len(targets)) is None
    }
    keys = [key for key in targets[0] if all(key in target for target in targets)]
    return {
        **unchanged,
        **{key: _joined([target[key] for target in targets], before.get(key)) for key in keys},
    }


def _joined(values: list[Any], before: Any) -> Any:
    first = values[0]
    if isinstance(before, tuple):
        return sequence_like(values, before)
    if not isinstance(first, (Tensor, np.ndarray)) or not all(type(value) is type(first) for value in values):
        return values
    if len({(value.shape, value.dtype) for value in values}) > 1:
        return values
    if isinstance(first, np.ndarray):
        return np.stack(values)
    stacked = torch.stack([plain(value) for value in values])
    return wrapped(stacked, like=first) if is_tv_tensor(first) else stacked
