"""A pool of buffers on the CPU, reused once nothing refers to them.

The system clears new pages when they are first written, which takes longer for a large batch than augmenting
it. Results of operators, batches of images and intermediate results therefore come from this pool.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from math import inf, prod
from time import monotonic
from weakref import ref

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import get_worker_info

from orbbec.bridge.arguments import Array, is_channels_last, new_images, whole_value
from orbbec.bridge.dispatch import is_plain

_ALIGNMENT = 64  # bytes: a cache line, and the widest vector load
LEAST_BYTES = 2**17  # bytes: malloc reuses smaller blocks, and returns larger ones to the system
_LIMIT = 2**29  # bytes
_IDLE = 60.0  # seconds: to clear the pages of a block each minute costs little

_IN_NUMPY = {
    torch.uint8: np.uint8,
    torch.uint16: np.uint16,
    torch.float16: np.float16,
    torch.float32: np.float32,
    torch.float64: np.float64,
}
_OF_SIZE = {1: torch.uint8, 2: torch.float16, 4: torch.float32, 8: torch.float64}


class _Lent(ref):  # type: ignore[type-arg]
    """A weak reference to an array that is in use, and the block behind it.

    `since` is the time of the first request after the block became free.
    """

    __slots__ = ("memory", "since")
    memory: Array
    since: float


class BufferPool:
    """Allocates tensors on the CPU; reuses a free block if the request fills at least half of it.

    Free blocks beyond the limit return to the system at the first request after a minute without use, so
    that a loop keeps what it uses. All blocks together never exceed the most bytes that were in use at once,
    plus the limit; for that, the least recently used return first.

    Args:
        limit: bytes of free blocks to keep; 0 keeps none.

    Example:
        >>> pool = BufferPool()
        >>> first = pool.empty((1024, 1024))
        >>> address = first.data_ptr()
        >>> del first
        >>> pool.empty((1024, 1024)).data_ptr() == address
        True
    """

    def __init__(self, limit: int = _LIMIT) -> None:
        self.limit = limit
        self._most = 0  # bytes that were in use at once
        self._free: dict[int, list[_Lent]] = {}  # by size, in the order of their release
        self._blocks: dict[int, dict[int, _Lent]] = {}  # by size and id; a collected reference calls nothing

    def empty(
        self, shape: Sequence[int], dtype: torch.dtype = torch.uint8, channels_last: bool = False
    ) -> Tensor:
        """An uninitialized tensor, aligned to 64 bytes.

        `channels_last`: whether channels of `[N, C, H, W]` or `[C, H, W]` lie together.
        """
        nbytes = prod(shape) * dtype.itemsize
        if nbytes == 0:
            return torch.empty(tuple(shape), dtype=dtype, device="cpu")
        if dtype not in _IN_NUMPY:
            # Not a view: views cannot be detached in place.
            same = self.empty(shape, _OF_SIZE[dtype.itemsize], channels_last)
            empty = torch.empty(0, dtype=dtype, device="cpu")
            return empty.set_(same.untyped_storage(), 0, same.shape, same.stride())
        strides = None
        if channels_last:
            channels, height, width = shape[-3:]
            row = width * channels
            steps = (height * row, 1, row, channels)[-len(shape) :]
            strides = [step * dtype.itemsize for step in steps]
        lends = LEAST_BYTES <= nbytes <= self.limit
        memory = self._block(nbytes) if lends else _new(nbytes)
        array: Array = np.ndarray(shape, _IN_NUMPY[dtype], memory, 0, strides)
        if lends:
            self._lend(array, memory)
        return torch.from_numpy(array)

    @property
    def free_bytes(self) -> int:
        """Bytes of the free blocks."""
        return sum(size * len(blocks) for size, blocks in list(self._free.items()))

    def release(self, limit: int = 0, before: float = inf) -> None:
        """Return free blocks beyond `limit` bytes, free since before this time, to the system."""
        excess = self.free_bytes - limit
        if excess <= 0:
            return
        every = [block for blocks in list(self._free.values()) for block in list(blocks)]
        for block in sorted(every, key=lambda block: block.since):
            if excess <= 0 or block.since > before:
                return
            if self._claim(block):
                excess -= block.memory.nbytes

    def _block(self, nbytes: int) -> Array:
        size = _block_size(nbytes)
        memory, now, free = self._found(size), monotonic(), 0
        for length, blocks in list(self._free.items()):
            free += length * len(blocks)
            for block in reversed(blocks):
                if block.since < inf:
                    break
                block.since = now
        if free > self.limit:
            self.release(self.limit, now - _IDLE)
        if memory is not None:
            return memory
        lent = sum(size * len(blocks) for size, blocks in list(self._blocks.items()))
        in_use = lent - self.free_bytes + size
        self._most = max(self._most, in_use)
        self.release(self._most - in_use + self.limit)
        return _new(size)

    def _lend(self, array: Array, memory: Array) -> None:
        """Free the block once the array is collected; each tensor that shares its memory holds it."""
        size = memory.nbytes
        # The callback is not a Python function: Python would drop an interrupt that arrives in one.
        block = _Lent(array, self._free.setdefault(size, []).append)
        block.memory, block.since = memory, inf
        self._blocks.setdefault(size, {})[id(block)] = block

    def _found(self, least: int) -> Array | None:
        """The smallest free block of at least this size, at most twice; of several the last one released.

        Removing an entry of a list is atomic. A lock could deadlock: the garbage collector may interrupt its
        holder to run a finalizer that asks for memory.
        """
        for size in sorted(size for size in list(self._free) if least <= size <= 2 * least):
            try:
                block = self._free[size].pop()
            except IndexError:  # none, or another thread took it first
                continue
            del self._blocks[size][id(block)]
            return block.memory
        return None

    def _claim(self, block: _Lent) -> bool:
        """Take a free block; False if another thread took it first."""
        size = block.memory.nbytes
        try:
            self._free[size].remove(block)
        except ValueError:
            return False
        del self._blocks[size][id(block)]
        return True


def _block_size(nbytes: int) -> int:
    """At most an eighth more, so that batches of similar sizes share blocks."""
    grain = 1 << (nbytes.bit_length() - 4)
    return -(-nbytes // grain) * grain


def _new(nbytes: int) -> Array:
    # NumPy asks the system for huge pages, torch does not: page faults take half as long.
    raw = np.empty(nbytes + _ALIGNMENT, np.uint8)
    return raw[-raw.ctypes.data % _ALIGNMENT :][:nbytes]


BUFFER_POOL = BufferPool()


def pooled_output(
    shape: Sequence[int], dtype: torch.dtype, channels_last: bool, *inputs: Tensor | None
) -> Tensor | None:
    """A buffer from the pool for an operator's result `[N, C, H, W]` or `[C, H, W]`.

    `inputs` are the tensors that the operator takes, the images first.

    Returns:
        An uninitialized tensor; None if the operator must allocate its result: on CUDA, for a gradient, under
        a compiler, in a DataLoader worker, or for a size that the pool does not keep.
    """
    if torch.compiler.is_compiling() or min(shape) < 1 or get_worker_info() is not None:
        return None
    if not LEAST_BYTES <= prod(shape) * dtype.itemsize <= BUFFER_POOL.limit:
        return None
    for tensor in inputs:
        if tensor is not None and not (tensor.is_cpu and is_plain(tensor)):
            return None
    return BUFFER_POOL.empty(shape, dtype, channels_last)


def output_buffer(
    shape: Sequence[int], dtype: torch.dtype, channels_last: bool, images: Tensor, *others: Tensor | None
) -> Tensor:
    """Memory for the result of an operator on the device of its images; arguments as for `pooled_output`."""
    buffer = pooled_output(shape, dtype, channels_last, images, *others)
    return new_images(images, shape, channels_last, dtype) if buffer is None else buffer


def pooled_like(
    images: Tensor, shape: Sequence[int] | None = None, dtype: torch.dtype | None = None
) -> Tensor:
    """Uninitialized memory on the device of images: contiguous of `shape`, or in the form of the images."""
    is_last = shape is None and is_channels_last(images, None)
    return output_buffer(images.shape if shape is None else shape, dtype or images.dtype, is_last, images)


def keep_free_memory(nbytes: int) -> None:
    """Set how much free memory the buffer pool on the CPU keeps.

    Large results of operators and batches of images reuse buffers, since clearing new pages takes longer than
    augmenting an image. Free buffers beyond this limit are returned to the system, later ones at
    the first request after a minute without use.

    Args:
        nbytes: at least 0, which keeps none; the default is 512 MiB.

    Raises:
        TypeError: not a whole number.
        ValueError: a negative number.

    Example:
        >>> keep_free_memory(2**28)
        >>> keep_free_memory(2**29)
    """
    if whole_value("keep_free_memory", "nbytes", nbytes) < 0:
        raise ValueError(f"keep_free_memory: expected nbytes of at least 0, but got {nbytes}")
    BUFFER_POOL.limit = int(nbytes)
    BUFFER_POOL.release(BUFFER_POOL.limit)


def _begin_in_fork() -> None:
    """Free buffers belong to the parent: writing to them would copy them first."""
    BUFFER_POOL.__init__(BUFFER_POOL.limit)  # type: ignore[misc]


os.register_at_fork(after_in_child=_begin_in_fork)
