"""Crops that are resized and augmented in one pass."""

from typing import Any

import torch
from torch import Tensor

from orbbec._library import operators
from orbbec.augment.augment import DTYPES, Output, Values, new_result, output_dtype, value_arguments
from orbbec.bridge.arguments import (
    Images,
    Matrix,
    as_tensor,
    dtype_numbered,
    new_images,
    operator_input,
    operator_output,
)
from orbbec.bridge.fakes import register_fake
from orbbec.bridge.names import Interpolation
from orbbec.resize.resize import resize_arguments

OP = "augment_crop"
_VALUES, _OUTPUT = Values(), Output()


def augment_crop(
    images: Images,
    boxes: Matrix,
    size: tuple[int, int],
    *,
    interpolation: Interpolation = "linear",
    antialias: bool = True,
    flips: Matrix | None = None,
    values: Values = _VALUES,
    output: Output = _OUTPUT,
) -> Any:
    """Crop a box of each image, resize it to one size, adjust colors, erase, normalize, mix and cast.

    The results are those of `resized_crop` followed by `augment` without a warp: pixels are rounded to uint8
    after the resize. The resized pixels go through memory only where their mean is needed for contrast, where
    images are mixed, or where a device has no kernel for both.

    Args:
        images: uint8 images of 1 to 4 channels; see `augment`.
        boxes: see `resized_crop`.
        size: (height, width) in pixels, each at least 1.
        interpolation: see `resized_crop`.
        antialias: see `resized_crop`.
        flips: see `resized_crop`.
        values: see `augment`.
        output: see `augment`; `out` is a tensor or an array.

    Returns:
        See `augment`.

    Raises:
        TypeError: an argument has an unsupported type or dtype.
        ValueError: a shape, size, name or device is invalid.

    Source:
        Identical to `resized_crop`, then `augment`.

    Example:
        >>> image = torch.arange(8, dtype=torch.uint8).reshape(1, 1, 8)
        >>> values, output = Values(mean=0.5, std=0.5), Output(torch.float32)
        >>> augment_crop(image, torch.tensor([2, 0, 6, 1]), (1, 2), values=values, output=output).shape
        torch.Size([1, 1, 2])
    """
    source = operator_input(OP, "images", images, (torch.uint8,))
    target = None if output.out is None else operator_output(OP, output.out).images
    dtype = target.dtype if target is not None else output_dtype(OP, output, source.images)
    options = interpolation, antialias, None
    rows = as_tensor(OP, "boxes", boxes)
    arguments = (
        *resize_arguments(OP, images, source, rows, size, options, flips),
        *value_arguments(OP, values, source.images, dtype),
    )
    if target is not None:
        operators.augment_crop_out(*arguments, target)
        return output.out
    return source.restore(new_result(OP, arguments, dtype, output.channels_last))


@register_fake("augment_crop", boxes=2, size=2)
def _(
    images: Tensor, layout: Tensor | None, channels: int, boxes: Tensor, size: list[int], *options: Any
) -> Tensor:
    dtype, channels_last = options[-2:]
    count = images.shape[:2] if layout is None else (layout.shape[0], channels)
    return new_images(images, (*count, *size), channels_last, dtype_numbered(OP, dtype, DTYPES))


@register_fake("augment_crop_out")
def _(*arguments: object) -> None:
    return None
