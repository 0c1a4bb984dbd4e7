"""Color adjustments with torchvision's results."""

import math
from typing import Any

import torch
from torch import Tensor

import orbbec.color.adjust.adjust_gradients  # noqa: F401  (registers what they are differentiated by)
from orbbec._library import operators
from orbbec.bridge.arguments import BYTES, Images, OperatorInput
from orbbec.bridge.dispatch import call_operator
from orbbec.bridge.per_image import Factor, per_image
from orbbec.bridge.plain import is_number, plain, shown
from orbbec.bridge.pointwise import call_like, images_input, register_fake_like
from orbbec.bridge.spec import OpSpec, register
from orbbec.color.tables.tables import by_histogram


def adjust_brightness(images: Images, brightness_factor: Factor) -> Any:
    """Multiply pixels by a factor.

    Args:
        images: `[N, C, H, W]` or `[C, H, W]` tensor of any strides; `[H, W]`, `[H, W, C]` or `[N, H, W, C]`
            array; or an `ImageBatch`. uint8, or float16, bfloat16, float32 or float64 from 0 to 1; on the CPU
            or a CUDA device.
        brightness_factor: at least 0; 0 is black, 1 the image. One number, or `[N]`, one per image.

    Returns:
        Images of the type, size, dtype and memory format of `images`, on their device.

    Raises:
        TypeError: an argument has an unsupported type or dtype.
        ValueError: a shape or a number is invalid.

    Source:
        torchvision's v2 `adjust_brightness` of tensors, on a CPU with FMA. Differentiable by `images`.

    Example:
        >>> adjust_brightness(torch.tensor([[[10, 200]]], dtype=torch.uint8), 1.5).flatten().tolist()
        [15, 255]
    """
    return _adjust_by_factor("adjust_brightness", images, "brightness_factor", brightness_factor)


def adjust_contrast(images: Images, contrast_factor: Factor) -> Any:
    """Blend images with the mean of their gray image.

    Args:
        images: see `adjust_brightness`, of 1 or 3 channels.
        contrast_factor: at least 0; 0 is gray, 1 the image. One number, or `[N]`, one per image.

    Returns:
        See `adjust_brightness`, which also lists the errors.

    Source:
        torchvision's v2 `adjust_contrast` of tensors, on a CPU with FMA. torchvision computes the mean with
        float32 sums; here bytes are summed as integers. Differentiable by `images`.

    Example:
        >>> adjust_contrast(torch.tensor([[[10, 30]]], dtype=torch.uint8), 0.5).flatten().tolist()
        [15, 25]
    """
    op = "adjust_contrast"
    inputs = images_input(op, images)
    factor = per_image(op, "contrast_factor", contrast_factor, inputs, _is_factor, "of at least 0")
    sums = call_operator(operators.gray_sums, inputs.images, inputs.layout, inputs.channels)
    mean = sums[:, 0] / _pixel_counts(inputs)
    return inputs.restore(_adjust(op, inputs, factor, mean=mean))


def adjust_saturation(images: Images, saturation_factor: Factor) -> Any:
    """Blend images with their gray image.

    Args:
        images: see `adjust_brightness`, RGB; images of 1 channel are unchanged.
        saturation_factor: at least 0; 0 is gray, 1 the image. One number, or `[N]`, one per image.

    Returns:
        See `adjust_brightness`, which also lists the errors.

    Source:
        torchvision's v2 `adjust_saturation` of tensors, on a CPU with FMA. Differentiable by `images`.

    Example:
        >>> red = torch.tensor([200, 0, 0], dtype=torch.uint8).reshape(3, 1, 1)
        >>> adjust_saturation(red, 0.5).flatten().tolist()
        [129, 29, 29]
    """
    return _adjust_by_factor("adjust_saturation", images, "saturation_factor", saturation_factor)


def adjust_hue(images: Images, hue_factor: Factor) -> Any:
    """Shift the hue of images.

    Args:
        images: see `adjust_brightness`, RGB; images of 1 channel are unchanged.
        hue_factor: shift from -0.5 to 0.5 of the color circle. One number, or `[N]`, one per image.

    Returns:
        See `adjust_brightness`, which also lists the errors.

    Source:
        torchvision's v2 `adjust_hue` of tensors. Differentiable by `images`.

    Example:
        >>> red = torch.tensor([200, 0, 0], dtype=torch.uint8).reshape(3, 1, 1)
        >>> adjust_hue(red, 1 / 3).flatten().tolist()
        [0, 200, 0]
    """
    return _adjust_by_factor(
        "adjust_hue", images, "hue_factor", hue_factor, lambda v: (v >= -0.5) & (v <= 0.5), "from -0.5 to 0.5"
    )


def adjust_gamma(images: Images, gamma: Factor, gain: float = 1.0) -> Any:
    """Raise pixels, scaled to 0..1, to a power and multiply them.

    Args:
        images: see `adjust_brightness`; negative floats give NaN.
        gamma: at least 0; above 1 darker. One number, or `[N]`, one per image.
        gain: factor applied to the powers.

    Returns:
        See `adjust_brightness`, which also lists the errors.

    Source:
        torchvision's v2 `adjust_gamma` of tensors. Differentiable by `images`.

    Example:
        >>> adjust_gamma(torch.tensor([[[0, 128, 255]]], dtype=torch.uint8), 2.0).flatten().tolist()
        [0, 64, 255]
    """
    op = "adjust_gamma"
    inputs = images_input(op, images)
    if not is_number(plain(gain)):
        raise TypeError(f"adjust_gamma: expected gain as a number, but got {shown(gain)}")
    factors, factor = per_image(op, "gamma", gamma, inputs, _is_factor, "of at least 0")
    if inputs.images.dtype != torch.uint8:
        return inputs.restore(_adjust(op, inputs, (factors, factor), gain=float(gain)))
    if factors is None:
        factors = torch.full((1,), factor, dtype=torch.float64, device=inputs.images.device)
    tables = operators.tables_of_gamma(factors, float(gain))
    return inputs.restore(call_like("lut", inputs, tables))


def adjust_sharpness(images: Images, sharpness_factor: Factor) -> Any:
    """Blend images with their 3x3 blur; the outermost pixels are unchanged.

    Args:
        images: see `adjust_brightness`.
        sharpness_factor: at least 0; 0 gives the blur, 1 the image, 2 a sharper image. One number, or `[N]`,
            one per image.

    Returns:
        See `adjust_brightness`, which also lists the errors.

    Source:
        torchvision's v2 `adjust_sharpness` of tensors, on a CPU with FMA. Differentiable by `images`.

    Example:
        >>> dot = torch.zeros(1, 3, 3, dtype=torch.uint8)
        >>> dot[0, 1, 1] = 130
        >>> adjust_sharpness(dot, 0.0)[0, 1, 1].item()
        50
    """
    return _adjust_by_factor("adjust_sharpness", images, "sharpness_factor", sharpness_factor)


def invert(images: Images) -> Any:
    """Replace each value v by the maximum value minus v.

    Args:
        images: see `adjust_brightness`.

    Returns:
        See `adjust_brightness`, which also lists the errors.

    Source:
        torchvision's v2 `invert`. Differentiable.

    Example:
        >>> invert(torch.tensor([[[0, 1, 255]]], dtype=torch.uint8)).flatten().tolist()
        [255, 254, 0]
    """
    inputs = images_input("invert", images)
    return inputs.restore(_adjust("invert", inputs, (None, 0.0)))


def posterize(images: Images, bits: Factor) -> Any:
    """Keep the highest bits of each value.

    Args:
        images: see `adjust_brightness`.
        bits: from 0 to 8. One whole number, or `[N]`, one per image.

    Returns:
        See `adjust_brightness`, which also lists the errors.

    Source:
        torchvision's v2 `posterize`. Its gradient is 0.

    Example:
        >>> posterize(torch.tensor([[[100, 255]]], dtype=torch.uint8), 2).flatten().tolist()
        [64, 192]
    """
    return _adjust_by_factor("posterize", images, "bits", bits, _is_bits, "as a whole number from 0 to 8")


def solarize(images: Images, threshold: Factor) -> Any:
    """Invert the values at or above a threshold.

    Args:
        images: see `adjust_brightness`.
        threshold: at most the maximum value, 255 for uint8 and 1 for floats. One number, or `[N]`, one per
            image.

    Returns:
        See `adjust_brightness`, which also lists the errors.

    Source:
        torchvision's v2 `solarize`. Differentiable by `images`.

    Example:
        >>> solarize(torch.tensor([[[100, 200]]], dtype=torch.uint8), 128).flatten().tolist()
        [100, 55]
    """
    inputs = images_input("solarize", images)
    largest = 255 if inputs.images.dtype == torch.uint8 else 1
    factor = per_image(
        "solarize", "threshold", threshold, inputs, lambda v: v <= largest, f"of at most {largest}"
    )
    return inputs.restore(_adjust("solarize", inputs, factor))


def autocontrast(images: Images) -> Any:
    """Stretch each channel of each image to the full range from 0 to the maximum value.

    Args:
        images: see `adjust_brightness`, uint8.

    Returns:
        See `adjust_brightness`, which also lists the errors.

    Source:
        torchvision's v2 `autocontrast` of tensors, whose truncation may give 254 for the maximum.

    Example:
        >>> autocontrast(torch.tensor([[[100, 150, 200]]], dtype=torch.uint8)).flatten().tolist()
        [0, 127, 254]
    """
    return by_histogram("autocontrast", images_input("autocontrast", images, dtypes=BYTES))


def equalize(images: Images) -> Any:
    """Equalize the histogram of each channel of each image, as in Pillow.

    Args:
        images: see `adjust_brightness`, uint8.

    Returns:
        See `adjust_brightness`, which also lists the errors.

    Source:
        torchvision's v2 `equalize`, of tensors and Pillow images. See `equalize_hist` for OpenCV's.

    Example:
        >>> equalize(torch.arange(0, 256, 2, dtype=torch.uint8).repeat(1, 8, 1))[0, 0, -1].item()
        255
    """
    return by_histogram("equalize", images_input("equalize", images, dtypes=BYTES))


def _is_bits(value: Any) -> Any:
    return (value >= 0) & (value <= 8) & (value % 1 == 0)


def _is_factor(value: Any) -> Any:
    return (value >= 0) & (value < math.inf)


def _adjust_by_factor(
    op: str, images: Any, name: str, value: Any, is_valid: Any = _is_factor, rule: str = "of at least 0"
) -> Any:
    inputs = images_input(op, images)
    factor = per_image(op, name, value, inputs, is_valid, rule)
    if op in ("adjust_saturation", "adjust_hue") and _channels(inputs) == 1:
        return inputs.restore(inputs.images.clone())
    return inputs.restore(_adjust(op, inputs, factor))


def _channels(inputs: OperatorInput) -> int:
    return inputs.images.size(1) if inputs.layout is None else inputs.channels


def _pixel_counts(inputs: OperatorInput) -> Tensor:
    if inputs.layout is None:
        pixels = max(inputs.images.size(2) * inputs.images.size(3), 1)
        # A tensor, because CUDA divides by a Python number through its reciprocal.
        return torch.full((1,), pixels, dtype=torch.float64, device=inputs.images.device)
    return (inputs.layout[:, 1] * inputs.layout[:, 2]).double()


def _adjust(
    op: str,
    inputs: OperatorInput,
    factor: tuple[Tensor | None, float],
    gain: float = 1.0,
    mean: Tensor | None = None,
) -> Tensor:
    output: Tensor = call_like("adjust_color", inputs, op, factor[1], factor[0], gain, mean)
    return output


register_fake_like("adjust_color", factors=1, mean=1)


register(OpSpec(call=adjust_sharpness, identity=("sharpness_factor", 1.0)))
register(OpSpec(call=autocontrast, dtypes=("uint8",)), OpSpec(call=equalize, dtypes=("uint8",)))
register(
    *(OpSpec(call=call) for call in (adjust_brightness, adjust_contrast, adjust_saturation, adjust_hue)),
    *(OpSpec(call=call) for call in (adjust_gamma, invert, posterize, solarize)),
)
