"""ImageBatch: variable-size images in one tensor.

The bytes of a batch of N images, every section at a multiple of 64 bytes::

    pixels of image 0 | ... | pixels of image N - 1 | layout table | plan buffer
    uint8 [H, W, C]                                   int64 [N, 3]   uint8

A row of the layout table is (offset, height, width): offset in bytes, size in pixels.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, overload

import numpy as np
import numpy.typing as npt
import torch
from torch.utils.data import get_worker_info

from orbbec.batch.stored_batch import StoredBatch
from orbbec.bridge.arguments import dtype_name, size_text
from orbbec.bridge.buffer_pool import BUFFER_POOL
from orbbec.bridge.forked import check_not_forked
from orbbec.bridge.plain import shown

_ALIGNMENT = 64  # bytes: a cache line, and the widest vector load
_ROW_BYTES = 24  # of the layout table: three int64
_DEFAULT_CHANNELS = 3  # for a batch without images


@dataclass(frozen=True, eq=False, repr=False)
class ImageBatch(StoredBatch):
    """Variable-size images, uint8 ``[H, W, C]``, in one tensor that is copied to a device at once.

    Made by :meth:`from_images` and :meth:`from_tensor`. Sizes and offsets are also kept on the host, so that
    reading them never waits for the device.

    Args:
        storage: uint8, flat: the pixels, the layout table and the plan buffer.
        host_layout: int64 ``[N, 3]`` on the CPU: a copy of the layout table.
        channels: number of channels of every image.
        pixel_bytes: offset of the layout table in ``storage``.
        plan_bytes: length of the plan buffer at the end of ``storage``.
        first: first row of this batch in the layout table of ``storage``; above 0 for a slice.

    Example:
        >>> batch = ImageBatch.from_images([np.zeros((2, 3, 3), np.uint8), np.ones((5, 4, 3), np.uint8)])
        >>> batch
        ImageBatch(2 images, channels=3, sizes=2..5 x 3..4, device=cpu)
        >>> batch.sizes.tolist(), batch.offsets.tolist()
        ([[2, 3], [5, 4]], [0, 64])
        >>> batch[1].shape
        torch.Size([5, 4, 3])
    """

    host_layout: torch.Tensor
    channels: int
    pixel_bytes: int
    plan_bytes: int = 0
    first: int = 0

    @classmethod
    def from_images(
        cls,
        images: Sequence[npt.NDArray[np.uint8] | torch.Tensor],
        *,
        channels: int | None = None,
        pin_memory: bool = False,
        plan_bytes: int = 0,
    ) -> ImageBatch:
        """Copy images into a batch on the CPU.

        In a DataLoader worker the batch is allocated in shared memory, so that it can be sent without a copy.

        Args:
            images: uint8 arrays or CPU tensors ``[H, W, C]`` or ``[H, W]`` (1 channel), any strides. Channels
                are last for tensors too; permute ``[C, H, W]`` tensors. 3 or 4 rows of many channels are
                refused, unless their number is stated.
            channels: the number of channels; None: that of the first image, or 3 without images.
            pin_memory: allocate page-locked memory, which allows asynchronous copies to CUDA.
            plan_bytes: length of the plan buffer in bytes.

        Returns:
            A batch of ``len(images)`` images, in order.

        Raises:
            TypeError: an image is not an array or tensor, or not uint8.
            ValueError: an image has a wrong rank, no pixels, other channels than the first, or is not on the
                CPU.
            RuntimeError: ``pin_memory`` in a forked worker, or without an accelerator.
        """
        if pin_memory:
            check_not_forked("ImageBatch.from_images")
        if not isinstance(images, Iterable):
            raise TypeError(f"ImageBatch.from_images: expected images as a sequence, but got {shown(images)}")
        arrays = [_as_array(index, image) for index, image in enumerate(images)]
        sizes, channels = _read_shapes(arrays, channels)
        batch = _allocate(sizes, channels, plan_bytes, lambda nbytes: empty_on_host(nbytes, pin_memory))
        pixels = batch.buffer.numpy()
        for array, offset in zip(arrays, batch.offsets.tolist(), strict=True):
            pixels[offset : offset + array.size].reshape(array.shape)[...] = array
        return batch

    @classmethod
    def of_sizes(
        cls,
        sizes: Sequence[tuple[int, int]],
        channels: int,
        *,
        empty: Callable[[int], torch.Tensor] | None = None,
    ) -> ImageBatch:
        """Make an uninitialized batch, for example for a decoder.

        Args:
            sizes: height and width of each image in pixels, at least 1.
            channels: number of channels of every image.
            empty: allocates a flat uint8 tensor of a number of bytes; None: allocate like `from_images`.

        Returns:
            A batch of ``len(sizes)`` images.

        Raises:
            ValueError: a side is negative, there are no channels, or the batch would have 2^62 bytes.

        Example:
            >>> batch = ImageBatch.of_sizes([(2, 3), (5, 4)], channels=3)
            >>> batch[1].fill_(7)[0, 0].tolist()
            [7, 7, 7]
        """
        check_sizes("ImageBatch.of_sizes", sizes, channels)
        return _allocate(sizes, channels, 0, empty or empty_on_host)

    @classmethod
    def from_tensor(cls, images: torch.Tensor, *, plan_bytes: int = 0) -> ImageBatch:
        """Copy images of one size into a batch on their device.

        Args:
            images: uint8 ``[N, C, H, W]``, any strides; on the CPU or a CUDA device.
            plan_bytes: length of the plan buffer in bytes.

        Returns:
            A batch of N images.

        Raises:
            TypeError: ``images`` is not a tensor, or not uint8.
            ValueError: the shape is invalid.

        Example:
            >>> ImageBatch.from_tensor(torch.zeros(8, 3, 5, 7, dtype=torch.uint8))
            ImageBatch(8 images, channels=3, sizes=5x7, device=cpu)
        """
        if not isinstance(images, torch.Tensor):
            raise TypeError(
                f"ImageBatch.from_tensor: expected a torch.Tensor, but got {type(images).__name__}"
            )
        dtype = dtype_name(images.dtype)
        if dtype != "uint8":
            raise TypeError(f"ImageBatch.from_tensor: expected images of uint8, but got {dtype}")
        if images.dim() != 4 or 0 in images.shape[1:]:
            shape = list(images.shape)
            raise ValueError(
                f"ImageBatch.from_tensor: expected images of shape [N, C, H, W] with pixels, but got {shape}"
            )
        count, channels, height, width = images.shape
        empty = empty_on_host if images.device.type == "cpu" else images.new_empty
        batch = _allocate([(height, width)] * count, channels, plan_bytes, empty)
        if count > 0:
            rows = batch.buffer.view(count, -1)[:, : height * width * channels]
            rows.view(count, height, width, channels).copy_(images.permute(0, 2, 3, 1))
        return batch

    @property
    def buffer(self) -> torch.Tensor:
        """The pixels: uint8, flat, in the memory of ``storage``."""
        return self._cached("_buffer", lambda: self.storage[: self.pixel_bytes])

    @property
    def layout(self) -> torch.Tensor:
        """The table of (offset, height, width): int64 ``[N, 3]``, in the memory of ``storage``."""
        return self._cached("_layout", self._new_layout)

    def _new_layout(self) -> torch.Tensor:
        begin = self.pixel_bytes + _ROW_BYTES * self.first
        return self.storage[begin : begin + _ROW_BYTES * len(self)].view(torch.int64).view(-1, 3)

    @property
    def plan(self) -> torch.Tensor:
        """The plan buffer: uint8 ``[plan_bytes]``, in the memory of ``storage``."""
        return self.storage[self.storage.numel() - self.plan_bytes :]

    @property
    def sizes(self) -> torch.Tensor:
        """The sizes (height, width) in pixels: int64 ``[N, 2]``, always on the CPU."""
        return self.host_layout[:, 1:]

    @property
    def offsets(self) -> torch.Tensor:
        """The offset of each image in ``buffer``, in bytes: int64 ``[N]``, always on the CPU."""
        return self.host_layout[:, 0]

    def with_pixels(self, pixels: torch.Tensor, channels: int) -> ImageBatch:
        """A batch with the layout of this one and other pixels.

        Args:
            pixels: uint8, flat, as long as `buffer`, on its device; they are copied.
            channels: number of channels of every image; at most that of this batch.

        Returns:
            A batch with the layout table and the plan of this one.

        Raises:
            ValueError: the pixels or the channels are invalid.
        """
        if pixels.dtype != torch.uint8 or pixels.shape != self.buffer.shape:
            raise ValueError(f"ImageBatch.with_pixels: expected uint8 pixels of shape [{self.pixel_bytes}]")
        if not 1 <= channels <= self.channels:
            raise ValueError(
                f"ImageBatch.with_pixels: expected from 1 to {self.channels} channels, but got {channels}"
            )
        return self.in_storage(torch.cat((pixels, self.storage[self.pixel_bytes :])), channels)

    def in_storage(self, storage: torch.Tensor, channels: int) -> ImageBatch:
        """A batch of the sizes of this one in the given memory, which has the tables; see `with_pixels`."""
        return ImageBatch(storage, self.host_layout, channels, self.pixel_bytes, self.plan_bytes, self.first)

    def images(self) -> list[torch.Tensor]:
        """The images: uint8 ``[H, W, C]`` on the device of the batch, sharing its memory."""
        buffer, channels = self.buffer, self.channels
        return [
            buffer[offset : offset + height * width * channels].view(height, width, channels)
            for offset, height, width in self.host_layout.tolist()
        ]

    def numpy(self) -> list[npt.NDArray[np.uint8]]:
        """The images as arrays ``[H, W, C]``, sharing the memory of a batch on the CPU."""
        return [image.numpy() for image in self.to("cpu").images()]

    def __len__(self) -> int:
        return len(self.host_layout)

    def __iter__(self) -> Iterator[torch.Tensor]:
        return iter(self.images())

    @overload
    def __getitem__(self, index: int) -> torch.Tensor: ...
    @overload
    def __getitem__(self, index: slice) -> ImageBatch: ...
    def __getitem__(self, index: int | slice) -> torch.Tensor | ImageBatch:
        """One image, uint8 ``[H, W, C]``, or a slice of step 1; both share the memory of the batch."""
        if isinstance(index, slice):
            return self._slice(index)
        try:
            position = operator.index(index)
        except TypeError:
            raise TypeError(f"ImageBatch: expected an index or a slice, but got {shown(index)}") from None
        if not -len(self) <= position < len(self):
            raise IndexError(f"ImageBatch: index {position} is out of range for {len(self)} images")
        offset, height, width = self.host_layout[position].tolist()
        return self.storage[offset : offset + height * width * self.channels].view(
            height, width, self.channels
        )

    def _slice(self, index: slice) -> ImageBatch:
        start, stop, step = index.indices(len(self))
        if step != 1:
            raise ValueError(f"ImageBatch: expected a slice of step 1, but got step {step}")
        return replace(self, host_layout=self.host_layout[start:stop], first=self.first + start)

    def __reduce__(self) -> tuple[Callable[..., ImageBatch], tuple[Any, ...]]:
        """Pickle as one tensor and a few numbers; between processes the tensor uses shared memory."""
        numbers = (len(self), self.channels, self.pixel_bytes, self.plan_bytes, self.first)
        return _rebuild, (self.storage, *numbers)

    def __repr__(self) -> str:
        sizes = size_text(self.sizes.numpy()) if len(self) else "none"
        described = f"channels={self.channels}, sizes={sizes}, device={self.device}"
        return f"ImageBatch({len(self)} images, {described})"


def _rebuild(
    storage: torch.Tensor, count: int, channels: int, pixel_bytes: int, plan_bytes: int, first: int
) -> ImageBatch:
    host_layout = torch.empty(count, 3, dtype=torch.int64, device="cpu")
    batch = ImageBatch(storage, host_layout, channels, pixel_bytes, plan_bytes, first)
    batch.host_layout.copy_(batch.layout)
    return batch


def _as_array(index: int, image: npt.NDArray[np.uint8] | torch.Tensor) -> npt.NDArray[np.uint8]:
    if isinstance(image, np.ndarray) and image.dtype == np.uint8:
        return image
    if isinstance(image, torch.Tensor) and image.dtype == torch.uint8 and image.device.type == "cpu":
        return image.numpy()
    if not isinstance(image, (np.ndarray, torch.Tensor)):
        kind = type(image).__name__
        raise TypeError(f"ImageBatch.from_images: expected arrays or tensors, but image {index} is a {kind}")
    dtype = dtype_name(image.dtype)
    if dtype != "uint8":
        raise TypeError(f"ImageBatch.from_images: expected images of uint8, but image {index} is {dtype}")
    where = image.device
    raise ValueError(f"ImageBatch.from_images: expected images on the CPU, but image {index} is on {where}")


def looks_channels_first(array: npt.NDArray[Any]) -> bool:
    """Whether an array seems to be `[3, H, W]`: few rows, and more channels than they are likely to have."""
    return array.ndim > 2 and array.shape[-3] in (3, 4) and array.shape[-2] > 8 and array.shape[-1] > 16


def _read_shapes(
    arrays: Sequence[npt.NDArray[np.uint8]], channels: int | None
) -> tuple[list[tuple[int, int]], int]:
    """The sizes (height, width) and the common number of channels."""
    sizes = []
    for index, array in enumerate(arrays):
        shape = array.shape
        if len(shape) not in (2, 3) or 0 in shape:
            raise ValueError(
                "ImageBatch.from_images: expected images of shape [H, W, C] or [H, W] with pixels, "
                f"but image {index} has {list(shape)}"
            )
        if channels is None and looks_channels_first(array):
            raise ValueError(
                f"ImageBatch.from_images: expected images of shape [H, W, C], but image {index} has "
                f"{list(shape)}, which looks like [C, H, W]; permute it"
            )
        depth = shape[2] if len(shape) == 3 else 1
        channels = depth if channels is None else channels
        if depth != channels:
            raise ValueError(
                f"ImageBatch.from_images: expected images of shape [H, W, {channels}], "
                f"but image {index} has {list(shape)}"
            )
        sizes.append(shape[:2])
    channels = _DEFAULT_CHANNELS if channels is None else channels
    if channels < 1:
        raise ValueError(f"ImageBatch.from_images: expected at least 1 channel, but got {channels}")
    return sizes, channels


def check_sizes(op: str, sizes: Sequence[tuple[int, int]], channels: int) -> None:
    """Refuse negative sides, no channels, and 2^62 bytes, which would wrap in a layout table."""
    sides = np.array(sizes, np.float64).reshape(-1, 2)
    if channels < 1 or sides.min(initial=0) < 0 or channels * sides.prod(1).sum() >= 2**62:
        raise ValueError(
            f"{op}: expected sides of at least 0, channels of at least 1 and less than 2^62 bytes, "
            f"but got sizes {size_text(np.array(sizes, object))} and {channels} channels"
        )


def _allocate(
    sizes: Sequence[tuple[int, int]], channels: int, plan_bytes: int, empty: Callable[[int], torch.Tensor]
) -> ImageBatch:
    """Allocate a batch with its layout table and uninitialized pixels."""
    if plan_bytes < 0:
        raise ValueError(f"ImageBatch: expected plan_bytes of at least 0, but got {plan_bytes}")
    sides = np.array(sizes, np.int64).reshape(-1, 2)
    table, pixel_bytes = packed(sides, sides[:, 0] * sides[:, 1] * channels)
    storage = empty(rounded_up(pixel_bytes + _ROW_BYTES * len(sizes)) + plan_bytes)
    batch = ImageBatch(storage, torch.from_numpy(table), channels, pixel_bytes, plan_bytes)
    batch.layout.copy_(batch.host_layout, non_blocking=True)
    return batch


def packed(sizes: npt.NDArray[np.int64], nbytes: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], int]:
    """The layout table of consecutive images of the given bytes, and their total bytes."""
    table = np.zeros((len(sizes), 3), np.int64)
    table[:, 1:] = sizes
    ends = np.cumsum(rounded_up(nbytes))
    table[1:, 0] = ends[:-1]
    return table, int(ends[-1]) if len(sizes) else 0


def empty_on_host(nbytes: int, pin_memory: bool = False) -> torch.Tensor:
    """Uninitialized bytes; in shared memory in a DataLoader worker."""
    if pin_memory:
        return torch.empty(nbytes, dtype=torch.uint8, device="cpu", pin_memory=True)
    if nbytes and get_worker_info() is not None:
        shared = torch.UntypedStorage._new_shared(nbytes)  # type: ignore[no-untyped-call]
        return torch.empty(0, dtype=torch.uint8, device="cpu").set_(shared)
    return BUFFER_POOL.empty([nbytes])


_Bytes = TypeVar("_Bytes", int, npt.NDArray[np.int64])


def rounded_up(nbytes: _Bytes) -> _Bytes:
    """Rounded up to a multiple of 64, where a section begins."""
    return -(-nbytes // _ALIGNMENT) * _ALIGNMENT
