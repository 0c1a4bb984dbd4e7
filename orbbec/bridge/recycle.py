"""Memory on the CPU that is used again once nobody holds it.

New memory comes in pages that the system clears as they are first written: for a large batch that takes
longer than to augment it. So results of operators, batches of images and what lies between two passes come
from here.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from math import prod
from weakref import ref

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import get_worker_info

from orbbec.bridge.arguments import Array
from orbbec.bridge.dispatch import is_plain

_ALIGNMENT = 64  # bytes: a cache line, and the widest vector load
_LEAST = 2**17  # bytes: malloc reuses smaller blocks, and returns larger ones to the system
_LIMIT = 2**29  # bytes

_IN_NUMPY = {
    torch.uint8: np.uint8,
    torch.uint16: np.uint16,
    torch.float16: np.float16,
    torch.float32: np.float32,
    torch.float64: np.float64,
}
_OF_SIZE = {1: torch.uint8, 2: torch.float16, 4: torch.float32, 8: torch.float64}


class _Lent(ref):  # type: ignore[type-arg]
    """What is lent, and the memory behind it."""

    __slots__ = ("memory",)
    memory: Array


class Recycler:
    """Hands out tensors on the CPU; what was let go of serves the next request that fills half of it.

    What is free beyond the limit goes back to the system at the next request, the longest unused first.

    Args:
        limit: bytes that are kept free; 0: nothing is kept.

    Example:
        >>> recycler = Recycler()
        >>> first = recycler.empty((1024, 1024))
        >>> place = first.data_ptr()
        >>> del first
        >>> recycler.empty((1024, 1024)).data_ptr() == place
        True
    """

    def __init__(self, limit: int = _LIMIT) -> None:
        self.limit = limit
        self._free: list[_Lent] = []  # in the order in which they were let go of
        self._kept: dict[int, _Lent] = {}  # by id; a reference that is gone calls nobody

    def empty(
        self, shape: Sequence[int], dtype: torch.dtype = torch.uint8, channels_last: bool = False
    ) -> Tensor:
        """A tensor whose values are not set, at a multiple of 64 bytes.

        Args:
            shape: of the tensor.
            dtype: of the tensor.
            channels_last: whether channels of `[N, C, H, W]` lie together.
        """
        nbytes = prod(shape) * dtype.itemsize
        if nbytes == 0:
            return torch.empty(tuple(shape), dtype=dtype)
        if dtype not in _IN_NUMPY:
            # Not a view, which refuses to be detached in place.
            same = self.empty(shape, _OF_SIZE[dtype.itemsize], channels_last)
            return torch.empty(0, dtype=dtype).set_(same.untyped_storage(), 0, same.shape, same.stride())
        strides = None
        if channels_last:
            _, channels, height, width = shape
            row = width * channels
            strides = [step * dtype.itemsize for step in (height * row, 1, row, channels)]
        lends = _LEAST <= nbytes <= self.limit
        memory = self._block(nbytes) if lends else _new(nbytes)
        array: Array = np.ndarray(shape, _IN_NUMPY[dtype], memory, 0, strides)
        if lends:
            self._lend(array, memory)
        return torch.from_numpy(array)

    @property
    def free_bytes(self) -> int:
        """Of the blocks that nobody holds."""
        return sum(kept.memory.nbytes for kept in list(self._free))

    def release(self, limit: int = 0) -> None:
        """Give what is free beyond `limit` bytes back to the system."""
        excess = self.free_bytes - limit
        for kept in list(self._free):
            if excess <= 0:
                return
            if self._claim(kept):
                excess -= kept.memory.nbytes

    def _block(self, nbytes: int) -> Array:
        size = _block_size(nbytes)
        memory = self._found(size)
        if self._free:
            self.release(self.limit)
        return _new(size) if memory is None else memory

    def _lend(self, array: Array, memory: Array) -> None:
        """Notice when nobody holds the array, which the tensor, and all that share its memory, hold."""
        # No function of Python's is called when it goes: Python would drop an interrupt that comes meanwhile.
        kept = _Lent(array, self._free.append)
        kept.memory = memory
        self._kept[id(kept)] = kept

    def _found(self, size: int) -> Array | None:
        """The smallest block that holds so much; of several the one let go of last."""
        while True:
            fitting = [kept for kept in reversed(list(self._free)) if size <= kept.memory.nbytes <= 2 * size]
            if not fitting:
                return None
            best = min(fitting, key=lambda kept: kept.memory.nbytes)
            if self._claim(best):
                return best.memory

    def _claim(self, kept: _Lent) -> bool:
        """Take a free block; False where another thread took it first.

        Python removes an entry of a list in one step. A lock instead could be held by the very code that the
        garbage collector interrupts to run a finaliser, which may ask for memory.
        """
        try:
            self._free.remove(kept)
        except ValueError:
            return False
        del self._kept[id(kept)]
        return True


def _block_size(nbytes: int) -> int:
    """At most an eighth more, for batches of unlike sizes."""
    grain = 1 << (nbytes.bit_length() - 4)
    return -(-nbytes // grain) * grain


def _new(nbytes: int) -> Array:
    # NumPy asks the system for huge pages, torch does not: half the time, which goes into page faults.
    raw = np.empty(nbytes + _ALIGNMENT, np.uint8)
    return raw[-raw.ctypes.data % _ALIGNMENT :][:nbytes]


RECYCLER = Recycler()


def room_for(
    shape: Sequence[int], dtype: torch.dtype, channels_last: bool, *given: Tensor | None
) -> Tensor | None:
    """Where an operator can write its result `[N, C, H, W]`.

    Args:
        shape: of the result.
        dtype: of the result.
        channels_last: how it lies in memory.
        given: what the operator takes, the images first.

    Returns:
        A tensor whose values are not set; None where the operator is to make its result itself: on CUDA, for
        a gradient, where a compiler looks on, in a worker of a DataLoader, or of a size that is not kept.
    """
    if torch.compiler.is_compiling() or min(shape) < 1 or get_worker_info() is not None:
        return None
    if not _LEAST <= prod(shape) * dtype.itemsize <= RECYCLER.limit:
        return None
    for tensor in given:
        if tensor is not None and not (tensor.is_cpu and is_plain(tensor)):
            return None
    return RECYCLER.empty(shape, dtype, channels_last)


def output_for(
    shape: Sequence[int], dtype: torch.dtype, channels_last: bool, *given: Tensor | None
) -> Tensor:
    """Where an operator on the CPU writes its result `[N, C, H, W]`; arguments as those of `room_for`."""
    room = room_for(shape, dtype, channels_last, *given)
    if room is not None:
        return room
    return torch.empty(
        tuple(shape),
        dtype=dtype,
        memory_format=torch.channels_last if channels_last else torch.contiguous_format,
    )


def keep_free_memory(nbytes: int) -> None:
    """Say how much memory on the CPU is kept for the next results, where nobody holds it.

    Large results of operators and batches of images lie in memory that is used again, since new pages cost
    more than to augment an image. What is free beyond this goes back to the system.

    Args:
        nbytes: at least 0, which keeps nothing; at first 512 MiB.

    Raises:
        ValueError: a negative number.

    Example:
        >>> keep_free_memory(2**28)
        >>> keep_free_memory(2**29)
    """
    if nbytes < 0:
        raise ValueError(f"keep_free_memory: expected nbytes of at least 0, but got {nbytes}")
    RECYCLER.limit = int(nbytes)
    RECYCLER.release(RECYCLER.limit)


def _begin_in_fork() -> None:
    """What was free belongs to the parent: writing there would copy it first."""
    RECYCLER.__init__(RECYCLER.limit)  # type: ignore[misc]


os.register_at_fork(after_in_child=_begin_in_fork)
