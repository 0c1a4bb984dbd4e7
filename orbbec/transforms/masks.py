"""Masks that follow the images of a plan: all of a batch in one launch a map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeGuard

import numpy as np
import torch
from torch import Tensor

from orbbec.elastic import elastic_transform
from orbbec.plan.batches import Rows
from orbbec.plan.passes import AugmentPass, OperatorPass
from orbbec.plan.plan import Plan
from orbbec.remap import remap
from orbbec.resize import resized_crop
from orbbec.warpperspective import warp_perspective

Size = tuple[int, int]


class Mask(NamedTuple):
    """Masks `[..., H, W]` of one image: its row in the batch, and the values."""

    image: int
    values: Tensor


def moved_masks(
    step: AugmentPass | OperatorPass, masks: Sequence[Mask], plan: Plan, fill: float
) -> list[Tensor]:
    """Each mask as the pass leaves it: the pixels that a nearest image takes, else the nearest.

    One launch for all masks of a dtype whose results have one size. They are read as bytes, so that values of
    any dtype are kept to the last bit.

    Args:
        step: the pass.
        masks: as they are before it.
        plan: that the pass is of.
        fill: outside of an image.
    """
    results: list[Tensor] = [mask.values for mask in masks]
    groups: dict[tuple[torch.dtype, torch.device, Size], list[int]] = {}
    for place, (image, values) in enumerate(masks):
        height, width = step.sizes[image].tolist()
        if values.numel() * height * width == 0:
            empty = torch.tensor(fill).to(values)
            results[place] = empty.repeat(*values.shape[:-2], height, width)
        else:
            groups.setdefault((values.dtype, values.device, (height, width)), []).append(place)
    for (dtype, _, size), places in groups.items():
        own = [masks[place] for place in places]
        fills = torch.tensor([fill]).to(dtype).view(torch.uint8).tolist()
        bends = isinstance(step, OperatorPass) and step.name == "elastic_transform"
        moved = [_bent(step, mask, plan, fills) for mask in own] if bends else _warped(step, own, size, fills)
        for place, mask, part in zip(places, own, moved, strict=True):
            whole = part.permute(0, 2, 3, 1).reshape(-1).view(dtype)
            results[place] = whole.reshape(*mask.values.shape[:-2], *size)
    return results


def _as_bytes(values: Tensor) -> Tensor:
    """uint8 `[M, H, W, bytes of a value]`."""
    height, width = values.shape[-2:]
    return values.detach().contiguous().view(-1, height, width, 1).view(torch.uint8)


def _warped(
    step: AugmentPass | OperatorPass, masks: Sequence[Mask], size: Size, fills: list[float]
) -> list[Tensor]:
    """The bytes of all masks in one launch: of each image `[M, bytes of a value, height, width]`."""
    tables = [_as_bytes(_seen(step, mask)) for mask in masks]
    counts = [len(table) for table in tables]
    rows = np.repeat([mask.image for mask in masks], counts)
    if _takes_pixels(step):
        columns: dict[str, Any] = {name: torch.from_numpy(v[rows]) for name, v in step.table.items()}
        return list(torch.split(resized_crop(_ragged(tables), size=size, **columns, **step.options), counts))
    if isinstance(step, AugmentPass):
        maps, border = step.reads, step.border
    else:
        maps, border = step.matrix, step.options.get("border", "replicate")
    how: dict[str, Any] = {"interpolation": "nearest", "border": border, "fill": fills, "inverse": True}
    moved = warp_perspective(_ragged(tables), torch.from_numpy(maps[rows]), size, **how)
    return list(torch.split(moved, counts))


def _takes_pixels(step: AugmentPass | OperatorPass) -> TypeGuard[OperatorPass]:
    """Whether an operator resizes images by nearest, so that masks take the same pixels."""
    return isinstance(step, OperatorPass) and step.resizes and step.options["interpolation"] == "nearest"


def _seen(step: AugmentPass | OperatorPass, mask: Mask) -> Tensor:
    """The part of the masks of one image that the pass reads."""
    if not isinstance(step, AugmentPass) or step.regions is None:
        return mask.values
    left, top, right, bottom = step.regions[mask.image].tolist()
    return mask.values[..., top:bottom, left:right]


def _bent(step: AugmentPass | OperatorPass, mask: Mask, plan: Plan, fills: list[float]) -> Tensor:
    """The bytes of the masks of one image, all by its one field."""
    assert isinstance(step, OperatorPass)
    table = _as_bytes(mask.values)
    count, height, width, channels = table.shape
    row = slice(mask.image, mask.image + 1)
    options = {
        **step.options,
        **{name: torch.from_numpy(values[row]) for name, values in step.table.items()},
        **{"sample_ids": torch.from_numpy(plan.sample_ids[row]), "seed": plan.seed, "epoch": plan.epoch},
        **{"interpolation": "nearest", "fill": fills * count},
    }
    pixels = table.permute(0, 3, 1, 2).reshape(1, -1, height, width)
    bent: Tensor = elastic_transform(pixels, **options)
    return bent.reshape(count, channels, height, width)


def bent_masks(masks: Tensor, x: Tensor, y: Tensor, fill: float) -> Tensor:
    """Masks `[..., H, W]` of any dtype, whose pixels read the nearest to positions `x`, `y` `[H, W]`."""
    fills = torch.tensor([fill]).to(masks.dtype).view(torch.uint8).tolist()
    pixels = _as_bytes(masks).permute(0, 3, 1, 2)
    bent: Tensor = remap(pixels, x, y, interpolation="nearest", fill=fills).permute(0, 2, 3, 1)
    return bent.contiguous().reshape(-1).view(masks.dtype).reshape(masks.shape)


def _ragged(tables: Sequence[Tensor]) -> Rows:
    """Images of unlike sizes in one buffer."""
    rows, offset = [], 0
    for table in tables:
        count, height, width, channels = table.shape
        rows += [(offset + n * height * width * channels, height, width) for n in range(count)]
        offset += table.numel()
    buffer, layout = torch.cat([table.reshape(-1) for table in tables]), torch.tensor(rows)
    on_device = layout.to(buffer.device, non_blocking=True)
    return Rows(buffer, on_device, tables[0].shape[3], layout[:, 1:])
