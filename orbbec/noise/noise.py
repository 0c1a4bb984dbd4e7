"""Gaussian noise."""

import math
from typing import Any

import torch
from torch import Tensor

from orbbec._library import operators
from orbbec.bridge.arguments import Images, Matrix, flag_value
from orbbec.bridge.dispatch import call_operator
from orbbec.bridge.noise import noise_key
from orbbec.bridge.per_image import Factor, per_image
from orbbec.bridge.pointwise import count_of, images_input, register_fakes_like
from orbbec.bridge.spec import OpSpec, register
from orbbec.bridge.warp import buffer_like

_OP = "gaussian_noise"


def gaussian_noise(
    images: Images,
    mean: Factor = 0.0,
    sigma: Factor = 0.1,
    clip: bool = True,
    *,
    seed: int = 0,
    sample_ids: Matrix | None = None,
    epoch: int = 0,
    transform_index: int = 0,
) -> Any:
    """Add reproducible normal noise to each image.

    `pixel + (maximum * mean + maximum * sigma * normal)`, where the maximum value is 255 for uint8 and 1 for
    floats. `maximum * mean` and `maximum * sigma` are rounded to float32, as is each step after them; for
    float64 images all of it is in float64. The normal number is that of `philox_noise` for the sample,
    channel, y and x, independent of the batch and the memory layout.

    Args:
        images: `[N, C, H, W]` or `[C, H, W]` tensor of any strides; `[H, W]`, `[H, W, C]` or `[N, H, W, C]`
            array; or an `ImageBatch`. uint8, or float16, bfloat16, float32 or float64 from 0 to 1; on the CPU
            or a CUDA device.
        mean: as a fraction of the maximum value. One number, or `[N]`, one per image.
        sigma: at least 0, as a fraction of the maximum value. One number, or `[N]`, one per image.
        clip: clip floats to 0..1. uint8 values are always rounded half to even and saturated.
        seed: seed of the noise, from 0 to 2^63 - 1.
        sample_ids: whole numbers `[N]` that identify the images. None: 0 to N - 1.
        epoch: epoch of the noise, from 0 to 2^63 - 1.
        transform_index: index of the transform in its pipeline, from 0 to 65535.

    Returns:
        Images of the type, size, dtype and memory format of `images`, on their device.

    Raises:
        TypeError: an argument has an unsupported type or dtype.
        ValueError: a shape or a number is invalid.

    Source:
        torchvision's v2 `gaussian_noise`, which truncates the noise of uint8 images and, without `clip`, lets
        them wrap around. Differentiable by `images`.

    Example:
        >>> gray = torch.full((1, 4), 128, dtype=torch.uint8)
        >>> gaussian_noise(gray[None], sigma=0.01).flatten().tolist()
        [129, 127, 121, 130]
    """
    inputs = images_input(_OP, images)
    means, one_mean = per_image(_OP, "mean", mean, inputs, _is_finite, "as a finite number")
    sigmas, one_sigma = per_image(_OP, "sigma", sigma, inputs, _is_sigma, "as a finite number of at least 0")
    key = noise_key(_OP, seed, sample_ids, epoch, transform_index, count_of(inputs))
    arguments = (
        inputs.images,
        inputs.layout,
        inputs.channels,
        one_mean,
        means,
        one_sigma,
        sigmas,
        flag_value(_OP, "clip", clip),
        *key,
    )
    size = inputs.images.shape[2:]
    buffer = buffer_like(inputs, size, means, sigmas, key[1]) if inputs.layout is None else None
    if buffer is None:
        return inputs.restore(call_operator(operators.gaussian_noise, *arguments))
    operators.gaussian_noise_out(*arguments, buffer)
    return inputs.restore(buffer)


def _is_finite(value: Any) -> Any:
    return abs(value) < math.inf


def _is_sigma(value: Any) -> Any:
    return (value >= 0) & (value < math.inf)


register_fakes_like("gaussian_noise")


def _setup(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.clip = inputs[7]
    ctx.save_for_backward(output)


def _backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    """The gradient is zero where values were clipped."""
    (output,) = ctx.saved_tensors
    inside = gradient * ((output > 0) & (output < 1)) if ctx.clip else gradient
    return inside, *(None,) * 11


torch.library.register_autograd("orbbec::gaussian_noise", _backward, setup_context=_setup)


register(OpSpec(call=gaussian_noise))
