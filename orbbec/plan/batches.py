"""The images that passes exchange: one tensor, an ImageBatch, or a list."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor

from orbbec.batch import ImageBatch
from orbbec.batch.image_batch import looks_channels_first
from orbbec.bridge.arguments import (
    Array,
    copied_to,
    dtype_name,
    holds_planes,
    is_channels_last,
    is_ragged,
    on_device_of,
    operator_input,
)
from orbbec.plan.parameters import same_rows

Work: TypeAlias = Any  # Tensor [N, C, H, W], RaggedImages, or a list of tensors [C, H, W] of variable sizes


PIPELINE_DTYPES = (torch.uint8, torch.uint16, torch.float16, torch.bfloat16, torch.float32)


class Input(NamedTuple):
    """Images, and the conversion of results to the type that the user passed."""

    work: Work
    sizes: Array  # int64 [N, 2]
    channels: int
    dtype: str
    restore: Callable[[Work], Any]
    size: tuple[int, int] | None = None  # of all images, if they are one tensor
    as_planes: bool = False  # float results are [C, H, W] whatever the images are


# Images that `run` takes: a tensor [N, C, H, W] or [C, H, W], or the buffer of variable-size images with
# their layouts on its device and on the host; the number of channels and of images, at least 1; how results
# become what the user passed (None: they are returned); and whether float results are [C, H, W] whatever the
# images are.
Direct: TypeAlias = tuple[
    Tensor, Tensor | None, Tensor | None, int, int, Callable[[Tensor], Any] | None, bool
]


class Rows(NamedTuple):
    """Some images of an ImageBatch, in its buffer."""

    buffer: Tensor
    layout: Tensor
    channels: int
    sizes: Tensor  # on the host, which saves a synchronization


def read_images(images: Any) -> Input:
    """Describe images, without a copy if possible.

    Args:
        images: uint8, uint16 or float: `[N, C, H, W]` or `[C, H, W]` tensor; `[H, W]`, `[H, W, C]` or
            `[N, H, W, C]` array; ImageBatch or YCbCrBatch; or a list of tensors `[C, H, W]` or of arrays
            `[H, W, C]` or `[H, W]`.

    Raises:
        TypeError: a type or dtype is not supported; names the image.
        ValueError: a shape is invalid, or the images of a list differ in channels; names the image.
    """
    if isinstance(images, (list, tuple)):
        return _read_list(images)
    if holds_planes(images):
        return Input(images, images.sizes.numpy(), 3, "uint8", lambda work: work)
    if isinstance(images, (ImageBatch, Rows)):
        return Input(images, images.sizes.numpy(), images.channels, "uint8", lambda work: work)
    source = operator_input("Compose", "images", images, PIPELINE_DTYPES)
    _check_layout(source.images, images)
    count, channels, height, width = source.images.shape
    sizes = same_rows((height, width), count)
    name = dtype_name(source.images.dtype)
    size = int(height), int(width)
    return Input(source.images, sizes, channels, name, lambda work: _restored(work, source.restore), size)


def _restored(work: Work, restore: Callable[[Tensor], Any]) -> Any:
    return restore(work) if isinstance(work, Tensor) else work


def _read_list(images: Sequence[Any]) -> Input:
    tensors: list[Tensor] = []
    for index, image in enumerate(images):
        if not isinstance(image, (Tensor, np.ndarray)):
            raise TypeError(
                f"Compose: expected tensors or arrays, but image {index} is a {type(image).__name__}"
            )
        if image.ndim not in (2, 3) or (image.ndim == 2 and isinstance(image, Tensor)) or 0 in image.shape:
            raise ValueError(
                "Compose: expected tensors [C, H, W] or arrays [H, W, C] with pixels, "
                f"but image {index} has shape {list(image.shape)}"
            )
        tensor = operator_input("Compose", f"image {index}", image, PIPELINE_DTYPES).images[0]
        _check_layout(tensor[None], image)
        if tensors and (tensor.shape[0] != tensors[0].shape[0] or tensor.dtype != tensors[0].dtype):
            first, other = (f"{t.shape[0]} channels of {dtype_name(t.dtype)}" for t in (tensors[0], tensor))
            raise ValueError(f"Compose: expected images of {first}, but image {index} has {other}")
        tensors.append(tensor)
    if not tensors:
        raise ValueError(
            "Compose: expected at least 1 image in a list; an empty tensor or ImageBatch has a dtype"
        )
    sizes = np.array([tensor.shape[1:] for tensor in tensors], np.int64)
    channels, dtype = tensors[0].shape[0], dtype_name(tensors[0].dtype)
    work: Work = tensors
    if dtype == "uint8" and all(tensor.device.type == "cpu" for tensor in tensors):
        work = ImageBatch.from_images([tensor.permute(1, 2, 0) for tensor in tensors])
    elif len(np.unique(sizes, axis=0)) == 1:
        work = torch.stack(tensors)
    return Input(work, sizes, channels, dtype, lambda work: work)


def looks_channels_last(images: Tensor) -> bool:
    """Whether a tensor seems to be `[H, W, 3]`, its rows channels; small maps of floats have that shape."""
    channels, height, width = images.shape[-3:]
    return channels > 4 and width in (3, 4) and (images.dtype == torch.uint8 or height > 8)


def _check_layout(images: Tensor, source: Any) -> None:
    if isinstance(source, Tensor) and looks_channels_last(images):
        raise ValueError(
            f"Compose: expected a tensor [C, H, W], but got {list(source.shape)}, which looks like "
            "[H, W, C]; permute it, or give an array"
        )
    if isinstance(source, np.ndarray) and looks_channels_first(source):
        raise ValueError(
            f"Compose: expected an array [H, W, C], but got {list(source.shape)}, which looks like "
            "[C, H, W]; transpose it, or give a tensor"
        )


def as_list(work: Work) -> list[Tensor]:
    """The images as tensors `[C, H, W]`."""
    if isinstance(work, ImageBatch):
        return [image.permute(2, 0, 1) for image in work.images()]
    return list(work)


def rows_of(work: Work, rows: Array) -> Work:
    """Some of the images, in the form of `work`; variable-size tensors are a list."""
    if is_ragged(work):
        layout = work.host_layout if isinstance(work, ImageBatch) else work.layout.cpu()
        chosen = layout[torch.from_numpy(rows)]
        on_device = copied_to(work.buffer.device, chosen)
        return Rows(work.buffer, on_device, work.channels, chosen[:, 1:])
    if isinstance(work, Tensor):
        return unsigned(signed(work)[copied_to(work.device, torch.from_numpy(rows))], work.dtype)
    return torch.stack([work[row] for row in rows.tolist()])


def selected_rows(images: Tensor, rows: Tensor) -> Tensor:
    """Images of a batch, in its memory format, which `index_select` alone would lose."""
    if not is_channels_last(images, None):
        return unsigned(signed(images).index_select(0, rows), images.dtype)
    pixels = signed(images).permute(0, 2, 3, 1).index_select(0, rows).permute(0, 3, 1, 2)
    return unsigned(pixels, images.dtype)


def put_rows(target: Tensor, rows: Tensor, images: Tensor) -> Tensor:
    """Write images to rows of a batch, in place."""
    has_gradient = target.requires_grad or images.requires_grad
    if not target.is_cpu or has_gradient or torch.compiler.is_compiling():
        signed(target).index_copy_(0, rows, signed(images))
        return target
    for row, image in zip(rows.tolist(), images.unbind(), strict=True):  # index_copy_ copies value by value
        target[row].copy_(image)
    return target


def signed(images: Tensor) -> Tensor:
    """The images, with uint16 viewed as int16, which torch can index."""
    return images.view(torch.int16) if images.dtype == torch.uint16 else images


def unsigned(images: Tensor, dtype: torch.dtype) -> Tensor:
    """The inverse of `signed`; a view of a tensor's own dtype would lose the gradient."""
    return images.view(torch.uint16) if dtype == torch.uint16 else images


def one_by_one(work: Work) -> Iterator[Work]:
    """Each image as a batch of one, without a copy."""
    if not is_ragged(work):
        yield from (image[None] for image in work)
        return
    count = len(work.layout)
    whole = rows_of(work, np.arange(count))
    for n in range(count):
        row = slice(n, n + 1)
        yield Rows(whole.buffer, whole.layout[row], whole.channels, whole.sizes[row])


def repeated(work: Work, times: int) -> Work:
    """The batch repeated several times; an ImageBatch is not copied."""
    if isinstance(work, Tensor):
        return torch.cat([work] * times)
    return work * times if isinstance(work, list) else rows_of(work, np.tile(np.arange(len(work)), times))


def blended(work: Work, copies: Work, weights: Tensor) -> Work:
    """The weighted sums of images and their copies, added in order in float32; bytes are truncated.

    Args:
        work: N images.
        copies: K * N images: the first copies of all images, then the second ones, and so on.
        weights: `[N, 1 + K]`.
    """
    if isinstance(work, Tensor) and isinstance(copies, Tensor):
        count = weights.shape[1] - 1
        return _weighted_sum([work, *copies.reshape(count, *work.shape).unbind()], weights)
    images, altered, count = as_list(work), as_list(copies), len(weights)
    rows = [[images[n], *altered[n::count]] for n in range(count)]
    return merged([_weighted_sum([p[None] for p in row], weights[[n]])[0] for n, row in enumerate(rows)])


def _weighted_sum(images: Sequence[Tensor], weights: Tensor) -> Tensor:
    first = images[0]
    table = on_device_of(first, weights, torch.float32)
    total = first * table[:, 0, None, None, None]
    for k, image in enumerate(images[1:], 1):
        total += image * table[:, k, None, None, None]
    return (total.clamp_(0, 255) if first.dtype == torch.uint8 else total).to(first.dtype)


def device_of(work: Work) -> torch.device:
    """The device of images."""
    first = work[0] if isinstance(work, list) else work
    return first.device if isinstance(first, Tensor) else first.buffer.device


def merged(images: list[Tensor]) -> Work:
    """Images in one buffer if possible: a tensor if they have one size, an ImageBatch for uint8."""
    if len({image.shape for image in images}) == 1:
        return torch.stack(images)
    if all(image.dtype == torch.uint8 and image.device.type == "cpu" for image in images):
        return ImageBatch.from_images([image.permute(1, 2, 0) for image in images])
    return images


def table_rows(table: Array | Tensor, rows: Array | None = None) -> Tensor:
    """A table, or some of its rows, as a tensor."""
    if isinstance(table, Tensor):
        return table
    return torch.from_numpy(np.ascontiguousarray(table if rows is None else table[rows]))


def chosen_of(mask: Any, changed: Tensor, unchanged: Tensor) -> Tensor:
    """The images of `changed` where `mask` `[N]` is true, and those of `unchanged` elsewhere, bit for bit."""
    on_device = copied_to(changed.device, table_rows(mask))
    return torch.where(on_device[:, None, None, None], changed, unchanged)
