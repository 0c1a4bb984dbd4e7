"""Reads the accepted kinds of images: tensors, arrays, batches, PIL images and tv_tensors."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec.batch import ImageBatch
from orbbec.batch.collate import is_pil
from orbbec.bridge.arguments import Array, operator_input
from orbbec.bridge.dispatch import is_plain
from orbbec.plan import read_images
from orbbec.plan.batches import PIPELINE_DTYPES, Given, Work, as_list
from orbbec.plan.program import DirectInput
from orbbec.transforms.base.tv_tensors import images_like, is_tv_tensor, plain

_MODES = ("L", "LA", "RGB", "RGBA")
_CONVERTED = {
    **dict.fromkeys(("P", "CMYK", "YCbCr", "LAB", "HSV", "RGBX"), "RGB"),
    **{"1": "L", "La": "LA", "RGBa": "RGBA", "PA": "RGBA"},
}
_MODES_OF_16_BITS = ("I;16", "I;16L", "I;16B", "I;16N")
_OF_PIL = (torch.uint8, torch.uint16)


def is_video(value: Any) -> bool:
    """Whether a value is a `torchvision.tv_tensors.Video`, whose frames share their random parameters."""
    return is_tv_tensor(value) and type(value).__name__ == "Video"


def read(images: Any, as_tensors: bool = False, as_pure: bool = False) -> Given:
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
        given = read_images(pixels)
        restore = _tensors(single) if as_tensors else _pil_images(single)
        return given._replace(restore=restore, as_planes=True)
    given = read_images(plain(images))
    if as_tensors and isinstance(images, np.ndarray):
        return given._replace(restore=_tensors(images.ndim < 4), as_planes=True)
    if as_pure:
        return given
    back = given.restore
    return given._replace(restore=lambda work: images_like(back(work), images))


_DIRECT = {torch.uint8, torch.float16, torch.bfloat16, torch.float32}


def direct_input(images: Any, as_tensors: bool) -> DirectInput | None:
    """Images that one operator may take; None for those that need more care.

    Args:
        images: any input of `Compose`.
        as_tensors: return tensors for arrays and PIL images.
    """
    kind = type(images)
    if kind is ImageBatch:
        whole = images.buffer, images.layout, images.host_layout, images.channels
        return DirectInput(*whole, torch.uint8, False, _same) if len(images) else None
    if kind is Tensor:
        is_one = images.dim() == 3
        return _direct_tensor(images[None] if is_one else images, False, _first if is_one else _same)
    is_image = kind is not np.ndarray
    if is_image and not is_pil(images):
        return None
    pixels = pixels_of(images) if is_image else images
    given = operator_input("Compose", "images", pixels, PIPELINE_DTYPES)
    if is_image:
        return _direct_tensor(given.images, True, _image_of)
    restore = _tensors(pixels.ndim < 4) if as_tensors else given.restore
    return _direct_tensor(given.images, as_tensors, restore)


def _direct_tensor(batch: Tensor, as_planes: bool, restore: Any) -> DirectInput | None:
    if batch.dim() != 4 or batch.dtype not in _DIRECT or not is_plain(batch):
        return None
    count, channels, height, width = batch.shape
    if not (count and channels <= 4 and height and width):
        return None
    return DirectInput(batch, None, None, channels, batch.dtype, as_planes, restore)


def _same(results: Tensor) -> Tensor:
    return results


def _first(results: Tensor) -> Tensor:
    return results[0]


def _image_of(results: Tensor) -> Any:
    """A tensor `[C, H, W]` of floats, or a PIL image of bytes."""
    return _pil_images(True)(results)


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
    if image.mode in _CONVERTED:
        image = image.convert(_CONVERTED[image.mode])
    if image.mode not in _MODES + _MODES_OF_16_BITS:
        known = ", ".join((*_MODES, *_CONVERTED, _MODES_OF_16_BITS[0]))
        raise TypeError(
            f"Compose: expected a PIL image of mode {known}, but {what} has mode {image.mode}; "
            "convert it, or pass an array of floats from 0 to 1"
        )
    pixels = np.asarray(image)
    return pixels.astype(pixels.dtype.newbyteorder("="), copy=False)


def _pil_images(single: bool) -> Any:
    def restore(work: Work) -> Any:
        images = as_list(work)
        if images and images[0].dtype not in _OF_PIL:
            return _tensors(single)(work)
        made = [_pil_image(image) for image in images]
        return made[0] if single else made

    return restore


def _pil_image(image: Tensor) -> Any:
    pixels = image.permute(1, 2, 0)
    return sys.modules["PIL.Image"].fromarray(
        np.ascontiguousarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels)
    )


def _tensors(single: bool) -> Any:
    def restore(work: Work) -> Any:
        if isinstance(work, Tensor):
            return (work[0] if single else work).contiguous()
        images = [image.contiguous() for image in as_list(work)]
        return images[0] if single else images

    return restore
