"""Normalization and casting to model input in one pass."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from orbbec.bridge.arguments import (
    Images,
    OperatorInput,
    channel_values,
    dtype_name,
    dtype_numbered,
    flag_value,
    new_images,
    operator_input,
)
from orbbec.bridge.buffer_pool import pooled_output
from orbbec.bridge.dispatch import call_into
from orbbec.bridge.fakes import register_fake, register_out_fake
from orbbec.bridge.spec import EVERY_DTYPE, OpSpec, register

_FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
_LARGEST = {torch.uint8: 255.0, torch.uint16: 65535.0}
Numbers = float | Sequence[float]


def normalize(
    images: Images,
    mean: Numbers = (0.485, 0.456, 0.406),
    std: Numbers = (0.229, 0.224, 0.225),
    *,
    dtype: torch.dtype = torch.float32,
    channels_last: bool = False,
    scale: bool = True,
) -> Tensor:
    """Normalize images, cast them and set their memory layout, in one pass.

    `(pixel * s - mean) / std`, each operation rounded to float32 (float64 if `dtype` is float64); `s` is 1 /
    255 for uint8, 1 / 65535 for uint16, and 1 for floats or if `scale` is False.

    Args:
        images: `[N, C, H, W]` or `[C, H, W]` tensor of any strides; `[H, W]`, `[H, W, C]` or `[N, H, W, C]`
            array; or an `ImageBatch` of images of one size. uint8, uint16, float16, bfloat16, float32 or
            float64; on the CPU or a CUDA device.
        mean: one number, or one per channel (up to 16), in the units of the scaled pixels.
        std: one number, or one per channel; not 0.
        dtype: dtype of the result: float16, bfloat16, float32 or float64.
        channels_last: whether the result has the channels_last memory format.
        scale: whether integers are divided by the largest value of their dtype.

    Returns:
        `[N, C, H, W]` tensor, or `[C, H, W]` for a single image, of `dtype`, on the device of `images`.

    Raises:
        TypeError: an argument has an unsupported type or dtype.
        ValueError: the numbers do not fit the channels, or the sizes of an `ImageBatch` differ.

    Source:
        torchvision's `to_dtype(scale=True)` and `normalize`. Identical to torchvision 0.25 for uint8 and
        float32.

    Example:
        >>> image = torch.tensor([[[0, 255]]], dtype=torch.uint8)
        >>> normalize(image, 0.5, 0.5).flatten().tolist()
        [-1.0, 1.0]
    """
    return _normalize("normalize", images, mean, std, dtype, channels_last, scale)


def to_float(
    images: Images, *, dtype: torch.dtype = torch.float32, channels_last: bool = False, scale: bool = True
) -> Tensor:
    """Cast images to floats and scale integers to the range from 0 to 1.

    Args:
        images: see `normalize`.
        dtype: of the result: float16, bfloat16, float32 or float64.
        channels_last: whether the result has the channels_last memory format.
        scale: whether integers are divided by the largest value of their dtype.

    Returns:
        `[N, C, H, W]` tensor, or `[C, H, W]` for a single image, of `dtype`, on the device of `images`.

    Raises:
        TypeError: see `normalize`.
        ValueError: see `normalize`.

    Source:
        torchvision's `to_dtype(scale=True)`.

    Example:
        >>> to_float(torch.tensor([[[0, 255]]], dtype=torch.uint8)).flatten().tolist()
        [0.0, 1.0]
    """
    return _normalize("to_float", images, 0.0, 1.0, dtype, channels_last, scale)


def _normalize(
    op: str, images: Any, mean: Any, std: Any, dtype: torch.dtype, channels_last: bool, scale: bool
) -> Tensor:
    inputs = operator_input(op, "images", images)
    if dtype not in _FLOATS:
        known = ", ".join(map(dtype_name, _FLOATS))
        raise TypeError(f"{op}: expected dtype to be one of {known}, but got {dtype}")
    scales = flag_value(op, "scale", scale)
    factor = 1 / _LARGEST.get(inputs.images.dtype, 1.0) if scales else 1.0
    numbers = channel_values(op, "mean", mean), channel_values(op, "std", std)
    size, is_last = _common_size(op, images, inputs), flag_value(op, "channels_last", channels_last)
    shape = _shape(inputs.images, inputs.layout, inputs.channels, size)
    output: Tensor = call_into(
        "normalize",
        pooled_output(shape, dtype, is_last, inputs.images, inputs.layout),
        inputs.images,
        inputs.layout,
        inputs.channels,
        *numbers,
        factor,
        dtype,
        size,
        is_last,
    )
    single = isinstance(images, Tensor) and images.dim() == 3
    single = single or (not isinstance(images, Tensor) and inputs.layout is None and images.ndim < 4)
    return output[0] if single else output


def _common_size(op: str, images: Any, inputs: OperatorInput) -> list[int]:
    """The common size (height, width) of an ImageBatch; empty for a tensor."""
    if inputs.layout is None:
        return []
    sizes = {(height, width) for height, width in images.sizes.tolist()}
    if len(sizes) > 1:
        raise ValueError(f"{op}: expected images of one size, but got {sorted(sizes)}; resize them first")
    return list(sizes.pop()) if sizes else [1, 1]


def _shape(images: Tensor, layout: Tensor | None, channels: int, size: list[int]) -> tuple[int, ...]:
    return tuple(images.shape) if layout is None else (layout.size(0), channels, *size)


@register_fake("normalize")
def _(
    images: Tensor,
    layout: Tensor | None,
    channels: int,
    mean: list[float],
    std: list[float],
    scale: float,
    dtype: int,
    size: list[int],
    channels_last: bool,
) -> Tensor:
    shape = _shape(images, layout, channels, size)
    return new_images(images, shape, channels_last, dtype_numbered("normalize", dtype, _FLOATS))


register_out_fake("normalize")


def _setup(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    images, _, _, _, std, scale, _, _, _ = inputs
    ctx.std, ctx.scale, ctx.dtype = std, scale, images.dtype


def _backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    working = torch.float64 if gradient.dtype == torch.float64 else torch.float32
    std = torch.tensor(ctx.std, dtype=working, device=gradient.device).view(-1, 1, 1)
    of_images = (gradient.to(working) / std * ctx.scale).to(ctx.dtype)
    return of_images, None, None, None, None, None, None, None, None


torch.library.register_autograd("orbbec::normalize", _backward, setup_context=_setup)


def to_uint8(images: Tensor, dtype: torch.dtype) -> Tensor:
    """Floats without their fractions, saturated to 0 and 255."""
    return images.clamp(0, 255).to(dtype)


register(OpSpec(call=to_float, dtypes=EVERY_DTYPE), OpSpec(call=to_uint8))
