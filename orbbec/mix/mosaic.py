"""Mosaics of four images."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from orbbec.bridge.arguments import (
    Array,
    Fill,
    Images,
    Matrix,
    as_tensor,
    fill_values,
    is_channels_last,
    new_images,
    operator_input,
    size_values,
)
from orbbec.bridge.dispatch import call_operator
from orbbec.bridge.fakes import register_fake
from orbbec.bridge.gradients.pairs import add_to_pairs
from orbbec.bridge.pointwise import count_of, whole_numbers
from orbbec.bridge.spec import MixSpec, Tiles, register
from orbbec.mix.arguments import every_image, to_device

OP = "mosaic"
_FAR = 2**31


def mosaic(
    images: Images, pair_indices: Matrix, centers: Matrix, size: tuple[int, int], *, fill: Fill = 114
) -> Any:
    """Arrange four images of the batch around a center, for each output.

    The center touches the bottom-right corner of the first image, the bottom-left corner of the second, the
    top-right corner of the third and the top-left corner of the fourth. Images are not scaled; they are
    clipped to the canvas and to their quarter.

    Args:
        images: a batch of M images: `[M, C, H, W]` tensor of any strides; `[M, H, W, C]` array; or a
            variable-size `ImageBatch`. uint8, uint16, float16, bfloat16, float32 or float64; on the CPU
            or a CUDA device.
        pair_indices: whole numbers `[N, 4]`: indices of the images of each output: top left, top right,
            bottom left, bottom right; -1 fills the quarter with `fill`. On the CPU or on the device of
            `images`; on a device, any index out of range does.
        centers: whole numbers `[N, 2]`, or `[2]` for all: x and y of the first pixel of the fourth image. On
            the CPU or on the device of `images`.
        size: `(height, width)` of the canvas in pixels, each at least 1.
        fill: value where no image lies, in pixel units: one number, or one per channel of up to 4.
            Rounded half to even and saturated for integer images.

    Returns:
        `[N, C, height, width]` of the dtype and on the device of `images`, channels last if they are; for an
        array, `[N, height, width, C]`. `mosaic_offsets` gives the positions of the images. Differentiable for
        `images`; the gradient is deterministic.

    Raises:
        TypeError: an argument is of another type or dtype.
        ValueError: a shape or an index is invalid.

    Source:
        The layout of YOLO's mosaic.

    Example:
        >>> images = torch.arange(1, 5, dtype=torch.uint8).reshape(4, 1, 1, 1)
        >>> mosaic(images, torch.tensor([[0, 1, 2, 3]]), torch.tensor([1, 2]), (4, 3), fill=0)[0, 0].tolist()
        [[0, 0, 0], [1, 2, 0], [3, 4, 0], [0, 0, 0]]
    """
    if isinstance(images, (Tensor, np.ndarray)) and images.ndim != 4:
        raise ValueError(f"{OP}: expected a batch of images, but got shape {list(images.shape)}")
    inputs = operator_input(OP, "images", images)
    index = as_tensor(OP, "pair_indices", pair_indices)
    count = index.size(0) if index.dim() == 2 else 0
    index = whole_numbers(OP, "pair_indices", index, [count, 4], -1, count_of(inputs) - 1)
    each = every_image(as_tensor(OP, "centers", centers), count, [2])
    middle = whole_numbers(OP, "centers", each, [count, 2], -_FAR, _FAR)
    output = call_operator(
        torch.ops.orbbec.mosaic.default,
        inputs.images,
        inputs.layout,
        inputs.channels,
        to_device(index, inputs),
        to_device(middle, inputs),
        size_values(OP, size),
        fill_values(OP, fill),
    )
    return inputs.restore(output)


def mosaic_offsets(sizes: Matrix, pair_indices: Matrix, centers: Matrix) -> Tensor:
    """The offsets of the images in `mosaic`, to be added to their points.

    Args:
        sizes: whole numbers `[M, 2]`: (height, width) of each image, see `ImageBatch.sizes`; or `[2]` for
            all.
        pair_indices: see `mosaic`, `[N, 4]`; the offsets of -1 are those of the last image.
        centers: see `mosaic`, `[N, 2]` or `[2]`.

    Returns:
        int64 `[N, 4, 2]`: x and y of pixel (0, 0) of each image in the output, on the device of
        `pair_indices`. A box of image `pair_indices[n, i]` moves by `offsets[n, i]` in output n, clipped to
        its quarter and the canvas.

    Raises:
        TypeError: an argument is of another type or dtype.
        ValueError: a shape is invalid.

    Example:
        >>> size, center = torch.tensor([30, 40]), torch.tensor([50, 60])
        >>> mosaic_offsets(size, torch.tensor([[0, 0, 0, 0]]), center).tolist()
        [[[10, 30], [50, 30], [10, 60], [50, 60]]]
    """
    index = as_tensor("mosaic_offsets", "pair_indices", pair_indices)
    count = index.size(0) if index.dim() == 2 else 0
    index = whole_numbers("mosaic_offsets", "pair_indices", index, [count, 4], -1, _FAR)
    table = as_tensor("mosaic_offsets", "sizes", sizes)
    table = whole_numbers("mosaic_offsets", "sizes", table, [*table.shape[:-1], 2], 0, _FAR).to(index.device)
    each = every_image(as_tensor("mosaic_offsets", "centers", centers), count, [2])
    middle = whole_numbers("mosaic_offsets", "centers", each, [count, 2], -_FAR, _FAR).to(index.device)
    of_images = table[index] if table.dim() == 2 else table.expand(count, 4, 2)
    before = torch.tensor([[1, 1], [0, 1], [1, 0], [0, 0]], device=index.device)
    return middle[:, None] - of_images.flip(-1) * before


@register_fake("mosaic", pair_indices=2, size=2)
def _(
    images: Tensor,
    layout: Tensor | None,
    channels: int,
    pair_indices: Tensor,
    centers: Tensor,
    size: list[int],
    fill: list[float],
) -> Tensor:
    if layout is None:
        channels = images.size(1)
    elif images.dtype != torch.uint8:
        raise ValueError(f"mosaic: expected uint8 for variable-size images, but got {images.dtype}")
    return new_images(images, (pair_indices.size(0), channels, *size), is_channels_last(images, layout))


def _setup(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(inputs[3], inputs[4])
    ctx.shape = inputs[0].shape


def _backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    pair_indices, centers = ctx.saved_tensors
    count, channels, height, width = ctx.shape
    rows = max(count, pair_indices.size(0))
    missing = rows - pair_indices.size(0)
    x, y = centers.clamp(-_FAR, _FAR).unsqueeze(-1).unbind(1)
    sums = gradient.new_zeros((rows, channels, height, width))
    for quarter in range(4):
        top = y if quarter in (2, 3) else y - height
        left = x if quarter in (1, 3) else x - width
        part = _at(gradient, 2, top + torch.arange(height, device=y.device))
        part = _at(part, 3, left + torch.arange(width, device=x.device))
        part = pad(part, (0, 0, 0, 0, 0, 0, 0, missing))
        sums = add_to_pairs(sums, part, pad(pair_indices[:, quarter], (0, missing), value=-1))
    return sums[:count], *[None] * 6


def _at(values: Tensor, axis: int, positions: Tensor) -> Tensor:
    """The rows (axis 2) or columns (axis 3) of `[N, C, H, W]` at `positions` `[N, K]`; zeros outside."""
    positions = positions[:, None, :, None] if axis == 2 else positions[:, None, None, :]
    last = values.size(axis) - 1
    found = torch.take_along_dim(values, positions.clamp(0, last), axis)
    return torch.where((positions >= 0) & (positions <= last), found, torch.zeros_like(found))


torch.library.register_autograd("orbbec::mosaic", _backward, setup_context=_setup)


def _tiles(table: Mapping[str, Array], sizes: Array, outputs: Array) -> Tiles:
    (x, y), (height, width), zero = table["centers"].T, outputs.T, 0 * outputs[:, 0]
    quarters = ((zero, zero, x, y), (x, zero, width, y), (zero, y, x, height), (x, y, width, height))
    boxes = np.array(quarters, np.int64).transpose(2, 0, 1).reshape(-1, 4)
    columns = (sizes, table["pair_indices"], table["centers"])
    offsets = mosaic_offsets(*map(torch.from_numpy, columns)).numpy().reshape(-1, 2)
    return Tiles(table["pair_indices"].reshape(-1), boxes, offsets)


register(MixSpec(call=mosaic, tiles=_tiles))
