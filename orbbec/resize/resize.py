"""Resizing with OpenCV's and Pillow's results."""

from collections.abc import Mapping
from functools import partial
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from orbbec._library import default_arithmetic, operators
from orbbec.bridge.arguments import (
    Array,
    Images,
    Matrix,
    OperatorInput,
    RaggedImages,
    SizedImages,
    as_tensor,
    check_no_gradient,
    dtype_name,
    flag_value,
    is_ragged,
    name_value,
    operator_input,
    operator_output,
    real_numbers,
    size_values,
)
from orbbec.bridge.dispatch import call_operator
from orbbec.bridge.fakes import register_fake
from orbbec.bridge.names import Interpolation, interpolation_name
from orbbec.bridge.plain import is_integer
from orbbec.bridge.spec import EVERY_DTYPE, OpSpec, register
from orbbec.bridge.warp import buffer_like, register_fakes


def resize(
    images: Images,
    size: int | tuple[int, int] | None,
    *,
    interpolation: Interpolation = "linear",
    antialias: bool = False,
    arithmetic: str | None = None,
    out: Images | SizedImages | None = None,
) -> Any:
    """Resize each image to one size, or to one length of its shorter side.

    Output pixel `x` is at source position `(x + 0.5) * width / size[1] - 0.5`. Without `antialias` the filter
    has the source's pixel spacing, as in OpenCV; with `antialias` it widens with the shrink factor, as in
    Pillow and torchvision.

    Args:
        images: `[N, C, H, W]` or `[C, H, W]` tensor of any strides; `[H, W]`, `[H, W, C]` or `[N, H, W, C]`
            array; or an `ImageBatch`. uint8, uint16, float16, bfloat16, float32 or float64; on the CPU or a
            CUDA device.
        size: output `(height, width)` in pixels, each at least 1; or one number for the shorter side, with
            the longer side `size * longer // shorter`. None if `out` is an `ImageBatch`.
        interpolation: "nearest", "nearest_exact", "linear", "linear_exact", "cubic", "area" (the mean, when
            shrinking) or "lanczos4"; with `antialias`: "box", "linear", "hamming", "cubic" or "lanczos4".
            Also torchvision's and Pillow's names ("bilinear", "bicubic", "lanczos"), their enumerations, and
            the values of `cv2.INTER_*`.
        antialias: use Pillow's filters instead of OpenCV's. Channels are independent; none is treated as
            alpha. With "hamming", about 2 of a million values of uint16 differ from Pillow's by 1, where its
            sine has another last bit.
        arithmetic: "cv2_5" or "cv2_4", which differ for nearest_exact only; with `antialias` "pillow_13" or
            "pillow_12", which process the axes in another order when the height shrinks much more. None: the
            package's default, see `set_default_arithmetic`, and "pillow_13".
        out: output buffer with the shape, dtype and device of the result, sharing no memory with `images`;
            or an `ImageBatch`, to whose sizes uint8 images are resized.

    Returns:
        Images of `size`, the kind and dtype of `images`, on their device; channels last if `images` are. An
        `ImageBatch` gives a `[N, C, height, width]` tensor, or another `ImageBatch` if `size` is one number.
        `out` if given. An empty image gives zeros.

    Raises:
        TypeError: an argument has an unsupported type or dtype.
        ValueError: a shape, size or name is invalid.

    Source:
        `cv::resize` of OpenCV 5.0.0 and 4.12.0 without Intel's IPP; `PIL.Image.resize`.

    Example:
        >>> image = torch.tensor([[[0, 100, 200, 40]]], dtype=torch.uint8)
        >>> resize(image, (1, 2)).flatten().tolist()
        [50, 120]
        >>> resize(image, (1, 2), antialias=True).flatten().tolist()
        [71, 117]
        >>> resize(torch.zeros(3, 40, 60), 20).shape
        torch.Size([3, 20, 30])
    """
    if not is_integer(size):
        return _call(images, None, size, interpolation, antialias, arithmetic, out)
    if is_ragged(images):
        if out is not None:
            raise ValueError("resize: expected size as (height, width) for an ImageBatch with out=")
        result = _batch_of_shorter_side(images, size)
        return _call(images, None, None, interpolation, antialias, arithmetic, result)
    shape = _shorter_side(size, *operator_input("resize", "images", images).images.shape[-2:])
    return _call(images, None, shape, interpolation, antialias, arithmetic, out)


def _shorter_side(side: Any, height: Any, width: Any) -> tuple[Any, Any]:
    """The (height, width) after resizing the shorter side to `side`; also for empty images."""
    if side < 1:
        raise ValueError(f"resize: expected size of at least 1 pixel, but got {side}")
    if height < width:
        return side, side * width // height if height else side
    return side * height // width if width else side, side


def _batch_of_shorter_side(batch: Any, side: Any) -> Any:
    """An uninitialized ImageBatch of the images of `batch` with this shorter side."""
    sizes = [_shorter_side(side, *size) for size in batch.sizes.tolist()]
    empty = (
        None if batch.device.type == "cpu" else partial(torch.empty, dtype=torch.uint8, device=batch.device)
    )
    return batch.of_sizes(sizes, batch.channels, empty=empty)


def resized_crop(
    images: Images,
    boxes: Matrix,
    size: tuple[int, int] | None,
    *,
    interpolation: Interpolation = "linear",
    antialias: bool = False,
    arithmetic: str | None = None,
    flips: Matrix | None = None,
    out: Images | SizedImages | None = None,
) -> Any:
    """Crop a box of each image and resize it to one size.

    Without `antialias` the box is rounded half to even to whole pixels, cropped and resized. With `antialias`
    box edges may lie between pixels, and the filters read beyond the box, as in Pillow.

    Args:
        images: see `resize`.
        boxes: float32, float64 or integers `[N, 4]`, or `[4]` for all images: `x0, y0, x1, y1` in pixels,
            from corner (0, 0); on the CPU or on the device of `images`. Boxes are clipped to the image; an
            empty or NaN box gives zeros.
        size: (height, width) in pixels, each at least 1. None if `out` is an `ImageBatch`.
        interpolation: see `resize`.
        antialias: see `resize`.
        arithmetic: see `resize`.
        flips: bool `[N]`: the results to flip left to right at the end; None: none.
        out: see `resize`.

    Returns:
        See `resize`.

    Raises:
        TypeError: see `resize`.
        ValueError: see `resize`.

    Source:
        `cv::resize` of a slice of an image; `PIL.Image.resize` with `box=`.

    Example:
        >>> image = torch.arange(8, dtype=torch.uint8).reshape(1, 1, 8)
        >>> resized_crop(image, torch.tensor([2, 0, 6, 1]), (1, 2)).flatten().tolist()
        [3, 5]
    """
    regions = real_numbers("resized_crop", "boxes", boxes)
    return _call(images, regions, size, interpolation, antialias, arithmetic, out, flips)


def _call(
    images: Any,
    boxes: Tensor | None,
    size: Any,
    interpolation: Any,
    antialias: bool,
    arithmetic: str | None,
    out: Any,
    flips: Any = None,
) -> Any:
    op = "resize" if boxes is None else "resized_crop"
    inputs = operator_input(op, "images", images)
    options = interpolation, antialias, arithmetic
    if is_ragged(out):
        batch = _checked_batch(op, inputs, size, out)
        sources, filters = _sources(inputs, boxes), _filters(op, images, inputs, options, flips)
        operators.resize_each(*sources, *filters, batch.buffer, batch.layout, batch.host_layout)
        return out
    arguments = resize_arguments(op, images, inputs, boxes, size, options, flips)
    if out is None:
        buffer = buffer_like(inputs, arguments[4], boxes)
        if buffer is None:
            return inputs.restore(call_operator(operators.resize, *arguments))
        operators.resize_out(*arguments, buffer)
        return inputs.restore(buffer)
    target = operator_output(op, out)
    check_no_gradient(op, inputs.images, target.images)
    operators.resize_out(*arguments, target.images)
    return out


def _checked_batch(op: str, inputs: OperatorInput, size: Any, out: RaggedImages) -> SizedImages:
    """The ImageBatch of the results, if it fits."""
    if size is not None:
        raise ValueError(f"{op}: expected size None, since out is an ImageBatch, but got {size}")
    pixels = inputs.images
    if pixels.dtype != torch.uint8:
        raise TypeError(
            f"{op}: expected images of uint8 for an ImageBatch, but got {dtype_name(pixels.dtype)}"
        )
    channels = pixels.shape[1] if inputs.layout is None else inputs.channels
    if out.channels != channels:
        raise ValueError(f"{op}: expected out of {channels} channels, but got {out.channels}")
    return cast(SizedImages, out)


def resize_arguments(
    op: str,
    images: Any,
    inputs: OperatorInput,
    boxes: Tensor | None,
    size: Any,
    options: tuple[Any, bool, str | None],
    flips: Any,
) -> tuple[Any, ...]:
    """The operator's arguments, in its order.

    Args:
        op: for messages.
        images: what the user passed.
        inputs: the same as a tensor.
        boxes: see `resized_crop`.
        size: see `resize`.
        options: interpolation, antialias and arithmetic, see `resize`.
        flips: see `resized_crop`.
    """
    sources, filters = _sources(inputs, boxes), _filters(op, images, inputs, options, flips)
    return *sources, size_values(op, size), *filters


def _sources(inputs: OperatorInput, boxes: Tensor | None) -> tuple[Any, ...]:
    count = inputs.images.shape[0] if inputs.layout is None else inputs.layout.shape[0]
    rows = None if boxes is None else _box_rows(boxes, count)
    return inputs.images, inputs.layout, inputs.channels, rows


def _filters(
    op: str, images: Any, inputs: OperatorInput, options: tuple[Any, bool, str | None], flips: Any
) -> tuple[Any, ...]:
    interpolation, antialias, arithmetic = options
    antialias = flag_value(op, "antialias", antialias)
    if arithmetic is None:
        arithmetic = "pillow_13" if antialias else default_arithmetic()
    return (
        _method(op, interpolation, antialias),
        antialias,
        name_value(op, "arithmetic", arithmetic),
        _longest_sides(images, inputs.layout),
        None if flips is None else _flips(op, flips, inputs.images.device),
    )


def _method(op: str, interpolation: Any, antialias: bool) -> str:
    name = interpolation_name(op, interpolation)
    return "lanczos" if antialias and name == "lanczos4" else name


def _box_rows(boxes: Tensor, count: int) -> Tensor:
    """Boxes as float64, one per image."""
    if boxes.dim() == 1 and boxes.shape[0] == 4:
        boxes = boxes.expand(count, 4)
    return boxes.detach().to(torch.float64)


def _flips(op: str, value: Any, device: torch.device) -> Tensor:
    flips = as_tensor(op, "flips", value)
    if flips.dtype != torch.bool:
        raise TypeError(f"{op}: expected flips of bool, but got {dtype_name(flips.dtype)}")
    return flips.to(device, non_blocking=True).contiguous()


def _longest_sides(images: Any, layout: Tensor | None) -> list[int]:
    """The largest height and width of variable-size images, from the host's copy if there is one."""
    if layout is None or layout.shape[0] == 0:
        return [0, 0]
    sizes = getattr(images, "sizes", None)
    if sizes is None:
        sizes = layout[:, 1:].cpu()
    height, width = sizes.amax(0).tolist()
    return [height, width]


register_fakes("resize", what="boxes")


@register_fake("resize_each")
def _(*arguments: object) -> None:
    return None


@register_fake("resize_backward", gradient=4, image_size=2)
def _(gradient: Tensor, boxes: Tensor | None, image_size: list[int], *options: object) -> Tensor:
    return gradient.new_empty((*gradient.shape[:2], *image_size))


def _keep_for_gradient(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    images, layout, _, boxes, _, interpolation, antialias, arithmetic, _, flips = inputs
    ctx.dtype = images.dtype
    ctx.image_size = list(images.shape[-2:]) if layout is None else []
    ctx.options = (interpolation, antialias, arithmetic)
    ctx.boxes, ctx.flips = boxes, flips


def _gradient(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    working = torch.float64 if ctx.dtype == torch.float64 else torch.float32
    if ctx.flips is not None:
        gradient = torch.where(ctx.flips[:, None, None, None], gradient.flip(3), gradient)
    of_images = operators.resize_backward(gradient.to(working), ctx.boxes, ctx.image_size, *ctx.options).to(
        ctx.dtype
    )
    return of_images, *(None,) * 9


torch.library.register_autograd("orbbec::resize", _gradient, setup_context=_keep_for_gradient)


def _keep_for_second_gradient(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    gradient, ctx.boxes, _, *ctx.options = inputs
    ctx.size = list(gradient.shape[-2:])


def _second_gradient(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    resized = operators.resize(gradient, None, 0, ctx.boxes, ctx.size, *ctx.options, [0, 0], None)
    return resized, *(None,) * 5


torch.library.register_autograd(
    "orbbec::resize_backward", _second_gradient, setup_context=_keep_for_second_gradient
)


_SUPPORTS = {"cubic": 2.0, "lanczos": 3.0}  # of a filter, in pixels of the smaller image; 1 of the others


def _region(
    table: Mapping[str, Array], options: Mapping[str, Any], outputs: Array, sizes: Array, least: Array | None
) -> Array:
    """The boxes, what the filters of antialias read around them, and what preserves Pillow's order."""
    boxes = table["boxes"]
    scale = (boxes[:, 2:] - boxes[:, :2]) / outputs[:, ::-1]
    supports = [_SUPPORTS.get(name, 1.0) for name in np.atleast_1d(options["interpolation"]).tolist()]
    support = np.array(supports)[table.get("which", np.zeros(len(boxes), np.int64))]
    reach = np.ceil(support[:, None] * np.maximum(scale, 1.0)) + 1
    low, high = np.floor(boxes[:, :2]) - reach, np.ceil(boxes[:, 2:]) + reach
    low, high = np.maximum(low, 0).astype(np.int64), np.minimum(high, sizes[:, ::-1]).astype(np.int64)
    if least is not None:
        low, high = np.minimum(low, least[:, :2]), np.maximum(high, least[:, 2:])
    if options["antialias"] and options.get("arithmetic") != "pillow_12":
        low, high = _in_the_same_order(low, high, outputs, sizes)
    return np.concatenate([low, high], 1)


def _in_the_same_order(low: Array, high: Array, outputs: Array, sizes: Array) -> tuple[Array, Array]:
    """Parts of images, enlarged until Pillow 13 resizes first the axis that it does for whole images.

    That is the vertical one if the height shrinks, by more than twice the pixels that the width does.
    """
    height, width = (sizes - outputs).T
    begins_vertically = (height > 0) & (height > 2 * width)
    width, height = (high - low - outputs[:, ::-1]).T
    least_width = np.where(begins_vertically | (height <= 0), width, (height + 1) // 2)
    least_height = np.where(begins_vertically, np.maximum(2 * width, 0) + 1, height)
    more = np.maximum(np.stack([least_width - width, least_height - height], 1), 0)
    left_or_above = np.minimum(more, low)
    return low - left_or_above, high + more - left_or_above


register(
    OpSpec(call=resized_crop, dtypes=EVERY_DTYPE, choice="interpolation", region=_region, takes_sizes=True)
)
