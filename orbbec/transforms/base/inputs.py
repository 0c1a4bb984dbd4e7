"""Reads the accepted kinds of images: tensors, arrays, batches, PIL images and tv_tensors."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec.batch.collate import is_pil
from orbbec.bridge.arguments import Array
from orbbec.plan import read_images
from orbbec.plan.batches import Input, Work, as_list
from orbbec.transforms.base.tv_tensors import images_like, is_tv_tensor, plain

_MODES = ("L", "LA", "RGB", "RGBA")
_CONVERTED = {
    **dict.fromkeys(("P", "CMYK", "YCbCr", "LAB", "HSV", "RGBX"), "RGB"),
    **{"1": "L", "La": "LA", "RGBa": "RGBA", "PA": "RGBA"},
}
_MODES_OF_16_BITS = ("I;16", "I;16L", "I;16B", "I;16N")


def read(images: Any, as_tensors: bool = False, as_pure: bool = False) -> Input:
    """Describe images, and how to restore results to the kind given.

    Args:
        images: any input of `Compose`.
        as_tensors: return tensors for arrays and PIL images.
        as_pure: return tensors for tv_tensors.

    Raises:
        TypeError: the type, mode or dtype is not supported.
        ValueError: the shape is not supported.
    """
    if isinstance(images, Tensor) and not is_tv_tensor(images):
        return read_images(images)
    single = not isinstance(images, (list, tuple))
    if is_pil(images if single or not images else images[0]):
        pixels = pixels_of(images) if single else [pixels_of(image, n) for n, image in enumerate(images)]
        inputs = read_images(pixels)
        restore = tensors(single) if as_tensors else pil_images(single)
        return inputs._replace(restore=restore, as_planes=True)
    inputs = read_images(plain(images))
    if as_tensors and isinstance(images, np.ndarray):
        return inputs._replace(restore=tensors(images.ndim < 4), as_planes=True)
    if as_pure:
        return inputs
    back = inputs.restore
    return inputs._replace(restore=lambda work: images_like(back(work), images))


def pixels_of(image: Any, index: int | None = None) -> Array:
    """The pixels of a PIL image: `[H, W]` or `[H, W, C]`, uint8, or uint16 for 16-bit modes.

    Raises:
        TypeError: the value is not a PIL image, or its mode has other pixels.
    """
    what = "the image" if index is None else f"image {index}"
    if not is_pil(image):
        raise TypeError(
            f"Compose: expected only PIL images in the list, but {what} is a {type(image).__name__}"
        )
    if not is_known(image):
        known = ", ".join((*_MODES, *_CONVERTED, _MODES_OF_16_BITS[0]))
        raise TypeError(
            f"Compose: expected a PIL image of mode {known}, but {what} has mode {image.mode}; "
            "convert it, or pass an array of floats from 0 to 1"
        )
    pixels = np.asarray(image.convert(_CONVERTED[image.mode]) if image.mode in _CONVERTED else image)
    return np.asarray(pixels, pixels.dtype.newbyteorder("="))


def is_known(image: Any) -> bool:
    """Whether a PIL image has a mode that is read."""
    return image.mode in _CONVERTED or image.mode in _MODES + _MODES_OF_16_BITS


def pil_images(single: bool) -> Any:
    def restore(work: Work) -> Any:
        images = as_list(work)
        if images and not _has_mode(images[0]):
            return tensors(single)(work)
        results = [_pil_image(image) for image in images]
        return results[0] if single else results

    return restore


def _has_mode(image: Tensor) -> bool:
    """Whether a PIL image can hold an image `[C, H, W]`; those of 16 bits have one channel."""
    return image.dtype == torch.uint8 or (image.dtype == torch.uint16 and len(image) == 1)


def _pil_image(image: Tensor) -> Any:
    pixels = image.permute(1, 2, 0)
    return sys.modules["PIL.Image"].fromarray(
        np.ascontiguousarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels)
    )


def tensors(single: bool) -> Any:
    def restore(work: Work) -> Any:
        if isinstance(work, Tensor):
            return (work[0] if single else work).contiguous()
        images = [image.contiguous() for image in as_list(work)]
        return images[0] if single else images

    return restore
