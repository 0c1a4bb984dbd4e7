"""Images of a batch mixed with others of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec.plan.passes import MixPass


def mix_images(step: MixPass, work: Any) -> Tensor:
    """Mix `[N, C, H, W]` by a pass: each image with the one before it, or four into one.

    Raises:
        ValueError: the images are of unlike sizes.
    """
    if not isinstance(work, Tensor):
        raise ValueError(f"{step.kind}: expected images of one size; put a resize or a crop before it")
    if step.kind == "mixup":
        lam = torch.from_numpy(step.table["lam"].astype(np.float32)).to(work.device)[:, None, None, None]
        mixed: Tensor = work.float() * lam + work.float().roll(1, 0) * (1 - lam)
        return _stored(mixed, work.dtype)
    if step.kind == "cutmix":
        return _paste(work.clone(), work.roll(1, 0), step.table["boxes"])
    return _mosaic(step, work)


def _paste(target: Tensor, source: Tensor, boxes: Any) -> Tensor:
    for image, other, (left, top, right, bottom) in zip(target, source, boxes.tolist(), strict=True):
        image[:, top:bottom, left:right] = other[:, top:bottom, left:right]
    return target


def _mosaic(step: MixPass, work: Tensor) -> Tensor:
    height, width = step.sizes[0].tolist() if len(step.sizes) else work.shape[-2:]
    fill = torch.tensor(step.options["fill"], dtype=torch.float32).to(work.dtype).to(work.device)
    result = work.new_empty((work.shape[0], work.shape[1], height, width))
    result.copy_(fill.reshape(1, -1, 1, 1).expand_as(result))
    partners, cells = step.table["partners"].tolist(), step.table["cells"].tolist()
    for image, four, boxes in zip(result, partners, cells, strict=True):
        for partner, (left, top, right, bottom, from_x, from_y) in zip(four, boxes, strict=True):
            part = work[partner][:, from_y : from_y + bottom - top, from_x : from_x + right - left]
            image[:, top : top + part.shape[1], left : left + part.shape[2]] = part
    return result


def _stored(values: Tensor, dtype: torch.dtype) -> Tensor:
    return values.round().clamp(0, 255).to(dtype) if dtype == torch.uint8 else values.to(dtype)
