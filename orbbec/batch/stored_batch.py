"""StoredBatch: base of batches in one tensor, which are copied at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import torch

from orbbec.bridge.forked import check_not_forked

_Batch = TypeVar("_Batch", bound="StoredBatch")
_View = TypeVar("_View")


@dataclass(frozen=True, eq=False, repr=False)
class StoredBatch:
    """Images and their tables in one tensor, `storage`: uint8, flat."""

    storage: torch.Tensor

    def _cached(self, name: str, view: Callable[[], _View]) -> _View:
        """A view of `storage` that is made once.

        functools.cached_property holds a lock before Python 3.12, which a fork in another thread would leave
        locked in the child. Made in inference mode too, a view is an ordinary tensor.
        """
        cache = self.__dict__
        if name not in cache:
            with torch.inference_mode(False):
                cache[name] = view()
        result: _View = cache[name]
        return result

    @property
    def device(self) -> torch.device:
        """The device of the batch."""
        return self.storage.device

    @property
    def nbytes(self) -> int:
        """The bytes copied to a device."""
        return self.storage.numel()

    def to(self: _Batch, device: torch.device | str, non_blocking: bool = False) -> _Batch:
        """Copy the batch to a device in one copy.

        A slice copies its whole storage, as pickling a tensor's view does.

        Args:
            device: the target device.
            non_blocking: return before a copy from page-locked memory or to the host has finished.

        Returns:
            The batch on ``device``; itself if it is already there.

        Raises:
            RuntimeError: ``device`` is CUDA and this process is a forked worker.
        """
        if torch.device(device).type == "cuda":
            check_not_forked(f"{type(self).__name__}.to")
        storage = self.storage.to(device, non_blocking=non_blocking)
        return self if storage is self.storage else replace(self, storage=storage)

    def pin_memory(self: _Batch) -> _Batch:
        """Copy the batch to page-locked memory; a DataLoader with ``pin_memory=True`` calls this.

        Returns:
            The batch in page-locked memory; itself if it is already there.

        Raises:
            RuntimeError: this process is a forked worker, or there is no accelerator.
        """
        check_not_forked(f"{type(self).__name__}.pin_memory")
        storage = self.storage.pin_memory()
        return self if storage is self.storage else replace(self, storage=storage)

    def is_pinned(self) -> bool:
        """Whether the batch is in page-locked memory."""
        return self.storage.is_pinned()

    def record_stream(self, stream: torch.Stream) -> None:
        """Protect the memory from reuse until the work queued on ``stream`` is done; no effect on the CPU.

        Args:
            stream: a CUDA stream that reads the batch, other than the one on which it was made.
        """
        if self.device.type != "cpu":
            self.storage.record_stream(stream)
