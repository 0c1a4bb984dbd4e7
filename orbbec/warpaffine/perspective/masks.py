"""Masks of a batch, warped where they lie."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from orbbec._library import default_arithmetic, operators
from orbbec.bridge.buffer_pool import output_buffer
from orbbec.bridge.fakes import register_fake


def warp_masks(
    masks: Sequence[Tensor],
    matrix: Tensor,
    size: tuple[int, int],
    *,
    regions: Tensor | None = None,
    border: str = "constant",
    fill: Sequence[float] = (0.0,),
) -> Sequence[Tensor]:
    """Warp the masks of each image by its matrix, with nearest interpolation; see `warp_perspective`.

    Args:
        masks: one tensor `[..., H, W]` per image, of any sizes and one dtype, on the CPU.
        matrix: float64 `[N, 3, 3]`: output pixels to pixels of the masks.
        size: output (height, width) in pixels.
        regions: int64 `[N, 4]`: left, top, right, bottom of the parts of the masks that are read, whose first
            pixel is (0, 0); None: all of them.
        border: its name.
        fill: value outside a mask: each byte of it, or one for all.

    Returns:
        Masks `[M, height, width]` of each image.

    Example:
        >>> right_by_one = torch.eye(3, dtype=torch.float64)[None]
        >>> right_by_one[0, 0, 2] = -1
        >>> warp_masks([torch.tensor([[5, 6, 7]])], right_by_one, (1, 3))[0].tolist()
        [[[0, 5, 6]]]
    """
    counts = [mask.shape[:-2].numel() for mask in masks]
    out = output_buffer((sum(counts), *size), masks[0].dtype, False, masks[0])
    with torch.no_grad():
        inputs = [mask.contiguous() for mask in masks]
        _warp_masks(inputs, matrix, regions, border, fill, default_arithmetic(), out)
    return out.split(counts)


_warp_masks: Callable[..., None] = operators.warp_masks


@register_fake("warp_masks")
def _(*_: object) -> None:
    return None
