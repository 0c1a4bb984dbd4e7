"""What becomes of targets where images are mixed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec.binding.arguments import Array
from orbbec.mix import mosaic_offsets
from orbbec.plan.passes import MixPass


def mixed(
    step: MixPass, targets: Sequence[dict[str, Any]], sizes: Array, box_format: str
) -> list[dict[str, Any]]:
    """The targets of mixed images.

    Args:
        step: what mixes them.
        targets: of the images before.
        sizes: int64 `[N, 2]`: of the images before.
        box_format: of boxes.

    Raises:
        ValueError: boxes follow mosaic alone; a label is out of range.
    """
    if step.name == "mosaic":
        return [_laid(step, targets, sizes, n, box_format) for n in range(len(targets))]
    results = []
    for n, (own, other) in enumerate(zip(targets, step.table["partners"].tolist(), strict=True)):
        if "boxes" in own:
            raise ValueError(f"{step.name}: boxes do not follow; leave them out of the target of image {n}")
        result, share = dict(own), float(step.table["weights"][n])
        if "label" in own:
            first, second = (_shares(targets[m]["label"], step.options["num_classes"], m) for m in (n, other))
            result["label"] = share * first + (1 - share) * second
        results.append(result)
    return results


def _shares(label: Any, num_classes: int | None, index: int) -> Tensor:
    given = torch.as_tensor(label)
    if given.dim() == 1 and given.is_floating_point():
        return given
    if num_classes is None or given.dim() != 0:
        raise ValueError(
            f"MixUp: expected label as a number, and num_classes, or as a vector, for image {index}"
        )
    if not 0 <= int(given) < num_classes:
        raise ValueError(
            f"MixUp: expected label from 0 to {num_classes - 1}, but image {index} has {int(given)}"
        )
    return torch.nn.functional.one_hot(given.long(), num_classes).float()


def _laid(
    step: MixPass, targets: Sequence[dict[str, Any]], sizes: Array, n: int, box_format: str
) -> dict[str, Any]:
    """The boxes of four images in the place of one, clipped to their quarters; and what has a row a box."""
    if box_format != "xyxy":
        raise ValueError("mosaic: expected box_format xyxy")
    partners, center = step.table["partners"][n], step.table["centers"][n]
    offsets = mosaic_offsets(
        torch.from_numpy(sizes), torch.from_numpy(partners[None]), torch.from_numpy(center[None])
    )[0].numpy()
    height, width = step.sizes[n].tolist()
    x, y = center.tolist()
    quarters = ((0, 0, x, y), (x, 0, width, y), (0, y, x, height), (x, y, width, height))
    parts: list[dict[str, Any]] = []
    for partner, offset, quarter in zip(partners.tolist(), offsets, quarters, strict=True):
        target = targets[partner]
        if "boxes" not in target:
            continue
        boxes = np.asarray(target["boxes"], np.float64).reshape(-1, 4) + np.tile(offset, 2)
        low, high = np.array(quarter[:2] * 2, float), np.array(quarter[2:] * 2, float)
        boxes = np.clip(boxes, low, np.maximum(high, low))
        kept = (boxes[:, 2] - boxes[:, 0] >= 1) & (boxes[:, 3] - boxes[:, 1] >= 1)
        part = {"boxes": boxes[kept]}
        for key, value in target.items():
            if key != "boxes" and hasattr(value, "ndim") and value.ndim == 1 and len(value) == len(kept):
                part[key] = np.asarray(value)[kept]
        parts.append(part)
    common = set.intersection(*(set(part) for part in parts)) if parts else set()
    result: dict[str, Any] = {}
    for key in sorted(common):
        joined = np.concatenate([part[key] for part in parts])
        first = targets[n].get(key)
        result[key] = torch.from_numpy(joined).to(first.dtype) if isinstance(first, Tensor) else joined
    return result
