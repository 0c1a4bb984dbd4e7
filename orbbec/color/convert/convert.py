"""Color space conversion with OpenCV's results."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec._library import operators
from orbbec.bridge.arguments import Images, name_value
from orbbec.bridge.fakes import register_fake, register_out_fake
from orbbec.bridge.pointwise import call_like, fake_like, images_input
from orbbec.bridge.spec import OpSpec, register
from orbbec.color.convert.lab_tables import lab_tables

OP = "cvt_color"


def cvt_color(images: Images, source: str, target: str) -> Any:
    """Convert images from one color space to another.

    One of the two spaces must be RGB or BGR. uint8 follows OpenCV's integer arithmetic: hue in half degrees,
    from 0 to 179, other channels from 0 to 255. Floats follow its formulas: hue in degrees, from 0 to 360,
    other channels from 0 to 1.

    Args:
        images: `[N, C, H, W]` or `[C, H, W]` tensor of any strides; `[H, W, C]` or `[N, H, W, C]` array, or
            `[H, W]` of "GRAY"; or an `ImageBatch`. uint8, float16, bfloat16 or float32 ("LAB": uint8); on the
            CPU or a CUDA device.
        source: color space of `images`: "RGB", "BGR", "GRAY", "HSV", "HLS", "YCrCb", "YUV", "LAB".
        target: color space of the result.

    Returns:
        Images of the type, size, dtype and memory format of `images`, on their device. A
        single "GRAY" array is `[H, W]`. Differentiable, except for "HSV" and "HLS".

    Raises:
        TypeError: an argument has an unsupported type or dtype.
        ValueError: a name or the number of channels does not fit, or neither space is RGB or BGR.

    Source:
        `cv::cvtColor`. uint8 is identical to OpenCV 5.0.0 and 4.12.0 for all 2^24 colors, except for RGB to
        HLS: 3 of 50 million values differ by 1.

    Example:
        >>> orange = torch.tensor([255, 128, 0], dtype=torch.uint8).reshape(3, 1, 1)
        >>> cvt_color(orange, "RGB", "HSV").flatten().tolist()
        [15, 255, 255]
    """
    inputs = images_input(OP, images, 1 if target == "GRAY" else None)
    names = name_value(OP, "source", source), name_value(OP, "target", target)
    tables = lab_tables(inputs.images.device) if "LAB" in names else None
    output = call_like(OP, inputs, *names, tables, channels=1 if target == "GRAY" else 3)
    if isinstance(images, np.ndarray) and images.ndim < 4:
        return output[0, 0].numpy() if target == "GRAY" else output[0].permute(1, 2, 0).numpy()
    return inputs.restore(output)


@register_fake("cvt_color")
def _(
    images: Tensor, layout: Tensor | None, channels: int, source: str, target: str, tables: Tensor | None
) -> Tensor:
    return fake_like(images, layout, 1 if target == "GRAY" else 3)


register_out_fake(OP)


def _setup(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.source, ctx.target = inputs[3], inputs[4]


def _backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    if {"HSV", "HLS"} & {ctx.source, ctx.target}:
        raise NotImplementedError(
            f"{OP}: there is no gradient from {ctx.source} to {ctx.target}; detach the images"
        )
    matrix = _matrix(ctx.source, ctx.target, gradient.device)
    planes = gradient.to(matrix.dtype).unsqueeze(2).unbind(1)
    sums: Any = sum(row.view(-1, 1, 1) * plane for row, plane in zip(matrix, planes, strict=True))
    return sums.to(gradient.dtype), *[None] * 5


def _matrix(source: str, target: str, device: torch.device) -> Tensor:
    """The linear part of a conversion, `[target, source]`: each unit channel's result minus that of black."""
    channels = 1 if source == "GRAY" else 3
    colors = torch.eye(channels + 1, channels, dtype=torch.float32, device=device)  # the last is black
    converted: Tensor = operators.cvt_color(colors[..., None, None], None, 0, source, target, None)
    return (converted[:-1] - converted[-1:])[..., 0, 0].T


torch.library.register_autograd("orbbec::cvt_color", _backward, setup_context=_setup)


register(OpSpec(call=cvt_color, channels=(3,)))
