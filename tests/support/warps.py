"""A common call of `warp_affine`, `warp_perspective` and `remap`."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

import orbbec
from tests.support.samples import similarity

WARPS = ("warp_affine", "warp_perspective", "remap")
INTERPOLATIONS = ("nearest", "linear", "cubic", "lanczos4")
BORDERS = ("constant", "replicate", "reflect", "reflect101", "wrap", "transparent")
ARITHMETICS = ("cv2_5", "cv2_4")


def random_warps(
    op: str, source: tuple[int, int], target: tuple[int, int], count: int | None = None, seed: int = 0
) -> Tensor:
    """Matrices or positions for `warp` that rotate, scale and extend beyond the images.

    Args:
        op: one of `WARPS`.
        source: `(height, width)` of the images in pixels.
        target: `(height, width)` of the output in pixels.
        count: number of images; None: one for all images, without the first dimension.
        seed: seed of the numbers.

    Returns:
        float64 on the CPU: `[count, 2, 3]`, `[count, 3, 3]` or positions `[count, 2, height, width]`.
    """
    if op != "remap":
        matrices = similarity(source, target, seed, count)
        if op == "warp_affine":
            return matrices
        last = torch.tensor([[2e-4, -3e-4, 1.0]], dtype=torch.float64)
        return torch.cat([matrices, last.expand(*matrices.shape[:-2], 1, 3)], -2)
    matrices = similarity(target, source, seed, count)
    y, x = torch.meshgrid(*(torch.arange(side, dtype=torch.float64) for side in target), indexing="ij")
    positions = torch.einsum("...ij,jyx->...iyx", matrices, torch.stack([x, y, torch.ones_like(x)]))
    noise = np.random.default_rng(seed).normal(0, 0.5, positions.shape)
    return positions + torch.from_numpy(noise)


def warp(op: str, images: Any, map: Any, size: tuple[int, int], **options: Any) -> Any:
    """`orbbec.<op>(images, map, size, **options)`; the positions of `remap` as `[..., 2, height, width]`."""
    if op != "remap":
        return getattr(orbbec, op)(images, map, size, **options)
    return orbbec.remap(images, map[..., 0, :, :], map[..., 1, :, :], **options)


def maps_of(positions: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The maps in `[..., 2, height, width]`; what has no two is given as both."""
    if positions.dim() > 2 and positions.size(-3) == 2:
        return positions.unbind(-3)
    return positions, positions


def raw_arguments(
    op: str,
    images: Tensor,
    map: Tensor,
    size: tuple[int, int],
    *,
    layout: Tensor | None = None,
    channels: int = 0,
    interpolation: str = "linear",
    border: str = "constant",
    fill: tuple[float, ...] = (0.0,),
    inverse: bool = False,
    arithmetic: str = "cv2_5",
) -> tuple[Any, ...]:
    """The arguments of `torch.ops.orbbec.<op>` before `out`."""
    direction = () if op == "remap" else (inverse,)
    return (
        images,
        layout,
        channels,
        *((map,) if op != "remap" else maps_of(map)),
        list(size),
        interpolation,
        border,
        list(fill),
        *direction,
        arithmetic,
    )
