"""Salt and pepper noise."""

from typing import Any

import torch
from torch import Tensor

from orbbec._library import operators
from orbbec.bridge.arguments import Images, Matrix, number_value
from orbbec.bridge.noise import noise_key
from orbbec.bridge.per_image import Factor, per_image
from orbbec.bridge.pointwise import call_like, count_of, images_input, register_fake_like
from orbbec.bridge.spec import OpSpec, register

_OP = "salt_and_pepper"


def salt_and_pepper(
    images: Images,
    amount: Factor = 0.05,
    salt_ratio: Factor = 0.5,
    *,
    seed: int = 0,
    sample_ids: Matrix | None = None,
    epoch: int = 0,
    transform_index: int = 0,
    salt: float | None = None,
    pepper: float = 0.0,
) -> Any:
    """Set random pixels to the maximum value (255 or 1) and to 0, or to other values, reproducibly.

    The uniform number u of a pixel is that of `philox_noise` for the sample, channel 0, y and x. The pixel
    becomes salt where `u < amount * salt_ratio`, and otherwise pepper where `u < amount`, in all channels.
    Both limits are rounded to float32.

    Args:
        images: `[N, C, H, W]` or `[C, H, W]` tensor of any strides; `[H, W]`, `[H, W, C]` or `[N, H, W, C]`
            array; or an `ImageBatch`. uint8, or float16, bfloat16, float32 or float64 from 0 to 1; on the CPU
            or a CUDA device.
        amount: fraction of the pixels to set, from 0 to 1. One number, or `[N]`, one per image.
        salt_ratio: fraction of them that become salt, from 0 to 1. One number, or `[N]`, one per image.
        seed: seed of the noise, from 0 to 2^63 - 1.
        sample_ids: whole numbers `[N]` that identify the images. None: 0 to N - 1.
        epoch: epoch of the noise, from 0 to 2^63 - 1.
        transform_index: index of the transform in its pipeline, from 0 to 65535.
        salt: a value from 0 to the maximum value. None: the maximum value.
        pepper: a value from 0 to the maximum value.

    Returns:
        Images of the type, size, dtype and memory format of `images`, on their device.

    Raises:
        TypeError: an argument has an unsupported type or dtype.
        ValueError: a shape or a number is invalid.

    Source:
        `SaltAndPepper` of Albumentations, which sets a fixed number of pixels. Differentiable by `images`.

    Example:
        >>> gray = torch.full((1, 8), 128, dtype=torch.uint8)
        >>> salt_and_pepper(gray[None], amount=0.5).flatten().tolist()
        [128, 128, 255, 0, 128, 128, 128, 255]
    """
    inputs = images_input(_OP, images)
    rule = "as a number from 0 to 1"
    amounts, one_amount = per_image(_OP, "amount", amount, inputs, _is_fraction, rule)
    ratios, one_ratio = per_image(_OP, "salt_ratio", salt_ratio, inputs, _is_fraction, rule)
    top = 255.0 if inputs.images.dtype == torch.uint8 else 1.0
    values = [_value(name, value, top) for name, value in (("salt", salt), ("pepper", pepper))]
    output = call_like(
        _OP,
        inputs,
        one_amount,
        amounts,
        one_ratio,
        ratios,
        *noise_key(_OP, seed, sample_ids, epoch, transform_index, count_of(inputs)),
        *values,
    )
    return inputs.restore(output)


def _is_fraction(value: Any) -> Any:
    return (value >= 0) & (value <= 1)


def _value(name: str, value: float | None, top: float) -> float:
    number = top if value is None else number_value(_OP, name, value)
    if not 0 <= number <= top:
        raise ValueError(f"{_OP}: expected {name} as a number from 0 to {top:g}, but got {value}")
    return number


register_fake_like(_OP)


def _setup(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.one_amount, ctx.one_ratio, ctx.key = inputs[3], inputs[5], (inputs[7], *inputs[9:11])
    ctx.save_for_backward(inputs[4], inputs[6], inputs[8])


def _backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    """The gradient is zero where pixels were set."""
    amounts, ratios, sample_ids = ctx.saved_tensors
    seed, epoch, index = ctx.key
    half = torch.full_like(gradient, 0.5)
    fractions = ctx.one_amount, amounts, ctx.one_ratio, ratios
    key = seed, sample_ids, epoch, index
    marked = operators.salt_and_pepper(half, None, 0, *fractions, *key, 1.0, 0.0)
    return gradient * (marked == half), *(None,) * 12


torch.library.register_autograd("orbbec::salt_and_pepper", _backward, setup_context=_setup)


register(OpSpec(call=salt_and_pepper))
