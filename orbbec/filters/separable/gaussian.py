"""Gaussian blur."""

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec._library import operators
from orbbec.bridge.arguments import Images, Matrix, constant_numbers
from orbbec.bridge.names import Border, border_name
from orbbec.bridge.per_image import check_numbers
from orbbec.bridge.plain import is_real, is_sequence, shown
from orbbec.bridge.pointwise import register_fake_like
from orbbec.bridge.spec import EVERY_DTYPE, OpSpec, register
from orbbec.filters.arguments import count_of, device_of, filter_images, kernel_sizes
from orbbec.filters.gradients import Pass, axis_passes, register_gradient


def gaussian_blur(
    images: Images,
    kernel_size: int | tuple[int, int] | Matrix,
    sigma: float | tuple[float, float] | Matrix = 0.0,
    *,
    border: Border = "reflect101",
) -> Any:
    """Blur each image with a Gaussian kernel of its own size and sigma.

    Args:
        images: `[N, C, H, W]` or `[C, H, W]` tensor of any strides; `[H, W]`, `[H, W, C]` or `[N, H, W, C]`
            array; or an `ImageBatch`. uint8, uint16, float16, bfloat16, float32 or float64; on the CPU or a
            CUDA device.
        kernel_size: odd, in pixels: a number, `(height, width)`, or whole numbers `[N]` or `[N, 2]` on the
            CPU, one size per image. May be larger than the image.
        sigma: in pixels: a number, `(y, x)`, or `[N]` or `[N, 2]` on the CPU or on the device of `images`.
            0 or less: derived from the size, `0.15 * size + 0.35`, with OpenCV's fixed kernels for sizes up
            to 9.
        border: values outside an image: "constant" (zeros), "replicate" (aaa|abc|ccc), "reflect"
            (cba|abc|cba), "reflect101" (cb|abc|ba) or "wrap" (abc|abc|abc).

    Returns:
        Images of the type, sizes, dtype and memory format of `images`, on their device.

    Raises:
        TypeError: an argument has an unsupported type or dtype.
        ValueError: a shape, size or name is invalid.

    Source:
        `cv::GaussianBlur` of OpenCV 5.0.0 and 4.12.0: identical for uint8 and uint16, which use integer taps
        of 8 and 16 bits and round once after both axes. Floats differ in the last bits: by at most 5.4e-7 for
        pixels from 0 to 1.

    Example:
        >>> image = torch.tensor([[[0, 0, 64, 0, 0]]], dtype=torch.uint8)
        >>> gaussian_blur(image, (1, 3)).flatten().tolist()
        [0, 16, 32, 16, 0]
    """
    op = "gaussian_blur"
    count = count_of(images)
    sizes = kernel_sizes(op, kernel_size, count)
    sigmas = _sigmas(op, sigma, count, device_of(images))
    border = border_name(op, border)
    return filter_images(op, images, "gaussian_blur", sizes, sigmas, border)


def _sigmas(op: str, sigma: Any, count: int, device: torch.device) -> Tensor:
    """`sigma` as float64 `[1, 2]` on `device`, or `[count, 2]` on its own device."""
    if is_real(sigma):
        sigma = (sigma, sigma)
    if is_sequence(sigma):
        try:
            sigma_y, sigma_x = map(float, sigma)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{op}: expected sigma as a number or (y, x), but got {shown(sigma)}") from error
        if math.isnan(sigma_y) or math.isnan(sigma_x):
            raise ValueError(f"{op}: expected sigma as numbers, but got {shown(sigma)}")
        sigmas = torch.full((1, 2), sigma_y, dtype=torch.float64, device=device)
        sigmas[:, 1].fill_(sigma_x)
        return sigmas
    if not isinstance(sigma, (Tensor, np.ndarray)):
        raise TypeError(f"{op}: expected sigma as a number, a tensor or an array, but got {shown(sigma)}")
    sigmas = constant_numbers(op, "sigma", sigma).to(torch.float64)
    check_numbers(op, "sigma", sigmas, lambda numbers: ~np.isnan(numbers), "as numbers")
    if list(sigmas.shape) == [count]:
        return sigmas[:, None].expand(count, 2)
    if list(sigmas.shape) in ([], [1]):
        return sigmas.reshape(1, 1).expand(1, 2)
    if list(sigmas.shape) == [count, 2]:
        return sigmas
    raise ValueError(f"{op}: expected sigma of shape [{count}] or [{count}, 2], but got {list(sigmas.shape)}")


def _passes(kernel_size: list[int], sigma: Tensor, border: str) -> list[Pass]:
    blur = operators.gaussian_blur
    return axis_passes(kernel_size, lambda images, sizes: blur(images, None, 0, sizes, sigma, "constant"))


register_fake_like("gaussian_blur")
register_gradient("gaussian_blur", _passes)


register(
    OpSpec(call=gaussian_blur, dtypes=EVERY_DTYPE, identity=("kernel_size", 1), host_columns=("kernel_size",))
)
