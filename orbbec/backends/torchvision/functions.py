"""The torchvision functions that orbbec replaces: supported images and operators.

A function is listed with the dtypes (tensors) and modes (PIL images) for which orbbec gives torchvision's
bytes and is not slower; docs/reference/switch.md has the figures.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec.bridge.arguments import Array
from orbbec.bridge.plain import listed
from orbbec.color import (
    adjust_brightness,
    adjust_contrast,
    adjust_gamma,
    adjust_hue,
    adjust_saturation,
    adjust_sharpness,
    autocontrast,
    equalize,
    solarize,
)
from orbbec.jpeg import jpeg_compression
from orbbec.resize import resize
from orbbec.transforms.functional import gaussian_blur
from orbbec.transforms.functional.pixels import both

# Keys: torchvision's names and Pillow's constants.
_FILTERS: dict[Any, str] = {
    **{"bilinear": "linear", "bicubic": "cubic", "lanczos": "lanczos", "box": "box", "hamming": "hamming"},
    **{1: "lanczos", 2: "linear", 3: "cubic", 4: "box", 5: "hamming"},
}
_FILTERS_OF_TENSORS = {name: _FILTERS[name] for name in ("bilinear", 2)}  # bicubic differs greatly


@dataclass(frozen=True)
class Function:
    """A torchvision function that orbbec replaces.

    Args:
        api: "v1" or "v2": `torchvision.transforms.functional` or `torchvision.transforms.v2.functional`;
            "datasets": `torchvision.datasets.folder`; "io": `torchvision.io`.
        image: "tensor" or "PIL"; "path" for files.
        op: name of the function.
        run: the implementation, with the function's signature; if it raises, torchvision runs instead.
        exact: dtypes or modes with results identical to torchvision's.
        close: dtypes or modes that differ slightly, for `exact=False`.
    """

    api: str
    image: str
    op: str
    run: Callable[..., Any]
    exact: frozenset[str] = frozenset()
    close: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """Such as "v2 resize of PIL"."""
        return f"{self.api} {self.op}" + (" of PIL" if self.image == "PIL" else "")


def is_pillow(image: Any) -> bool:
    """Whether an image is a Pillow image."""
    return isinstance(image, importlib.import_module("PIL.Image").Image)


def to_pillow(pixels: Array) -> Any:
    """An image of mode L or RGB."""
    return importlib.import_module("PIL.Image").fromarray(pixels)


def resize_to(
    image: Any,
    size: Any,
    interpolation: Any = "bilinear",
    max_size: int | None = None,
    antialias: bool | None = True,
) -> Any:
    """Resize a tensor or a Pillow image to the size that torchvision computes, with antialias."""
    if not antialias:
        raise ValueError("without antialias")
    name, before = getattr(interpolation, "value", interpolation), _size(image)
    filters = _FILTERS if is_pillow(image) else _FILTERS_OF_TENSORS
    if name not in filters:
        raise ValueError(f"interpolation {name}")
    target = _output_size(before, size, max_size)
    if 1 in target and not is_pillow(image):
        raise ValueError("to a single row or column, which torchvision reads from elsewhere")
    if target == before:
        raise ValueError("to the size that it has")
    pixels = _stored(image) if is_pillow(image) else image
    resized = resize(
        pixels, target, interpolation=filters[name], antialias=True, arithmetic=_pillow_arithmetic()
    )
    return _restored(resized, image) if is_pillow(image) else resized


def resize_v1(
    image: Tensor, size: Any, interpolation: Any = "bilinear", antialias: bool | None = True
) -> Any:
    """Like `resize_to`; for tensors, v1 has no `max_size` argument."""
    return resize_to(image, size, interpolation, None, antialias)


def resized_crop(
    image: Any,
    top: int,
    left: int,
    height: int,
    width: int,
    size: Any,
    interpolation: Any = "bilinear",
    antialias: bool | None = True,
) -> Any:
    """Crop, then resize."""
    outer_height, outer_width = _size(image)
    if min(top, left, outer_height - top - height, outer_width - left - width) < 0:
        raise ValueError("a part that leaves the image")
    if is_pillow(image):
        part = image.crop((left, top, left + width, top + height))
    else:
        part = image[..., top : top + height, left : left + width]
    return resize_to(part, size, interpolation, None, antialias)


def blur(image: Any, kernel_size: Any, sigma: Any = None) -> Any:
    """Blur a tensor or an `ImageBatch` with a kernel of (width, height) and sigmas along (x, y)."""
    sides = both("kernel_size", kernel_size)
    if len(listed(kernel_size) or sides) != 2:
        raise ValueError(f"gaussian_blur: expected kernel_size as (width, height), but got {kernel_size}")
    if sigma is not None and min(both("sigma", sigma)) <= 0:
        raise ValueError(f"gaussian_blur: expected sigma above 0, but got {sigma}")
    is_small = isinstance(image, Tensor) and any(
        side // 2 >= length for side, length in zip(sides[::-1], image.shape[-2:], strict=True)
    )
    if is_small:
        raise ValueError("a kernel that the image does not hold")
    return gaussian_blur(image, kernel_size, sigma)


def solarize_from(image: Tensor, threshold: float) -> Any:
    """Invert the pixels from a threshold on."""
    if threshold < 0:
        raise ValueError("a threshold below 0, which torch wraps to a byte")
    return solarize(image, threshold)


def of_rgb(adjust: Callable[..., Any]) -> Callable[..., Any]:
    """An adjustment that refuses gray, which torchvision returns unchanged."""

    def run(image: Tensor, *args: Any, **kwargs: Any) -> Any:
        if image.shape[-3] == 1:
            raise ValueError("gray, which stays as it is")
        return adjust(image, *args, **kwargs)

    return run


def gray_of_rgb(image: Tensor, num_output_channels: int = 1) -> Any:
    """The gray of RGB as one channel, or as three channels that share memory."""
    if image.shape[-3] != 3 or num_output_channels not in (1, 3):
        raise ValueError(f"{num_output_channels} of {image.shape[-3]} channels")
    gray = adjust_saturation(image, 0.0)[..., :1, :, :].clone(memory_format=torch.contiguous_format)
    return gray.expand(image.shape) if num_output_channels == 3 else gray


def of_pillow(adjust: Callable[..., Any]) -> Callable[..., Any]:
    """An adjustment of a Pillow image with the arithmetic of tensors."""

    def run(image: Any, *args: Any, **kwargs: Any) -> Any:
        result = to_pillow(adjust(np.asarray(image), *args, **kwargs))
        result.info = image.info.copy()
        return result

    return run


# Pillow stores RGB in four bytes per pixel; copying all four is faster than repacking three.
_RAW_MODES = {"RGB": "RGBX", "L": "L"}


def _stored(image: Any) -> Array:
    """The stored bytes: uint8 `[H, W]`, or `[H, W, 4]` of RGB and a padding byte."""
    data = image.tobytes("raw", _RAW_MODES[image.mode])
    shape = (image.height, image.width, 4) if image.mode == "RGB" else (image.height, image.width)
    return np.frombuffer(data, np.uint8).reshape(shape)


def _restored(pixels: Array, like: Any) -> Any:
    """An image with the mode and metadata of another."""
    size = pixels.shape[1::-1]
    image = importlib.import_module("PIL.Image").frombytes(
        like.mode, size, pixels.data, "raw", _RAW_MODES[like.mode]
    )
    image.info = like.info.copy()
    return image


def _size(image: Any) -> tuple[int, int]:
    """Height and width."""
    width, height = image.size if is_pillow(image) else image.shape[:-3:-1]
    return height, width


def _pillow_arithmetic() -> str:
    version = importlib.import_module("PIL").__version__
    return "pillow_12" if int(version.partition(".")[0]) < 13 else "pillow_13"


def _output_size(before: tuple[int, int], size: Any, max_size: int | None) -> tuple[int, int]:
    geometry = importlib.import_module("torchvision.transforms.v2.functional._geometry")
    height, width = geometry._compute_resized_output_size(before, size=size, max_size=max_size)
    return index(height), index(width)  # torchvision refuses fractions


_BYTES, _FLOATS = frozenset({"uint8"}), frozenset({"float32"})
_RGB, _MODES = frozenset({"RGB"}), frozenset({"RGB", "L"})

FUNCTIONS: tuple[Function, ...] = (
    Function("v1", "tensor", "adjust_brightness", adjust_brightness, _BYTES | _FLOATS),
    Function("v2", "tensor", "adjust_brightness", adjust_brightness, _BYTES),
    Function("v1", "tensor", "adjust_contrast", adjust_contrast, close=_BYTES | _FLOATS),
    Function("v2", "tensor", "adjust_contrast", adjust_contrast, _BYTES),
    Function("v1", "tensor", "adjust_saturation", of_rgb(adjust_saturation), close=_BYTES | _FLOATS),
    Function("v2", "tensor", "adjust_saturation", of_rgb(adjust_saturation), _BYTES | _FLOATS),
    Function("v1", "tensor", "adjust_hue", of_rgb(adjust_hue), _BYTES, _FLOATS),
    Function("v2", "tensor", "adjust_hue", of_rgb(adjust_hue), _BYTES | _FLOATS),
    Function("v1", "tensor", "adjust_gamma", adjust_gamma, _BYTES),
    Function("v2", "tensor", "adjust_gamma", adjust_gamma, _BYTES),
    Function("v1", "tensor", "adjust_sharpness", adjust_sharpness, close=_BYTES | _FLOATS),
    Function("v2", "tensor", "adjust_sharpness", adjust_sharpness, _BYTES, _FLOATS),
    Function("v1", "tensor", "solarize", solarize_from, _BYTES | _FLOATS),
    Function("v2", "tensor", "solarize", solarize_from, _BYTES | _FLOATS),
    Function("v1", "tensor", "autocontrast", autocontrast, close=_BYTES),
    Function("v2", "tensor", "autocontrast", autocontrast, _BYTES),
    Function("v1", "tensor", "equalize", equalize, _BYTES),
    Function("v2", "tensor", "equalize", equalize, _BYTES),
    Function("v2", "tensor", "rgb_to_grayscale", gray_of_rgb, _BYTES),
    Function("v2", "tensor", "jpeg", jpeg_compression, _BYTES),
    Function("v1", "tensor", "resize", resize_v1, close=_BYTES),
    Function("v2", "tensor", "resize", resize_to, close=_BYTES),
    Function("v2", "tensor", "resized_crop", resized_crop, close=_BYTES),
    Function("v1", "tensor", "gaussian_blur", blur, close=_BYTES | _FLOATS),
    Function("v2", "tensor", "gaussian_blur", blur, close=_BYTES | _FLOATS),
    Function("v1", "PIL", "resize", resize_to, _MODES),
    Function("v2", "PIL", "resize", resize_to, _MODES),
    Function("v2", "PIL", "resized_crop", resized_crop, _MODES),
    Function("v1", "PIL", "adjust_hue", of_pillow(adjust_hue), close=_RGB),
    Function("v2", "PIL", "adjust_hue", of_pillow(adjust_hue), close=_RGB),
    Function("v1", "PIL", "adjust_sharpness", of_pillow(adjust_sharpness), close=_MODES),
    Function("v2", "PIL", "adjust_sharpness", of_pillow(adjust_sharpness), close=_MODES),
)
