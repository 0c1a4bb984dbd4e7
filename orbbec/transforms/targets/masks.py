"""Moves masks with the images of a plan: all masks of a batch in one launch per pass."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from orbbec.bridge.arguments import Array
from orbbec.transforms.targets.motion import Masks, Motion, bytes_of
from orbbec.warpaffine.remap import remap


class Mask(NamedTuple):
    """Masks `[..., H, W]` of one image, and its index in the batch."""

    image: int
    values: Tensor


def moved_masks(motion: Motion, masks: Sequence[Mask], fill: float) -> list[Tensor]:
    """Move masks through a pass. If the image is read by nearest, masks read the same pixels.

    Masks of one dtype take one launch, on CUDA one for each size of results. They are moved as bytes, which
    keeps the values of any dtype.

    Args:
        motion: that of the pass.
        masks: the masks before the pass.
        fill: value outside an image.
    """
    results: list[Tensor] = [mask.values for mask in masks]
    groups: dict[tuple[torch.dtype, torch.device], list[int]] = {}
    for index, (image, values) in enumerate(masks):
        height, width = motion.size(image)
        if values.numel() * height * width == 0:
            empty = torch.from_numpy(np.array(fill)).to(values)
            results[index] = empty.repeat(*values.shape[:-2], height, width)
        else:
            groups.setdefault((values.dtype, values.device), []).append(index)
    for (dtype, _), indices in groups.items():
        images, tensors = zip(*(masks[index] for index in indices), strict=True)
        outputs = motion.move_masks(Masks(tensors, images, _bytes_of(fill, dtype)))
        for index, result in zip(indices, outputs, strict=True):
            results[index] = result
    return results


def mask_here(mask: Tensor, matrix: Array, size: Array) -> Tensor:
    """A mask `[..., H, W]` where earlier steps left it, for transforms that read it.

    Args:
        mask: as the target has it.
        matrix: float64 `[3, 3]`: current pixels to those of the target.
        size: the current (height, width).
    """
    if (matrix == np.eye(3)).all() and tuple(mask.shape[-2:]) == tuple(size.tolist()):
        return mask
    return moved_masks(Motion(matrix[None], size[None], "constant"), [Mask(0, mask)], 0.0)[0]


@lru_cache
def _bytes_of(fill: float, dtype: torch.dtype) -> list[float]:
    """The bytes of a number of this dtype.

    Raises:
        ValueError: the dtype cannot hold it, and would wrap -100 to 156.
    """
    if not (dtype.is_floating_point or dtype.is_complex or dtype == torch.bool):
        limits = torch.iinfo(dtype)
        if not limits.min <= fill <= limits.max:
            raise ValueError(
                f"transform_targets: expected a fill of masks from {limits.min} to {limits.max}, as "
                f"{limits.dtype} holds, but got {fill:g}; pass masks of another dtype"
            )
    numbers: list[float] = torch.from_numpy(np.array([fill])).to(dtype).view(torch.uint8).tolist()
    return numbers


def displaced_masks(masks: Tensor, x: Tensor, y: Tensor, fill: float) -> Tensor:
    """Masks `[..., H, W]` of any dtype, read at the pixels nearest to positions `x`, `y` `[H, W]`."""
    pixels, fills = bytes_of(masks).permute(0, 3, 1, 2), _bytes_of(fill, masks.dtype)
    result: Tensor = remap(pixels, x, y, interpolation="nearest", fill=fills).permute(0, 2, 3, 1)
    return result.contiguous().reshape(-1).view(masks.dtype).reshape(masks.shape)
