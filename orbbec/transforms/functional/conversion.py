"""Conversion between dtypes and kinds of images."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec.transforms import output
from orbbec.transforms.base.checks import flag
from orbbec.transforms.base.optional import optional
from orbbec.transforms.base.tv_tensors import images_like, is_target, plain
from orbbec.transforms.functional.calls import apply_to_images

_MODES: dict[tuple[int, str], tuple[str, ...]] = {  # by channels and dtype; the first is the default
    (1, "uint8"): ("L",),
    (2, "uint8"): ("LA",),
    (3, "uint8"): ("RGB", "YCbCr", "HSV"),
    (4, "uint8"): ("RGBA", "CMYK", "RGBX"),
    (1, "int16"): ("I;16",),
    (1, "int32"): ("I",),
    (1, "float32"): ("F",),
}


def to_dtype(inpt: Any, dtype: torch.dtype = torch.float32, scale: bool = False) -> Any:
    """Convert to another dtype. See `orbbec.transforms.ToDtype`.

    Without `scale`, tensors and `tv_tensors` of boxes, masks and points are cast to any dtype.
    """
    if isinstance(inpt, Tensor) and (not flag("to_dtype", "scale", scale) or is_target(inpt)):
        return images_like(plain(inpt).to(dtype), inpt)
    return apply_to_images("to_dtype", inpt, output.ToDtype(dtype, scale))


def to_image(inpt: Any) -> Any:
    """Convert an array or a PIL image to a tensor `[C, H, W]`."""
    return apply_to_images("to_image", inpt, output.ToImage())


def pil_to_tensor(pic: Any) -> Any:
    """Convert an array or a PIL image to a tensor `[C, H, W]`."""
    return apply_to_images("pil_to_tensor", pic, output.PILToTensor())


def to_tensor(inpt: Any) -> Any:
    """Convert to a float32 tensor `[C, H, W]`; bytes are divided by 255."""
    return apply_to_images("to_tensor", inpt, output.ToTensor())


def convert_image_dtype(image: Any, dtype: torch.dtype = torch.float32) -> Any:
    """Convert to another dtype and scale the values. See `orbbec.transforms.ToDtype`."""
    return apply_to_images("convert_image_dtype", image, output.ToDtype(dtype, scale=True))


def to_pil_image(pic: Any, mode: str | None = None) -> Any:
    """Convert a tensor `[C, H, W]` or an array `[H, W, C]` of one to four channels to a PIL image.

    Floats are multiplied by 255 and truncated, except for mode "F".
    """
    if not isinstance(pic, (Tensor, np.ndarray)):
        raise TypeError(f"to_pil_image: expected a tensor or an array, but got {type(pic)}")
    pixels = pic.numpy(force=True) if isinstance(pic, Tensor) else pic
    if pixels.ndim not in (2, 3):
        raise ValueError(f"to_pil_image: expected one image, but got shape {list(pixels.shape)}")
    if isinstance(pic, Tensor) and pixels.ndim == 3:
        pixels = np.moveaxis(pixels, 0, -1)
    if pixels.dtype.kind == "f" and mode != "F":
        pixels = (pixels * 255).astype(np.uint8)
    pixels = pixels[..., 0] if pixels.shape[2:] == (1,) else pixels
    channels, dtype = (*pixels.shape, 1)[2], str(pixels.dtype)
    known = _MODES.get((channels, dtype))
    if known is None:
        raise TypeError(f"to_pil_image: expected bytes of 1 to 4 channels, but got {channels} of {dtype}")
    if mode is not None and mode not in known:
        raise ValueError(f"to_pil_image: expected mode as one of {', '.join(known)}, but got {mode!r}")
    image = optional("to_pil_image", "PIL.Image", "pillow")
    return image.fromarray(np.ascontiguousarray(pixels), mode or known[0])
