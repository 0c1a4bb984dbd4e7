"""Mean, standard deviation and histogram of channels."""

from typing import NamedTuple

import torch
from torch import Tensor

from orbbec._library import operators
from orbbec.bridge.arguments import Images
from orbbec.bridge.dispatch import call_operator, refuse_gradient
from orbbec.bridge.fakes import register_fake
from orbbec.bridge.pointwise import images_input


class ChannelStatistics(NamedTuple):
    """Statistics per channel and image; see `channel_statistics`."""

    mean: Tensor  # float64 [N, C]
    std: Tensor  # float64 [N, C]
    histogram: Tensor | None  # int64 [N, C, 256] for uint8


def channel_statistics(images: Images) -> ChannelStatistics:
    """Mean, standard deviation and, for uint8, histogram of each channel of each image.

    Sums have a fixed order, and sums of bytes are integers, so that all devices give the same bits. The
    standard deviation is that of the population, as in NumPy's `std`. There is no gradient.

    Args:
        images: uint8, float16, bfloat16, float32 or float64 images of any kind; see `cvt_color`.

    Returns:
        `mean` and `std`, float64 `[N, C]`, in the units of the pixels, and `histogram`, int64 `[N, C, 256]`
        for uint8, otherwise None; on the device of `images`.

    Raises:
        TypeError: `images` has an unsupported type.
        ValueError: the dtype is invalid.

    Source:
        NumPy's `mean` and `std` in float64.

    Example:
        >>> statistics = channel_statistics(torch.tensor([[[1, 3]]], dtype=torch.uint8))
        >>> statistics.mean.tolist(), statistics.std.tolist()
        ([[2.0]], [[1.0]])
    """
    inputs = images_input("channel_statistics", images)
    pixels, layout, channels = inputs.images, inputs.layout, inputs.channels
    is_byte = pixels.dtype == torch.uint8
    count = operators.histogram if is_byte else operators.channel_sums
    totals = call_operator(count, pixels, layout, channels)
    area = 0 if layout is not None else pixels.shape[-2] * pixels.shape[-1]
    mean, std = call_operator(operators.channel_moments, totals, layout, area).unbind()
    return ChannelStatistics(mean, std, totals if is_byte else None)


@register_fake("channel_sums")
def _(images: Tensor, layout: Tensor | None, channels: int) -> Tensor:
    shape = images.shape[:2] if layout is None else (layout.size(0), channels)
    return images.new_empty((shape[0], 2 * shape[1]), dtype=torch.float64)


@register_fake("channel_moments")
def _(totals: Tensor, layout: Tensor | None, pixels: int) -> Tensor:
    if totals.dim() not in (2, 3):
        raise ValueError(
            f"channel_moments: expected totals of 2 or 3 dimensions, but got shape {list(totals.shape)}"
        )
    channels = totals.size(1) if totals.dim() == 3 else totals.size(1) // 2
    return totals.new_empty((2, totals.size(0), channels), dtype=torch.float64)


refuse_gradient("channel_sums", "channel_statistics")
refuse_gradient("channel_moments", "channel_statistics")
