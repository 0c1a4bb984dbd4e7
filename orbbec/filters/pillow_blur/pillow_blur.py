"""Pillow's Gaussian blur: three box blurs along each axis."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec.bridge.arguments import BYTES, Array, Images
from orbbec.bridge.dispatch import refuse_gradient
from orbbec.bridge.per_image import Factor
from orbbec.bridge.pointwise import register_fake_like
from orbbec.bridge.spec import OpSpec, register
from orbbec.filters.arguments import count_of, filter_images, numbers_of

_OP = "pillow_blur"
_PASSES, _UNIT, _MAX_RADIUS = 3, 1 << 24, 1000.0
_RADIUS_RULE = f"from 0 to {_MAX_RADIUS:g}"


def pillow_blur(images: Images, radius: Factor) -> Any:
    """Blur each image as Pillow's `GaussianBlur` does, whose bytes differ from those of `gaussian_blur`.

    The border is always "replicate". There is no gradient.

    Args:
        images: see `gaussian_blur`; uint8 only.
        radius: standard deviation in pixels, from 0 to 1000: one number, or `[N]` on the CPU, one per image.

    Returns:
        Images of the type, sizes and memory format of `images`, on their device.

    Raises:
        TypeError: an argument has an unsupported type.
        ValueError: the images are not uint8, or a shape or a radius is invalid.

    Source:
        `PIL.ImageFilter.GaussianBlur` of Pillow 13.0.0: identical. After Gwosdek et al.,
        Theoretical foundations of Gaussian convolution by extended box filtering (2011).

    Example:
        >>> image = torch.tensor([[[0, 0, 255, 0, 0]]], dtype=torch.uint8)
        >>> pillow_blur(image, 1.0).tolist()
        [[[15, 60, 103, 60, 15]]]
    """
    count = count_of(images)
    radii = numbers_of(_OP, "radius", radius, count, torch.device("cpu"), _is_radius, _RADIUS_RULE)
    if radii.device.type != "cpu":
        raise ValueError(f"{_OP}: expected radius on the CPU")
    return filter_images(_OP, images, _OP, _boxes(radii.expand(count).numpy()), dtypes=BYTES)


def _is_radius(numbers: Any) -> Any:
    return (numbers >= 0) & (numbers <= _MAX_RADIUS)


def _boxes(sigma: Array) -> Tensor:
    """The boxes of each image: whole pixels at each side, and weights in units of 2^-24: int64 `[N, 3]`."""
    radius = _box_radius(sigma.astype(np.float32))
    reach = radius.astype(np.int64)
    whole = (np.float32(_UNIT) / (radius * np.float32(2) + np.float32(1))).astype(np.int64)
    return torch.from_numpy(np.stack([reach, whole, (_UNIT - (2 * reach + 1) * whole) // 2], 1))


def _box_radius(sigma: Array) -> Array:
    """The radius of the boxes whose repeated blur has a standard deviation of `sigma`, in float32 as Pillow.

    Formulas 7, 11 and 14 of the paper.
    """
    one, variance = np.float32(1), sigma * sigma / np.float32(_PASSES)
    length = np.sqrt(12.0 * variance.astype(np.float64) + 1.0).astype(np.float32)
    whole = np.floor((length.astype(np.float64) - 1.0) / 2.0).astype(np.float32)
    numerator = (2 * whole + one) * (whole * (whole + one) - 3 * variance)
    radius: Array = whole + numerator / (6 * (variance - (whole + one) * (whole + one)))
    return radius


register_fake_like(_OP)
refuse_gradient(_OP, _OP)

register(OpSpec(call=pillow_blur, dtypes=("uint8",), host_columns=("radius",), capturable=False))
