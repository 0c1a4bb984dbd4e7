"""Modes and channels: one rule for files, PIL images and arrays."""

from __future__ import annotations

from importlib import import_module
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Pixels: TypeAlias = npt.NDArray[np.uint8]

CHANNELS = {"L": 1, "RGB": 3, "RGBA": 4}
# Pillow converts these only in steps, or YCbCr to another luma.
_STEPS = {
    "La": ("LA",),
    "RGBa": ("RGBA",),
    "PA": ("RGBA",),
    "CMYK": ("RGB",),
    "YCbCr": ("RGB",),
    "HSV": ("RGB",),
    "LAB": ("RGB",),
}
_FORMATS_OF_16_BITS = ("PNG", "PPM")  # their mode I
_BITS_PER_SAMPLE, _PHOTOMETRIC = 258, 262  # tags of TIFF
_INVERTED_GRAY = 0  # a value of the latter: 0 is white


def pixels_of(image: Any, mode: str) -> Pixels:
    """The pixels of a PIL image of any mode, as "RGB", "L" or "RGBA".

    Gray is repeated, color becomes luma, alpha is dropped, or 255 where there is none. Gray of more than 8
    bits keeps the upper 8.

    Returns:
        uint8 `[H, W, C]`.

    Raises:
        ValueError: the mode of the image has no known range, or cannot be converted.

    Example:
        >>> from PIL import Image
        >>> pixels_of(Image.new("LA", (1, 1), (9, 200)), "RGB").tolist()
        [[[9, 9, 9]]]
    """
    stored = image.mode
    image = _with_8_bits(image)
    if mode != "RGBA" and "transparency" in image.info:  # a color, which Pillow would convert too
        image = image.copy()
        del image.info["transparency"]
    try:
        for step in (*_STEPS.get(image.mode, ()), mode):
            image = image if image.mode == step else image.convert(step)
    except ValueError as error:
        raise ValueError(f"pixels of mode {stored} cannot be converted to {mode}") from error
    pixels = np.asarray(image)
    return pixels.reshape(*pixels.shape[:2], CHANNELS[mode])


def widest_mode(image: Any) -> str:
    """The mode that keeps all channels of a PIL image: "L", "RGB" or "RGBA"."""
    if image.has_transparency_data:
        return "RGBA"
    return "L" if image.mode in ("1", "L", "I", "F") or image.mode.startswith("I;16") else "RGB"


def with_channels(pixels: Any, mode: str) -> Pixels:
    """An array `[H, W]` or `[H, W, C]` with the channels of "RGB", "L" or "RGBA", by the rule of `pixels_of`.

    Example:
        >>> with_channels(np.array([[7]], np.uint8), "RGBA").tolist()
        [[[7, 7, 7, 255]]]
    """
    if pixels.dtype != np.uint8 or pixels.ndim not in (2, 3) or 0 in pixels.shape:
        raise ValueError(f"expected pixels uint8 [H, W, C], but got {pixels.dtype} {list(pixels.shape)}")
    image: Pixels = pixels if pixels.ndim == 3 else pixels[:, :, None]
    channels = image.shape[2]
    if channels == CHANNELS[mode]:
        return image
    if channels > 4:
        raise ValueError(f"expected 1 to 4 channels, but got {channels} in {list(pixels.shape)}, [H, W, C]")
    pillow = import_module("orbbec.data.decode.pillow")
    return pixels_of(pillow.image_of_array(image[..., 0] if channels == 1 else image), mode)


def check_pixels(height: int, width: int, max_pixels: int, name: str = "decode_image") -> None:
    """Refuse an image of more pixels."""
    if height * width > max_pixels:
        raise ValueError(
            f"{name}: expected at most {max_pixels} pixels (max_pixels), but got {height}x{width}"
        )


def _with_8_bits(image: Any) -> Any:
    """The upper 8 bits of deeper gray, which Pillow would clip."""
    if image.mode == "F" or (image.mode == "I" and image.format not in _FORMATS_OF_16_BITS):
        raise ValueError(f"pixels of mode {image.mode} have no known range")
    if image.mode != "I" and not image.mode.startswith("I;16"):
        return image
    deep, tags = np.asarray(image).astype(np.int64), getattr(image, "tag_v2", {})
    bits = tags.get(_BITS_PER_SAMPLE, (16,))[0]
    gray = (deep >> (bits - 8)).clip(0, 255).astype(np.uint8)
    if tags.get(_PHOTOMETRIC) == _INVERTED_GRAY:
        gray = 255 - gray
    pillow = import_module("orbbec.data.decode.pillow")
    if "transparency" not in image.info:
        return pillow.image_of_array(gray)
    alpha = np.where(deep == image.info["transparency"], 0, 255).astype(np.uint8)
    return pillow.image_of_array(np.stack([gray, alpha], axis=2))
