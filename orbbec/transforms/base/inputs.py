"""Reads the accepted kinds of images: tensors, arrays, batches, PIL images and tv_tensors.

`direct_input` and `direct_list` describe those for which one operator draws parameters and runs all passes,
with as little work in Python as possible; `read` describes all.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec.batch import ImageBatch
from orbbec.batch.collate import is_pil
from orbbec.batch.image_batch import looks_channels_first
from orbbec.bridge.arguments import Array, check_device, dtype_name, operator_input
from orbbec.bridge.dispatch import is_plain, is_wrapped
from orbbec.plan import read_images
from orbbec.plan.batches import (
    PIPELINE_DTYPES,
    Direct,
    Input,
    Work,
    as_list,
    looks_channels_last,
)
from orbbec.plan.parameters import same_rows
from orbbec.plan.program import run_seed
from orbbec.transforms.base.seeds import new_seed
from orbbec.transforms.base.tv_tensors import images_like, is_tv_tensor, plain, wrapped

_MODES = ("L", "LA", "RGB", "RGBA")
_CONVERTED = {
    **dict.fromkeys(("P", "CMYK", "YCbCr", "LAB", "HSV", "RGBX"), "RGB"),
    **{"1": "L", "La": "LA", "RGBa": "RGBA", "PA": "RGBA"},
}
_MODES_OF_16_BITS = ("I;16", "I;16L", "I;16B", "I;16N")
_BYTES = np.dtype(np.uint8)
_DTYPES = {torch.uint8, torch.float16, torch.bfloat16, torch.float32}


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


def direct_input(images: Any, as_tensors: bool, as_pure: bool = False) -> Direct | None:
    """Images that `run` may take; None for those that need more care.

    Args:
        images: any input of `Compose`.
        as_tensors: return tensors for arrays and PIL images.
        as_pure: return tensors for tv_tensors.
    """
    kind = type(images)
    if kind is Tensor:
        may_be = images.dim() > 2 and not looks_channels_last(images)
        return _of_tensor(images, None) if may_be else None
    if kind is np.ndarray:
        return _of_array(images, as_tensors)
    if kind is ImageBatch:
        return _of_batch(images)
    if kind.__name__ == "Image" and is_tv_tensor(images):
        direct = direct_input(plain(images), as_tensors)
        return direct if direct is None or as_pure else (*direct[:5], partial(wrapped, like=images), False)
    return _of_image(images, as_tensors) if is_pil(images) else None


def direct_list(images: Any, as_tensors: bool) -> list[Direct] | None:
    """The images of a list, each in memory of its own on the CPU, which `run` may take; None for others.

    Args:
        images: any input of `Compose`.
        as_tensors: return tensors for PIL images.
    """
    if type(images) is not list or not images:
        return None
    are_pil = is_pil(images[0])
    restore = None if not are_pil else tensors(False) if as_tensors else pil_images(False)
    several: list[Direct] = []
    for image in images:
        direct = _of_list(image, are_pil)
        if direct is None or (
            several and (direct[0].dtype, direct[3]) != (several[0][0].dtype, several[0][3])
        ):
            return None
        several.append((*direct[:5], restore, are_pil))
    return several


def _of_list(image: Any, is_image: bool) -> Direct | None:
    if is_image:
        return _of_image(image, False) if is_pil(image) and is_known(image) else None
    on_host = type(image) is np.ndarray or (type(image) is Tensor and image.is_cpu and image.dim() == 3)
    return direct_input(image, False) if on_host and image.ndim < 4 and 0 not in image.shape else None


def bytes_of(images: Any) -> Tensor | None:
    """A tensor `[..., C, H, W]` over the bytes of a tensor on the host or of an array; None for others."""
    if type(images) is Tensor:
        return images if images.dtype is torch.uint8 and images.is_cpu and not is_wrapped(images) else None
    flags = images.flags
    if images.ndim == 3 and images.dtype is _BYTES and flags.c_contiguous and flags.writeable:
        return torch.from_numpy(images.transpose(2, 0, 1))
    return None


def run_small(
    images: Any,
    code: Tensor,
    restore: Callable[[Tensor], Any] | None,
    generator: torch.Generator | None,
) -> Any:
    """Run small images again with new parameters, of a shape that a program has run.

    Args:
        images: a tensor or an array.
        code: see `Program`.
        restore: see `Direct`.
        generator: see `new_seed`.

    Returns:
        The results; None for images of another dtype, device or memory layout.
    """
    tensor = bytes_of(images)
    if tensor is None:
        return None
    try:
        result = run_seed(tensor, code, new_seed(generator))
    except ValueError:
        return None  # planning names the transform
    return result if restore is None else restore(result)


def description_of(direct: Direct) -> Input:
    """The sizes, channels and dtype of images, without the images."""
    tensor, _, host_layout, channels, count, _, as_planes = direct
    if host_layout is None:
        height, width = tensor.shape[-2:]
        size, sizes = (height, width), same_rows((height, width), count)
    else:
        size, sizes = None, host_layout[:, 1:].numpy()
    return Input(None, sizes, channels, dtype_name(tensor.dtype), lambda work: work, size, as_planes)


def list_description(images: list[Direct]) -> Input:
    """`description_of` a list."""
    sizes = np.array([each[0].shape[-2:] for each in images], np.int64)
    return description_of(images[0])._replace(sizes=sizes, size=None)


def _of_tensor(
    images: Tensor, restore: Callable[[Tensor], Any] | None, as_planes: bool = False
) -> Direct | None:
    dtype = images.dtype
    if dtype not in _DTYPES:
        return None
    if is_wrapped(images) if dtype is torch.uint8 else not is_plain(images):  # bytes have no gradient
        return None
    shape = images.shape
    if len(shape) == 3:
        count, channels = 1, shape[0]
    elif len(shape) == 4 and shape[0] > 0:
        count, channels = shape[:2]
    else:
        return None
    if images.is_cuda:
        check_device("Compose", images)
    return images, None, None, channels, count, restore, as_planes


def _of_array(images: Array, as_tensors: bool) -> Direct | None:
    if images.ndim > 4 or looks_channels_first(images):  # clips; an error
        return None
    tensor = bytes_of(images)
    if tensor is not None:
        return _of_tensor(tensor, Tensor.contiguous if as_tensors else _one_array, as_tensors)
    inputs = operator_input("Compose", "images", images, PIPELINE_DTYPES)
    restore = tensors(images.ndim < 4) if as_tensors else inputs.restore
    return _of_tensor(inputs.images, restore, as_tensors)


def _of_batch(batch: ImageBatch) -> Direct | None:
    host_layout, buffer = batch.host_layout, batch.buffer
    count = host_layout.size(0)
    if buffer.is_cuda:
        check_device("Compose", buffer)
    if count == 0:
        return None
    return buffer, batch.layout, host_layout, batch.channels, count, None, False


def _of_image(image: Any, as_tensors: bool) -> Direct | None:
    pixels = operator_input("Compose", "images", pixels_of(image), PIPELINE_DTYPES).images
    return _of_tensor(pixels, tensors(True) if as_tensors else pil_images(True), True)


def _one_array(results: Tensor) -> Any:
    if results.dtype == torch.bfloat16:
        raise TypeError(
            "Compose: expected a tensor for a result of bfloat16, but got an array, which has none"
        )
    return results.numpy().transpose(1, 2, 0)
