"""Color functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from orbbec import color
from orbbec.transforms import color as colors
from orbbec.transforms.base.checks import entries, whole
from orbbec.transforms.functional.calls import apply_to_images, changed, readable


def adjust_brightness(inpt: Any, brightness_factor: float) -> Any:
    """Multiply by a factor. See `orbbec.adjust_brightness`."""
    return changed("adjust_brightness", inpt, color.adjust_brightness, brightness_factor)


def adjust_contrast(inpt: Any, contrast_factor: float) -> Any:
    """Blend with the mean of the gray image. See `orbbec.adjust_contrast`."""
    return changed("adjust_contrast", inpt, color.adjust_contrast, contrast_factor)


def adjust_saturation(inpt: Any, saturation_factor: float) -> Any:
    """Blend with the gray image. See `orbbec.adjust_saturation`."""
    return changed("adjust_saturation", inpt, color.adjust_saturation, saturation_factor)


def adjust_hue(inpt: Any, hue_factor: float) -> Any:
    """Shift the hue by a fraction of the circle, from -0.5 to 0.5. See `orbbec.adjust_hue`."""
    return changed("adjust_hue", inpt, color.adjust_hue, hue_factor)


def adjust_gamma(inpt: Any, gamma: float, gain: float = 1.0) -> Any:
    """Raise to a power and multiply. See `orbbec.adjust_gamma`."""
    return changed("adjust_gamma", inpt, color.adjust_gamma, gamma, gain)


def adjust_sharpness(inpt: Any, sharpness_factor: float) -> Any:
    """Blend with the smoothed image. See `orbbec.adjust_sharpness`."""
    return changed("adjust_sharpness", inpt, color.adjust_sharpness, sharpness_factor)


def invert(inpt: Any) -> Any:
    """Subtract from the maximum value. See `orbbec.invert`."""
    return changed("invert", inpt, color.invert)


def posterize(inpt: Any, bits: int) -> Any:
    """Keep the highest bits. See `orbbec.posterize`."""
    return changed("posterize", inpt, color.posterize, bits)


def solarize(inpt: Any, threshold: float) -> Any:
    """Invert from a threshold on. See `orbbec.solarize`."""
    return changed("solarize", inpt, color.solarize, threshold)


def autocontrast(inpt: Any) -> Any:
    """Stretch each channel to the full range. See `orbbec.autocontrast`."""
    return changed("autocontrast", inpt, color.autocontrast)


def equalize(inpt: Any) -> Any:
    """Equalize the histogram of each channel. See `orbbec.equalize`."""
    return changed("equalize", inpt, color.equalize)


def rgb_to_grayscale(inpt: Any, num_output_channels: int = 1) -> Any:
    """Convert to gray, with one channel or three equal channels. See `orbbec.transforms.Grayscale`."""
    gray = apply_to_images("rgb_to_grayscale", inpt, colors.Grayscale(num_output_channels))
    return grayscale_to_rgb(gray) if num_output_channels == 3 else gray


def permute_channels(inpt: Any, permutation: Sequence[int]) -> Any:
    """Reorder the channels."""
    inputs = readable("permute_channels", inpt)
    if not isinstance(inputs.work, Tensor):
        raise TypeError("permute_channels: expected a tensor, an array or a PIL image")
    order = [
        whole("permute_channels", "permutation", channel, 0, inputs.channels - 1)
        for channel in entries("permute_channels", "permutation", permutation)
    ]
    if sorted(order) != list(range(inputs.channels)):
        raise ValueError(
            f"permute_channels: expected an order of {inputs.channels} channels, but got {order}"
        )
    return inputs.restore(inputs.work[:, order])


def grayscale_to_rgb(inpt: Any) -> Any:
    """Repeat the channel of a gray image three times; images of three or more channels are unchanged."""
    inputs = readable("grayscale_to_rgb", inpt)
    if inputs.channels >= 3:
        return inpt
    if not isinstance(inputs.work, Tensor):
        raise TypeError("grayscale_to_rgb: expected a tensor, an array or a PIL image")
    return inputs.restore(inputs.work[:, :1].repeat(1, 3, 1, 1))


to_grayscale = rgb_to_grayscale
