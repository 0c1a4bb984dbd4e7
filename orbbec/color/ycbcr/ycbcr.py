"""Conversion of JPEG planes to RGB."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec._library import operators
from orbbec.bridge.arguments import Array, StoredPlanes, copied_to, holds_planes
from orbbec.bridge.fakes import register_fake
from orbbec.bridge.plain import shown


def ycbcr_to_rgb(planes: StoredPlanes, *, boxes: Array | None = None) -> Any:
    """Convert planes of JPEGs to RGB and apply EXIF orientation, with the bytes of the host's decoder.

    Subsampled chroma of more than 2 columns is upsampled by libjpeg's "fancy upsampling"; the color
    conversion uses fixed point. A batch takes one launch, whatever its samplings.

    Args:
        planes: a `YCbCrBatch`, on the CPU or a CUDA device.
        boxes: int64 `[N, 4]`, on the host: left, top, right and bottom of the part of each upright image that
            is needed, in pixels; the rest of the images is uninitialized. None: all of it.

    Returns:
        An `ImageBatch` of uint8 RGB on that device.

    Raises:
        TypeError: `planes` is not a `YCbCrBatch`.
        ValueError: `boxes` has another shape.

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
    needed = None
    if boxes is not None:
        if not isinstance(boxes, np.ndarray):
            raise TypeError(f"ycbcr_to_rgb: expected boxes as an array, but got {shown(boxes)}")
        if boxes.shape != (len(planes.sizes), 4):
            shape = f"[{len(planes.sizes)}, 4], but got {list(boxes.shape)}"
            raise ValueError(f"ycbcr_to_rgb: expected boxes of shape {shape}")
        needed = copied_to(planes.buffer.device, torch.from_numpy(planes.stored_boxes(boxes)))
    tables = planes.layout, planes.forms, planes.rgb_layout
    return planes.images(operators.ycbcr_to_rgb(planes.buffer, *tables, planes.rgb_bytes, needed))


@register_fake("ycbcr_to_rgb")
def _(
    planes: Tensor,
    layout: Tensor,
    forms: Tensor,
    rgb_layout: Tensor,
    nbytes: int,
    boxes: Tensor | None = None,
) -> Tensor:
    return planes.new_empty(nbytes)
