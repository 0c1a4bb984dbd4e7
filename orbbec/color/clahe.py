"""Equalise the histograms of tiles, with OpenCV's numbers."""

from typing import Any

import torch
from torch import Tensor

from orbbec.binding.arguments import Images
from orbbec.binding.fakes import register_fake
from orbbec.binding.maps import fake_like, images_input
from orbbec.binding.per_image import Factor, per_image

OP = "clahe"


def clahe(images: Images, clip_limit: Factor = 40.0, tiles: tuple[int, int] = (8, 8)) -> Any:
    """Equalise each channel tile by tile, with limited contrast, blended between the tiles.

    Args:
        images: uint8 `[N, C, H, W]` or `[C, H, W]` tensor of any strides; `[H, W]`, `[H, W, C]` or
            `[N, H, W, C]` array; or an `ImageBatch`; on the CPU or a CUDA device.
        clip_limit: how many times the mean count a level of a tile may have; 0 for no limit. One number, or
            `[N]`, one an image.
        tiles: how many (rows, columns) of tiles, each from 1 to 1024.

    Returns:
        Images of the kind and size of `images`, on their device; channels last if `images` are.

    Raises:
        TypeError: an argument is of another type.
        ValueError: a dtype, shape or number does not fit.

    Source:
        `cv::CLAHE` of each channel; its `tileGridSize` is (columns, rows). Identical to OpenCV 5.0.0 and
        4.12.0.

    Example:
        >>> image = torch.arange(64, dtype=torch.uint8).reshape(1, 8, 8)
        >>> clahe(image, 2.0, (2, 2)).shape
        torch.Size([1, 8, 8])
    """
    given = images_input(OP, images)
    limits, limit = per_image(OP, "clip_limit", clip_limit, given, lambda v: v >= 0, "of at least 0")
    try:
        rows, columns = tiles
    except (TypeError, ValueError) as error:
        raise TypeError(f"{OP}: expected tiles as (rows, columns), but got {tiles!r}") from error
    arguments = (given.images, given.layout, given.channels, limit, limits, rows, columns)
    return given.restore(torch.ops.orbbec.clahe(*arguments))


@register_fake("clahe")
def _(images: Tensor, layout: Tensor | None, channels: int, *options: object) -> Tensor:
    return fake_like(images, layout)
