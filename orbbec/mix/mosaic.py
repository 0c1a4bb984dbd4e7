"""Mosaics of four or nine images."""

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
    channel_values,
    is_channels_last,
    new_images,
    operator_input,
    size_values,
)
from orbbec.bridge.buffer_pool import pooled_output
from orbbec.bridge.dispatch import call_into
from orbbec.bridge.fakes import register_fake, register_out_fake
from orbbec.bridge.gradients.pairs import add_to_pairs
from orbbec.bridge.pointwise import count_of, whole_numbers
from orbbec.bridge.spec import MixSpec, Tiles, register
from orbbec.mix.arguments import every_image, to_device

OP = "mosaic"
_FAR = 2**31


def mosaic(
    images: Images,
    pair_indices: Matrix,
    centers: Matrix,
    size: tuple[int, int],
    *,
    fill: Fill = 114,
    regions: Matrix | None = None,
) -> Any:
    """Arrange four or nine images of the batch around a center, for each output.

    Of four images, the center touches the bottom-right corner of the first, the bottom-left corner of the
    second, the top-right corner of the third and the top-left corner of the fourth. Of nine, the first begins
    at the center. The others lie around it clockwise: two above it, from its left edge to the right; two on
    its right, from its top edge down; two below it, from its right edge to the left; two on its left, from
    its bottom edge up. Images are not scaled; they are clipped to the canvas.

    Args:
        images: a batch of M images: `[M, C, H, W]` tensor of any strides; `[M, H, W, C]` array; or a
            variable-size `ImageBatch`. uint8, uint16, float16, bfloat16, float32 or float64; on the CPU
            or a CUDA device.
        pair_indices: whole numbers `[N, 4]`: indices of the images of each output: top left, top right,
            bottom left, bottom right; or `[N, 9]`. -1 is an image without pixels. On the CPU or on the device
            of `images`; on a device, any index out of range is.
        centers: whole numbers `[N, 2]`, or `[2]` for all: x and y of the first pixel of the fourth image, or
            of the first of nine. On the CPU or on the device of `images`.
        size: `(height, width)` of the canvas in pixels, each at least 1.
        fill: value where no image lies, in pixel units: one number, or one per channel of up to 4.
            Rounded half to even and saturated for integer images.
        regions: whole numbers `[N, 4]`, or `[4]` for all: left, top, right, bottom of the part of each output
            that is needed, clipped to it. On the CPU the rest is not written. None: all of it.

    Returns:
        `[N, C, height, width]` of the dtype and on the device of `images`, channels last if they are; for an
        array, `[N, height, width, C]`. `mosaic_offsets` gives the positions of the images. Differentiable for
        `images`; the gradient is deterministic.

    Raises:
        TypeError: an argument is of another type or dtype.
        ValueError: a shape or an index is invalid.

    Source:
        The layouts of YOLO's mosaics.

    Example:
        >>> images = torch.arange(1, 5, dtype=torch.uint8).reshape(4, 1, 1, 1)
        >>> mosaic(images, torch.tensor([[0, 1, 2, 3]]), torch.tensor([1, 2]), (4, 3), fill=0)[0, 0].tolist()
        [[0, 0, 0], [1, 2, 0], [3, 4, 0], [0, 0, 0]]
    """
    if isinstance(images, (Tensor, np.ndarray)) and images.ndim != 4:
        raise ValueError(f"{OP}: expected a batch of images, but got shape {list(images.shape)}")
    inputs = operator_input(OP, "images", images)
    index = _indices(OP, pair_indices, count_of(inputs) - 1)
    middle = _numbers(OP, "centers", centers, len(index), 2)
    tables = to_device(index, inputs), to_device(middle, inputs)
    options = size_values(OP, size), channel_values(OP, "fill", fill)
    parts = None if regions is None else to_device(_numbers(OP, "regions", regions, len(index), 4), inputs)
    arguments = inputs.images, inputs.layout, inputs.channels, *tables, *options, parts
    channels = inputs.images.size(1) if inputs.layout is None else inputs.channels
    is_last = is_channels_last(inputs.images, inputs.layout)
    shape = len(index), channels, *options[0]
    buffer = pooled_output(shape, inputs.images.dtype, is_last, inputs.images, *tables)
    return inputs.restore(call_into(OP, buffer, *arguments))


def mosaic_offsets(sizes: Matrix, pair_indices: Matrix, centers: Matrix) -> Tensor:
    """The offsets of the images in `mosaic`, to be added to their points.

    Args:
        sizes: whole numbers `[M, 2]`: (height, width) of each image, see `ImageBatch.sizes`; or `[2]` for
            all.
        pair_indices: see `mosaic`, `[N, 4]` or `[N, 9]`.
        centers: see `mosaic`, `[N, 2]` or `[2]`.

    Returns:
        int64 `[N, 4, 2]` or `[N, 9, 2]`: x and y of pixel (0, 0) of each image in the output, on the device
        of `pair_indices`. A box of image `pair_indices[n, i]` moves by `offsets[n, i]` in output n, clipped
        to the canvas. Of -1, the position of an image without pixels.

    Raises:
        TypeError: an argument is of another type or dtype.
        ValueError: a shape is invalid.

    Example:
        >>> size, center = torch.tensor([30, 40]), torch.tensor([50, 60])
        >>> mosaic_offsets(size, torch.tensor([[0, 0, 0, 0]]), center).tolist()
        [[[10, 30], [50, 30], [10, 60], [50, 60]]]
    """
    index = _indices("mosaic_offsets", pair_indices, _FAR)
    table = as_tensor("mosaic_offsets", "sizes", sizes)
    table = whole_numbers("mosaic_offsets", "sizes", table, [*table.shape[:-1], 2], 0, _FAR).to(index.device)
    middle = _numbers("mosaic_offsets", "centers", centers, len(index), 2).to(index.device)
    return _offsets(_sizes_of(table, index), middle)


def _indices(op: str, pair_indices: Matrix, last: int) -> Tensor:
    index = as_tensor(op, "pair_indices", pair_indices)
    count, tiles = index.shape if index.dim() == 2 else (0, 4)
    return whole_numbers(op, "pair_indices", index, [count, 9 if tiles == 9 else 4], -1, last)


def _numbers(op: str, name: str, values: Matrix, count: int, width: int) -> Tensor:
    each = every_image(as_tensor(op, name, values), count, [width])
    return whole_numbers(op, name, each, [count, width], -_FAR, _FAR)


def _sizes_of(sizes: Tensor, index: Tensor) -> Tensor:
    """(height, width) of each tile, `[N, K, 2]`; zeros without an image."""
    each = sizes[index] if sizes.dim() == 2 else sizes.expand(*index.shape, 2)
    return each * (index >= 0).unsqueeze(-1)


def _offsets(sizes: Tensor, centers: Tensor) -> Tensor:
    """Positions (x, y) of tiles of sizes `[N, K, 2]` around centers `[N, 2]`, as gather.h has them."""
    height, width = sizes.transpose(0, 1).unbind(-1)
    left, top = centers.unbind(-1)
    if len(width) == 4:
        columns = [left - width[0], left, left - width[2], left]
        rows = [top - height[0], top - height[1], top, top]
    else:
        right, bottom = left + width[0], top + height[0]
        columns = [left, left, left + width[1], right, right]
        columns += [right - width[5], right - width[5] - width[6], left - width[7], left - width[8]]
        rows = [top, top - height[1], top - height[2], top, top + height[3]]
        rows += [bottom, bottom, bottom - height[7], bottom - height[7] - height[8]]
    return torch.stack([torch.stack(columns, 1), torch.stack(rows, 1)], -1)


@register_fake("mosaic", pair_indices=2, size=2)
def _(
    images: Tensor,
    layout: Tensor | None,
    channels: int,
    pair_indices: Tensor,
    centers: Tensor,
    size: list[int],
    fill: list[float],
    regions: Tensor | None,
) -> Tensor:
    if layout is None:
        channels = images.size(1)
    elif images.dtype != torch.uint8:
        raise ValueError(f"mosaic: expected uint8 for variable-size images, but got {images.dtype}")
    return new_images(images, (pair_indices.size(0), channels, *size), is_channels_last(images, layout))


register_out_fake(OP, pair_indices=2, size=2)


def _setup(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(inputs[3], inputs[4])
    ctx.shape = inputs[0].shape


def _backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    pair_indices, centers = ctx.saved_tensors
    count, channels, height, width = ctx.shape
    there = (pair_indices >= 0) & (pair_indices < count)
    sizes = torch.tensor([height, width], device=centers.device) * there.unsqueeze(-1)
    left, top = _offsets(sizes, centers.clamp(-_FAR, _FAR)).unsqueeze(-1).unbind(2)
    rows = max(count, pair_indices.size(0))
    missing = rows - pair_indices.size(0)
    sums = gradient.new_zeros((rows, channels, height, width))
    for tile in range(pair_indices.size(1)):
        part = _at(gradient, 2, top[:, tile] + torch.arange(height, device=top.device))
        part = _at(part, 3, left[:, tile] + torch.arange(width, device=top.device))
        part = pad(part, (0, 0, 0, 0, 0, 0, 0, missing))
        sums = add_to_pairs(sums, part, pad(pair_indices[:, tile], (0, missing), value=-1))
    return sums[:count], *[None] * 7


def _at(values: Tensor, axis: int, positions: Tensor) -> Tensor:
    """The rows (axis 2) or columns (axis 3) of `[N, C, H, W]` at `positions` `[N, K]`; zeros outside."""
    positions = positions[:, None, :, None] if axis == 2 else positions[:, None, None, :]
    last = values.size(axis) - 1
    found = torch.take_along_dim(values, positions.clamp(0, last), axis)
    return torch.where((positions >= 0) & (positions <= last), found, torch.zeros_like(found))


torch.library.register_autograd("orbbec::mosaic", _backward, setup_context=_setup)


def _tiles(table: Mapping[str, Array], sizes: Array, outputs: Array) -> Tiles:
    index, centers = (torch.from_numpy(table[name]) for name in ("pair_indices", "centers"))
    size = _sizes_of(torch.from_numpy(sizes), index)
    offsets, canvas = _offsets(size, centers), torch.from_numpy(outputs).flip(-1)[:, None]
    ends = [torch.minimum(each.clamp(min=0), canvas) for each in (offsets, offsets + size.flip(-1))]
    columns = index.reshape(-1), torch.cat(ends, -1).reshape(-1, 4), offsets.reshape(-1, 2)
    return Tiles(*(column.numpy() for column in columns))


register(MixSpec(call=mosaic, tiles=_tiles))
