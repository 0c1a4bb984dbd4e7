"""Shot noise."""

from typing import Any

import torch
from torch import Tensor

from orbbec.bridge.arguments import Images, Matrix
from orbbec.bridge.noise import noise_key
from orbbec.bridge.per_image import Factor, per_image
from orbbec.bridge.pointwise import call_like, count_of, images_input, register_fake_like
from orbbec.bridge.spec import OpSpec, register

_OP = "shot_noise"


def shot_noise(
    images: Images,
    scale: Factor = 0.2,
    *,
    seed: int = 0,
    sample_ids: Matrix | None = None,
    epoch: int = 0,
    transform_index: int = 0,
) -> Any:
    """Replace the light of each value by that of a random number of photons, reproducibly.

    A value v, as a fraction of the maximum value (255 or 1), becomes `min(1, scale * k) ** (1 / 2.2)`, where
    k is Poisson with mean `v ** 2.2 / scale`: the smallest count whose distribution function is above the
    uniform number of `philox_noise` for the sample, the channel, y and x. From a mean of 32 on, k is rounded
    from an expansion about the normal distribution, and may differ by 1. Values are clipped; NaN counts as 0.
    In float32, also for float64 images.

    Args:
        images: `[N, C, H, W]` or `[C, H, W]` tensor of any strides; `[H, W]`, `[H, W, C]` or `[N, H, W, C]`
            array; or an `ImageBatch`. uint8, or float16, bfloat16, float32 or float64 from 0 to 1; on the CPU
            or a CUDA device.
        scale: the light of a photon as a fraction of that of the maximum value, above 0; the more, the
            noisier. One number, or `[N]`, one per image.
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
        `ShotNoise` of Albumentations. Counts have no slope: the gradient is 0, as that of `torch.poisson`.

    Example:
        >>> gray = torch.full((1, 8), 128, dtype=torch.uint8)
        >>> shot_noise(gray[None], scale=0.1).flatten().tolist()
        [168, 168, 0, 123, 168, 148, 168, 0]
    """
    inputs = images_input(_OP, images)
    scales, one = per_image(_OP, "scale", scale, inputs, _is_positive, "as a number above 0")
    output = call_like(
        _OP, inputs, one, scales, *noise_key(_OP, seed, sample_ids, epoch, transform_index, count_of(inputs))
    )
    return inputs.restore(output)


def _is_positive(value: Any) -> Any:
    return (value > 0) & (value < float("inf"))


register_fake_like(_OP)


def _backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    return torch.zeros_like(gradient), *(None,) * 8


torch.library.register_autograd("orbbec::shot_noise", _backward)


register(OpSpec(call=shot_noise))
