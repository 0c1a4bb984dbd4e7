"""Masks of a batch, warped where they lie."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from torch import Tensor

from orbbec._library import default_arithmetic, operators
from orbbec.bridge.buffer_pool import output_buffer
from orbbec.bridge.fakes import register_fake


def warp_masks(
    masks: Sequence[Tensor],
    images: Sequence[int],
    matrix: Tensor,
    sizes: Tensor,
    *,
    regions: Tensor | None = None,
    border: str = "constant",
    fill: Sequence[float] = (0.0,),
) -> list[Tensor]:
    """Warp masks by the matrices of their images, with nearest interpolation; see `warp_perspective`.

    Args:
        masks: tensors `[..., H, W]` of any sizes and one dtype, on the CPU.
        images: the index of the image of each.
        matrix: float64 `[N, 3, 3]`: output pixels to pixels of the masks.
        sizes: int64 `[N, 2]`: height and width of the results in pixels.
        regions: int64 `[N, 4]`: left, top, right, bottom of the parts of the masks that are read, whose first
            pixel is (0, 0); None: all of them.
        border: its name.
        fill: value outside a mask: each byte of it, or one for all.

    Returns:
        Masks `[..., height, width]`.

    Example:
        >>> right_by_one = torch.eye(3, dtype=torch.float64)[None]
        >>> right_by_one[0, 0, 2] = -1
        >>> warp_masks([torch.tensor([[5, 6, 7]])], [0], right_by_one, torch.tensor([[1, 3]]))[0].tolist()
        [[0, 5, 6]]
    """
    sides = sizes.tolist()
    shapes = [(*mask.shape[:-2], *sides[image]) for mask, image in zip(masks, images, strict=True)]
    counts = list(map(prod, shapes))
    out = output_buffer((sum(counts),), masks[0].dtype, False, masks[0])
    pixels = [mask.detach().contiguous() for mask in masks]
    _warp_masks(pixels, images, matrix, sizes, regions, border, fill, default_arithmetic(), out)
    parts = out.split_with_sizes(counts) if len(masks) > 1 else (out,)
    return [part.view(shape) for part, shape in zip(parts, shapes, strict=True)]


_warp_masks: Callable[..., None] = operators.warp_masks


@register_fake("warp_masks")
def _(*_: object) -> None:
    return None
