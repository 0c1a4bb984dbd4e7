"""Memory that is used again once nobody holds it: new memory costs as much as a good part of a decode."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import ref

import numpy as np
import torch
from torch import Tensor

from orbbec.binding.arguments import Array

_ALIGNMENT = 64  # bytes, as ImageBatch
_GRAIN = 2**24  # bytes


class _Lent(ref):  # type: ignore[type-arg]
    """What is lent, and the memory behind it."""

    __slots__ = ("memory",)
    memory: Array


class Recycler:
    """Hands out tensors on the CPU; what was let go of serves the next request of the same size.

    As many blocks of a size exist as were held at once, until the recycler itself is dropped.

    Example:
        >>> recycler = Recycler()
        >>> first = recycler.empty((2, 3))
        >>> place = first.data_ptr()
        >>> del first
        >>> recycler.empty((2, 3)).data_ptr() == place
        True
    """

    def __init__(self) -> None:
        self._free: dict[int, list[_Lent]] = {}
        self._kept: dict[int, _Lent] = {}  # by id; a reference that is gone calls nobody

    def empty(self, shape: Sequence[int], dtype: torch.dtype = torch.uint8) -> Tensor:
        """A tensor whose values are not set, at a multiple of 64 bytes."""
        nbytes = int(np.prod(shape)) * dtype.itemsize
        if nbytes == 0:
            return torch.empty(shape, dtype=dtype)
        free = self._free.setdefault(nbytes, [])
        memory = self._taken(free, nbytes)
        lent = memory[:]  # the tensor, and all that share its memory, hold this one
        # No function of Python's is called when it goes: Python would drop an interrupt that comes meanwhile.
        kept = _Lent(lent, free.append)
        kept.memory = memory
        self._kept[id(kept)] = kept
        return torch.from_numpy(lent).view(dtype).view(*shape)

    def _taken(self, free: list[_Lent], nbytes: int) -> Array:
        try:
            kept = free.pop()
        except IndexError:
            raw = np.empty(nbytes + _ALIGNMENT, np.uint8)
            return raw[-raw.ctypes.data % _ALIGNMENT :][:nbytes]
        del self._kept[id(kept)]
        return kept.memory

    def empty_bytes(self, nbytes: int) -> Tensor:
        """So many bytes, flat; of a larger block, so that batches of unlike sizes share blocks."""
        return self.empty([-(-nbytes // _GRAIN) * _GRAIN])[:nbytes]
