"""Erase rectangles of images."""

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec._library import operators
from orbbec.bridge.arguments import (
    Images,
    Matrix,
    OperatorInput,
    as_tensor,
    channel_values,
    check_constant,
    check_no_gradient,
    name_value,
    operator_input,
    operator_output,
)
from orbbec.bridge.noise import noise_key, whole_table
from orbbec.bridge.plain import is_real
from orbbec.bridge.pointwise import call_like, count_of, register_fake_like
from orbbec.bridge.spec import OpSpec, register

_OP = "erase"


def erase(
    images: Images,
    boxes: Any,
    fill: Any = 0,
    *,
    noise: str | None = None,
    seed: int = 0,
    sample_ids: Matrix | None = None,
    epoch: int = 0,
    transform_index: int = 0,
    out: Images | None = None,
) -> Any:
    """Fill rectangles of each image with numbers or reproducible noise.

    Later rectangles cover earlier ones. Rectangles are clipped to the image; a rectangle with `right <= left`
    or `bottom <= top` is empty.

    Args:
        images: `[N, C, H, W]` or `[C, H, W]` tensor of any strides; `[H, W]`, `[H, W, C]` or `[N, H, W, C]`
            array; or an `ImageBatch`. uint8, uint16, float16, bfloat16, float32 or float64; on the CPU or a
            CUDA device.
        boxes: (left, top, right, bottom) in whole pixels, right and bottom exclusive: `[4]` for all images,
            `[N, 4]`, or `[N, K, 4]` for K rectangles per image; a tensor, an array or a sequence. On the CPU
            or on the device of `images`.
        fill: in pixel units: a number, or `[C]`, `[N, C]` or `[N, K, C]`. On the CPU or on the
            device of `images`. Rounded half to even and saturated for integer images. Has no gradient.
        noise: None: use `fill`. "uniform": over the full range of integers; for floats from 0 to 1 in steps
            of 2^-24 (rounded to half precision, which may give 1). "normal": mean 0 and standard deviation 1
            for floats; for integers mean 1/2 and standard deviation 1/4 of the maximum value, saturated.
            Drawn as `philox_noise` of the whole image: independent of the rectangle and the batch.
        seed: seed of the noise, from 0 to 2^63 - 1.
        sample_ids: whole numbers `[N]` that identify the images. None: 0 to N - 1.
        epoch: epoch of the noise, from 0 to 2^63 - 1.
        transform_index: index of the transform in its pipeline, from 0 to 65535.
        out: output buffer with the shape, dtype and device of `images`, sharing no memory with them; or
            `images` itself, in which only the rectangles are written.

    Returns:
        Images of the type, sizes, dtype and memory format of `images`, on their device.
        `out` if given.

    Raises:
        TypeError: an argument has an unsupported type or dtype.
        ValueError: a shape or value is invalid.

    Source:
        `torchvision.transforms.v2.functional.erase`: identical for one rectangle.

    Example:
        >>> image = torch.ones(1, 3, 4, dtype=torch.uint8)
        >>> erase(image, (1, 0, 3, 2), 7)[0].tolist()
        [[1, 7, 7, 1], [1, 7, 7, 1], [1, 1, 1, 1]]
    """
    inputs = operator_input(_OP, "images", images)
    count = count_of(inputs)
    number, fills = _fills(fill, inputs)
    options = (
        _boxes(boxes, count),
        fills,
        number,
        "none" if noise is None else name_value(_OP, "noise", noise),
        *noise_key(_OP, seed, sample_ids, epoch, transform_index, count),
    )
    if out is not None:
        in_place = out is images and inputs.layout is not None
        target = inputs.images if in_place else operator_output(_OP, out).images
        check_no_gradient(_OP, inputs.images, target)
        operators.erase_out(inputs.images, inputs.layout, inputs.channels, *options, target)
        return out
    if inputs.layout is not None:
        return _erase_batch(images, options)
    return inputs.restore(call_like(_OP, inputs, *options))


def _erase_batch(batch: Any, options: tuple[Any, ...]) -> Any:
    """A copy of the whole batch with the rectangles filled."""
    copied = replace(batch, storage=batch.storage.clone())
    pixels = copied.buffer
    operators.erase_out(pixels, copied.layout, copied.channels, *options, pixels)
    return copied


def _boxes(boxes: Any, count: int) -> Tensor:
    """The boxes as int64 `[1, 1, 4]`, `[count, 1, 4]` or `[count, K, 4]`."""
    table = whole_table(_OP, "boxes", boxes)
    shape = list(table.shape)
    if shape == [4]:
        return table[None, None]
    if shape == [count, 4]:
        return table[:, None]
    if len(shape) == 3 and shape[0] == count and shape[2] == 4:
        return table
    raise ValueError(f"{_OP}: expected boxes of shape [4], [{count}, 4] or [{count}, K, 4], but got {shape}")


def _fills(fill: Any, inputs: OperatorInput) -> tuple[float, Tensor | None]:
    """The fill as one number, or as a float64 table of three dimensions."""
    if is_real(fill):
        return float(fill), None
    if isinstance(fill, (Tensor, np.ndarray)):
        check_constant(_OP, "fill", fill)
        table = as_tensor(_OP, "fill", fill).detach().to(torch.float64)
    else:
        table = torch.tensor(channel_values(_OP, "fill", fill), dtype=torch.float64, device="cpu")
    if table.dim() not in (1, 2, 3):
        raise ValueError(
            f"{_OP}: expected fill of shape [C], [N, C] or [N, K, C], but got {list(table.shape)}"
        )
    return 0.0, table[None, None] if table.dim() == 1 else table[:, None] if table.dim() == 2 else table


register_fake_like("erase")


def _setup(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(inputs[3])


def _backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    """The gradient is zero inside the rectangles."""
    (boxes,) = ctx.saved_tensors
    passed = operators.erase(gradient, None, 0, boxes, None, 0.0, "none", 0, None, 0, 0)
    return passed, *(None,) * 10


torch.library.register_autograd("orbbec::erase", _backward, setup_context=_setup)


register(OpSpec(call=erase))
