"""RGB of the planes that JPEGs hold."""

from typing import Any

import torch
from torch import Tensor

from orbbec.binding.arguments import StoredPlanes, holds_planes
from orbbec.binding.fakes import register_fake


def ycbcr_to_rgb(planes: StoredPlanes) -> Any:
    """Make RGB of the planes of JPEGs, turned as EXIF says: the bytes of the host's decoder.

    Chroma that is halved is enlarged with blending ("fancy upsampling"), but where it has 2 columns or less;
    then colours are made in fixed point. One launch for a batch, whatever it holds.

    Args:
        planes: a `PlaneBatch`, on the CPU or a CUDA device.

    Returns:
        An `ImageBatch` of uint8 RGB on that device.

    Raises:
        TypeError: `planes` is something else.

    Source:
        libjpeg-turbo 3.1, as in OpenCV 5.0.0.

    Example:
        >>> from orbbec import PlaneBatch
        >>> planes = PlaneBatch.of_sizes([(2, 3)], ["420"])
        >>> for plane, value in zip(planes.planes(0), (100, 128, 228)):
        ...     _ = plane.fill_(value)
        >>> ycbcr_to_rgb(planes)[0][0, 0].tolist()
        [240, 29, 100]
    """
    if not holds_planes(planes):
        raise TypeError(f"ycbcr_to_rgb: expected planes as a PlaneBatch, but got {type(planes).__name__}")
    tables = planes.layout, planes.forms, planes.rgb_layout
    return planes.images(torch.ops.orbbec.ycbcr_to_rgb(planes.buffer, *tables, planes.rgb_bytes))


@register_fake("ycbcr_to_rgb")
def _(planes: Tensor, layout: Tensor, forms: Tensor, rgb_layout: Tensor, nbytes: int) -> Tensor:
    return planes.new_empty(nbytes)
