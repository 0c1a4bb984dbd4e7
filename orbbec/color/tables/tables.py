"""Lookup tables and histogram equalization."""

from typing import Any

import torch
from torch import Tensor

from orbbec.bridge.arguments import BYTES, Images, Matrix, OperatorInput, as_tensor, check_dtype
from orbbec.bridge.fakes import register_fake
from orbbec.bridge.pointwise import call_like, images_input, register_fake_like


def lut(images: Images, table: Matrix) -> Any:
    """Apply a lookup table to each byte.

    Args:
        images: uint8 `[N, C, H, W]` or `[C, H, W]` tensor of any strides; `[H, W]`, `[H, W, C]` or
            `[N, H, W, C]` array; or an `ImageBatch`; on the CPU or a CUDA device.
        table: uint8 `[256]` for all, `[C, 256]` per channel, or `[N, C, 256]` or `[N, 1, 256]` per image; on
            the CPU or on the device of `images`.

    Returns:
        Images of the type, size and memory format of `images`, on their device.

    Raises:
        TypeError: an argument has an unsupported type.
        ValueError: a dtype, shape or device is invalid.

    Source:
        `cv::LUT`.

    Example:
        >>> image = torch.tensor([[[0, 1, 255]]], dtype=torch.uint8)
        >>> lut(image, torch.arange(255, -1, -1).to(torch.uint8)).flatten().tolist()
        [255, 254, 0]
    """
    inputs = images_input("lut", images, dtypes=BYTES)
    tables = as_tensor("lut", "table", table)
    check_dtype("lut", "table", tables, BYTES)
    if tables.dim() in (1, 2):
        tables = tables[None, None] if tables.dim() == 1 else tables[None]
    return inputs.restore(call_like("lut", inputs, tables))


def equalize_hist(images: Images) -> Any:
    """Equalize the histogram of each channel, with OpenCV's results.

    Args:
        images: see `lut`.

    Returns:
        See `lut`, which also lists the errors.

    Source:
        `cv::equalizeHist` of each channel. Identical to OpenCV 5.0.0 and 4.12.0.

    Example:
        >>> equalize_hist(torch.tensor([[[10, 20, 20, 30]]], dtype=torch.uint8)).flatten().tolist()
        [0, 170, 170, 255]
    """
    return by_histogram("equalize_hist", images_input("equalize_hist", images, dtypes=BYTES))


def by_histogram(name: str, inputs: OperatorInput) -> Any:
    """Apply lookup tables made from histograms."""
    return inputs.restore(call_like("by_histogram", inputs, name))


register_fake_like("lut")


@register_fake("histogram")
def _(images: Tensor, layout: Tensor | None, channels: int) -> Tensor:
    shape = images.shape[:2] if layout is None else (layout.size(0), channels)
    return images.new_empty((*shape, 256), dtype=torch.int64)


register_fake_like("by_histogram")


@register_fake("tables_of_gamma", gamma=1)
def _(gamma: Tensor, gain: float) -> Tensor:
    return gamma.new_empty((gamma.size(0), 1, 256), dtype=torch.uint8)


@register_fake("gray_sums")
def _(images: Tensor, layout: Tensor | None, channels: int) -> Tensor:
    count = images.size(0) if layout is None else layout.size(0)
    return images.new_empty((count, 1), dtype=torch.float64)
