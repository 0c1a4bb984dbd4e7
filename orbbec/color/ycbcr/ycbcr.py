"""Conversion of JPEG planes to RGB."""

from typing import Any

import torch
from torch import Tensor

from orbbec.bridge.arguments import StoredPlanes, holds_planes
from orbbec.bridge.fakes import register_fake


def ycbcr_to_rgb(planes: StoredPlanes) -> Any:
    """Convert planes of JPEGs to RGB and apply EXIF orientation, with the bytes of the host's decoder.

    Subsampled chroma of more than 2 columns is upsampled by libjpeg's "fancy upsampling"; the color
    conversion uses fixed point. A batch takes one launch, whatever its samplings.

    Args:
        planes: a `YCbCrBatch`, on the CPU or a CUDA device.

    Returns:
        An `ImageBatch` of uint8 RGB on that device.

    Raises:
        TypeError: `planes` is not a `YCbCrBatch`.

    Source:
        libjpeg-turbo 3.1, as in OpenCV 5.0.0.

    Example:
        >>> from orbbec import YCbCrBatch
        >>> planes = YCbCrBatch.of_sizes([(2, 3)], ["420"])
        >>> for plane, value in zip(planes.planes(0), (100, 128, 228)):
        ...     _ = plane.fill_(value)
        >>> ycbcr_to_rgb(planes)[0][0, 0].tolist()
        [240, 29, 100]
    """
    if not holds_planes(planes):
        raise TypeError(f"ycbcr_to_rgb: expected planes as a YCbCrBatch, but got {type(planes).__name__}")
    tables = planes.layout, planes.forms, planes.rgb_layout
    return planes.images(torch.ops.orbbec.ycbcr_to_rgb(planes.buffer, *tables, planes.rgb_bytes))


@register_fake("ycbcr_to_rgb")
def _(planes: Tensor, layout: Tensor, forms: Tensor, rgb_layout: Tensor, nbytes: int) -> Tensor:
    return planes.new_empty(nbytes)
