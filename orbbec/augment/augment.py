"""A pipeline of augmentations in one pass: one read of the input, one write of the output."""

from typing import Any, NamedTuple, cast

import torch
from torch import Tensor

import orbbec.augment.gradients  # noqa: F401  (registers what it is differentiated by)
from orbbec._library import operators
from orbbec.augment.codes import STEPS
from orbbec.bridge.arguments import (
    Fill,
    Images,
    Matrix,
    OperatorInput,
    SizedImages,
    StoredPlanes,
    as_tensor,
    channel_values,
    check_no_gradient,
    constant_numbers,
    dtype_name,
    dtype_numbered,
    float_tensor,
    holds_planes,
    is_channels_last,
    is_ragged,
    new_images,
    on_device_of,
    operator_input,
    operator_output,
    size_values,
)
from orbbec.bridge.buffer_pool import pooled_output
from orbbec.bridge.dispatch import call_operator, is_plain
from orbbec.bridge.fakes import register_fake
from orbbec.bridge.names import Border, Interpolation, border_name, interpolation_name
from orbbec.bridge.plain import shown

OP = "augment"
DTYPES = (torch.uint8, torch.float16, torch.bfloat16, torch.float32)


class Sampling(NamedTuple):
    """How `augment` reads source pixels.

    Args:
        interpolation: "nearest", "linear" or "cubic", see `warp_affine`.
        border: see `warp_affine`; "transparent" is not supported.
        fill: see `warp_affine`; in the units of the images.
        regions: integers `[N, 4]`, or `[4]` for all images: left, top, right, bottom of the visible region of
            each image, right and bottom exclusive, clipped to the image. Pixels beyond the region count as
            outside, and the matrix is relative to its corner. None: the whole image.
    """

    interpolation: Interpolation = "linear"
    border: Border = "constant"
    fill: Fill = 0
    regions: Matrix | None = None


class Values(NamedTuple):
    """What `augment` does to the values that it reads, in this order; mixing comes last.

    Args:
        colors: float32 `[N, steps, 16]`, or `[steps, 16]` for all images; for 1 or 3 channels. A row is the
            code of a step and its numbers, see below. One channel is treated as three equal channels.
        erase: float32 `[N, boxes, 8]`, or `[boxes, 8]`: left, top, right, bottom in output pixels, right and
            bottom exclusive, then four fills as fractions of the maximum value: of the channels in turn.
        mean: subtracted from each channel, after uint8 is scaled to 0..1; a number or one per channel.
        std: divisor of each channel. Required with `mean`.
        mix: float32 `[N, 7]`: index of another image of the batch; left, top, right, bottom in output pixels,
            right and bottom exclusive; and the weights of the image and of the other image inside this box
            (0 and 1: the other image only). An index out of range means no mixing.
        contrast: whether `colors` has a contrast step; None: looked up if `colors` is on the CPU, and
            assumed on a CUDA device.

    The steps of `colors`, on values from 0 to the maximum value M:

    | code | step | numbers | what it does |
    | --- | --- | --- | --- |
    | 0 | none | | nothing |
    | 1 | matrix | 9 of a matrix by rows, 3 offsets as fractions of M | rgb = matrix rgb + offset, clipped |
    | 2 | hue | shift, -0.5 to 0.5 of the circle | shifts the hue |
    | 3 | gamma | gamma, gain | M * gain * (v / M)^gamma, clipped |
    | 4 | posterize | bits, 0 to 8 | keeps the high bits |
    | 5 | solarize | t, a, s; t, s as fractions of M | v >= t: M - v, or v if a is 1; v < t: v + s, clipped |
    | 6 | contrast | factor | mean + factor * (v - mean), mean gray of the output; at most one per image |
    | 7 | hsv | hue shift, factor and summand of saturation and of value | by bytes, as OpenCV |
    | 8 | curve | low and high as fractions of M, of each channel | a Bezier curve from 0 to M |
    | 9 | ramp | f, g, h | v * (f + g x + h y), clipped, in output pixel (x, y) |
    | 10 | radial | cx, cy, s, t, a, b | v * (1 + a d + b exp(-d)), clipped; d = s (x - cx)^2 + t (y - cy)^2 |
    | 11 | shadow | f from 0 to 1, x and y of 7 corners, which may repeat | v * f inside the polygon |
    """

    colors: Matrix | None = None
    erase: Matrix | None = None
    mean: Fill | None = None
    std: Fill | None = None
    mix: Matrix | None = None
    contrast: bool | None = None


class Output(NamedTuple):
    """What `augment` returns.

    Args:
        dtype: uint8, float16, bfloat16 or float32; None: that of the images. uint8 is scaled to floats from 0
            to 1, and floats are multiplied by 255 for uint8.
        channels_last: memory layout; None: that of the images.
        out: output buffer; its dtype and layout determine those of the result. Results of different sizes go
            into the images of an `ImageBatch`.
    """

    dtype: torch.dtype | None = None
    channels_last: bool | None = None
    out: Images | SizedImages | None = None


_SAMPLING, _VALUES, _OUTPUT = Sampling(), Values(), Output()


def augment(
    images: Images | StoredPlanes,
    matrix: Matrix,
    size: tuple[int, int] | None,
    sampling: Sampling = _SAMPLING,
    values: Values = _VALUES,
    output: Output = _OUTPUT,
) -> Any:
    """Warp, adjust colors, erase, normalize, mix and cast each image in one pass over the output.

    Each output pixel is read at the source position given by its image's matrix, passes through the color
    program, takes the fill of the last rectangle that covers it, is normalized, mixed with another image's
    pixel, cast and stored. Values are rounded once, at the end.
    Deterministic gradients are available for float `images` and for `matrix`, with nearest and linear.

    Args:
        images: `[N, C, H, W]` or `[C, H, W]` tensor of any strides; `[H, W]`, `[H, W, C]` or `[N, H, W, C]`
            array; or an `ImageBatch`. uint8, float16, bfloat16 or float32; more than 4 channels take a pass
            for every 4; on the CPU or a CUDA device. The maximum value is 255 for uint8, 1 for floats. Or a
            `YCbCrBatch`, whose RGB is computed on the fly and never stored, which saves memory traffic on a
            CUDA device; on the CPU, calling `ycbcr_to_rgb` first is faster. The results are identical to
            those of `ycbcr_to_rgb`.
        matrix: `[N, 2, 3]` or `[N, 3, 3]`, or one for all images; float32 or float64, on the CPU or on the
            device of `images`: from output pixel (x, y) to source pixel.
        size: (height, width) of the output in pixels; None if `output.out` is an `ImageBatch`.
        sampling: how source pixels are read.
        values: what is done to them.
        output: dtype, layout and buffer of the result.

    Returns:
        Images of the type of `images`, with `size` and the dtype of `output`; variable-size images become a
        tensor.

    Raises:
        TypeError: an argument has an unsupported type or dtype.
        ValueError: a shape, size, name or device is invalid.

    Source:
        Without colors, rectangles and normalization, identical to `warp_affine` and `warp_perspective`. The
        steps are those of torchvision's v2 functionals on floats. `mix` is identical to a following `mixup`
        or `cutmix` in float32.

    Example:
        >>> image = torch.tensor([[[0, 50, 100, 255]]], dtype=torch.uint8)
        >>> flip = torch.tensor([[-1.0, 0, 3], [0, 1, 0]])
        >>> normalized = Values(mean=0.5, std=0.5)
        >>> result = augment(image, flip, (1, 4), values=normalized, output=Output(torch.float32))
        >>> result.flatten().tolist()[::3]
        [1.0, -1.0]
    """
    for kind, options in ((Sampling, sampling), (Values, values), (Output, output)):
        if not isinstance(options, kind):
            name = kind.__name__
            raise TypeError(f"{OP}: expected {name.lower()} as a {name}, but got {shown(options)}")
    inputs, planes = _input(images)
    pixels, layout = inputs.images, inputs.layout
    target = None if output.out is None else _target(inputs, output.out)
    dtype = target.images.dtype if target is not None else output_dtype(OP, output, pixels)
    arguments = (
        pixels,
        layout,
        inputs.channels,
        _square(matrix, pixels),
        size_values(OP, size if target is None else _largest_size(size, target)),
        *_sampling(sampling, pixels, layout),
        *value_arguments(OP, values, pixels, dtype),
        *planes,
    )
    if target is not None:
        check_no_gradient(OP, pixels)
        operators.augment_out(*arguments, target.images, target.layout)
        return output.out
    return inputs.restore(new_result(OP, arguments, dtype, output.channels_last))


def new_result(op: str, arguments: tuple[Any, ...], dtype: torch.dtype, channels_last: bool | None) -> Any:
    """The result of `op`; its arguments begin with images, layout, channels, a table and the size."""
    images, layout, channels, table, size = arguments[:5]
    last = is_channels_last(images, layout) if channels_last is None else channels_last
    count = images.shape[:2] if layout is None else (layout.shape[0], channels)
    buffer = pooled_output((*count, *size), dtype, last, images, table)
    if buffer is None:
        return call_operator(getattr(operators, op), *arguments, dtype, last)
    getattr(operators, f"{op}_out")(*arguments, buffer)
    return buffer


def scale_and_maximum(kind: torch.dtype, result: torch.dtype) -> tuple[float, float]:
    """The factor from the units of images to those of the result, and the maximum value of images."""
    was_byte, is_byte = kind == torch.uint8, result == torch.uint8
    return (1.0 if was_byte == is_byte else 255.0 if is_byte else 1 / 255), 255.0 if was_byte else 1.0


def _input(images: Any) -> tuple[OperatorInput, tuple[Tensor | None, Tensor | None]]:
    """The images, and the storage tables of a YCbCrBatch."""
    if not holds_planes(images):
        return operator_input(OP, "images", images, DTYPES), (None, None)
    inputs = OperatorInput(images.buffer, images.rgb_layout, 3, lambda output: output)
    return inputs, (images.layout, images.forms)


class _Target(NamedTuple):
    """Where results are written: a tensor, or a flat buffer and its layout."""

    images: Tensor
    layout: Tensor | None = None
    largest: tuple[int, ...] = ()  # of variable-size results


def _target(inputs: OperatorInput, out: Any) -> _Target:
    if not is_ragged(out):
        return _Target(operator_output(OP, out).images)
    channels = inputs.images.shape[1] if inputs.layout is None else inputs.channels
    if out.channels != channels:
        raise ValueError(f"{OP}: expected out of {channels} channels, but got {out.channels}")
    sizes = cast(SizedImages, out).sizes
    largest = sizes.amax(0).tolist() if len(sizes) else (1, 1)
    return _Target(out.buffer, out.layout, tuple(largest))


def _largest_size(size: tuple[int, int] | None, target: _Target) -> tuple[int, ...] | None:
    if target.layout is not None and size is not None:
        raise ValueError(f"{OP}: expected size None, since out is an ImageBatch, but got {tuple(size)}")
    return target.largest if target.layout is not None else size


def output_dtype(op: str, output: Output, images: Tensor) -> torch.dtype:
    """The dtype of the results; `op` is for messages."""
    if output.dtype is not None and output.dtype not in DTYPES:
        known = ", ".join(map(dtype_name, DTYPES))
        raise TypeError(f"{op}: expected dtype to be one of {known}, but got {output.dtype}")
    return output.dtype or images.dtype


def _sampling(sampling: Sampling, images: Tensor, layout: Tensor | None) -> tuple[Any, ...]:
    """The operator's arguments, in its order."""
    reading = interpolation_name(OP, sampling.interpolation), border_name(OP, sampling.border)
    return *reading, channel_values(OP, "fill", sampling.fill), _regions(sampling.regions, images, layout)


def value_arguments(op: str, values: Values, images: Tensor, dtype: torch.dtype) -> tuple[Any, ...]:
    """The operator's arguments, in its order; for results of `dtype`. `op` is for messages."""
    if (values.mean is None) != (values.std is None):
        raise ValueError(f"{op}: expected mean and std together")
    program, contrast = _table(op, "colors", values.colors, images), values.contrast
    if contrast is None:
        contrast = program is not None and (
            program.is_cuda or bool((program[..., 0] == STEPS["contrast"]).any())
        )
    tables = program, _table(op, "erase", values.erase, images), _table(op, "mix", values.mix, images)
    rows = ("mean", values.mean), ("std", values.std)
    statistics = ([] if row is None else channel_values(op, name, row) for name, row in rows)
    return *tables, *statistics, *scale_and_maximum(images.dtype, dtype), contrast


def _table(op: str, name: str, value: Any, images: Tensor) -> Tensor | None:
    """A parameter table: float32 and contiguous, on the device of `images`."""
    if value is None:
        return None
    table = constant_numbers(op, name, value)
    return on_device_of(images, table, torch.float32)


def _regions(value: Any, images: Tensor, layout: Tensor | None) -> Tensor | None:
    """The regions: int64 and contiguous, on the device of `images`, one row per image."""
    if value is None:
        return None
    regions = as_tensor(OP, "regions", value)
    if regions.is_floating_point():
        raise TypeError(f"{OP}: expected regions of whole numbers, but got {dtype_name(regions.dtype)}")
    count = images.shape[0] if layout is None else layout.shape[0]
    rows = regions.expand(count, 4) if regions.dim() == 1 and regions.shape[0] == 4 else regions
    return on_device_of(images, rows, torch.int64)


def _square(value: Any, images: Tensor) -> Tensor:
    """Matrices, as `[..., 3, 3]` where gradients need that: the operator completes those of two rows."""
    matrix = float_tensor(OP, "matrix", value)
    if matrix.dim() < 2 or matrix.shape[-2] != 2:
        return matrix
    if not torch.compiler.is_compiling() and is_plain(matrix) and is_plain(images):
        return matrix
    last = torch.zeros_like(matrix[..., :1, :])
    last[..., 0, -1] = 1
    return torch.cat((matrix, last), dim=-2)


@register_fake("augment", size=2)
def _(
    images: Tensor, layout: Tensor | None, channels: int, matrix: Tensor, size: list[int], *options: Any
) -> Tensor:
    if matrix.dim() not in (2, 3):
        raise ValueError(f"{OP}: expected matrix [N, 3, 3] or [3, 3], but got shape {list(matrix.shape)}")
    dtype, channels_last = options[-2:]
    count = images.shape[:2] if layout is None else (layout.shape[0], channels)
    return new_images(images, (*count, *size), channels_last, dtype_numbered(OP, dtype, DTYPES))


@register_fake("augment_out")
def _(*arguments: object) -> None:
    return None
