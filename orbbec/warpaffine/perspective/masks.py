"""Masks of a batch, warped where they lie."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import torch
from torch import Tensor

from orbbec._library import default_arithmetic, operators
from orbbec.bridge.buffer_pool import output_buffer
from orbbec.bridge.fakes import register_fake


def warp_masks(
    masks: Sequence[Tensor],
    matrix: Tensor,
    sizes: Tensor,
    *,
    regions: Tensor | None = None,
    border: str = "constant",
    fill: Sequence[float] = (0.0,),
) -> list[Tensor]:
    """Warp the masks of each image by its matrix, with nearest interpolation; see `warp_perspective`.

    Args:
        masks: one tensor `[..., H, W]` per image, of any sizes and one dtype, on the CPU.
        matrix: float64 `[N, 3, 3]`: output pixels to pixels of the masks.
        sizes: int64 `[N, 2]`: height and width of the results in pixels.
        regions: int64 `[N, 4]`: left, top, right, bottom of the parts of the masks that are read, whose first
            pixel is (0, 0); None: all of them.
        border: its name.
        fill: value outside a mask: each byte of it, or one for all.

    Returns:
        Masks `[..., height, width]` of each image.

    Example:
        >>> right_by_one = torch.eye(3, dtype=torch.float64)[None]
        >>> right_by_one[0, 0, 2] = -1
        >>> warp_masks([torch.tensor([[5, 6, 7]])], right_by_one, torch.tensor([[1, 3]]))[0].tolist()
        [[0, 5, 6]]
    """
    shapes = [(*mask.shape[:-2], *size) for mask, size in zip(masks, sizes.tolist(), strict=True)]
    counts = list(map(prod, shapes))
    out = output_buffer((sum(counts),), masks[0].dtype, False, masks[0])
    with torch.no_grad():
        inputs = [mask.contiguous() for mask in masks]
        _warp_masks(inputs, matrix, sizes, regions, border, fill, default_arithmetic(), out)
    return [part.view(shape) for part, shape in zip(torch.split(out, counts), shapes, strict=True)]


_warp_masks: Callable[..., None] = operators.warp_masks


@register_fake("warp_masks")
def _(*_: object) -> None:
    return None
