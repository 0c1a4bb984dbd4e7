"""StoredBatch: what batches share that lie in one tensor, so that one copy moves all of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

import torch

from orbbec.binding.forked import check_not_forked

_Batch = TypeVar("_Batch", bound="StoredBatch")


@dataclass(frozen=True, eq=False, repr=False)
class StoredBatch:
    """Images and their tables in one tensor.

    Args:
        storage: uint8, flat.
    """

    storage: torch.Tensor

    @property
    def device(self) -> torch.device:
        """Where the batch lies."""
        return self.storage.device

    @property
    def nbytes(self) -> int:
        """The bytes that a copy to a device moves."""
        return self.storage.numel()

    def to(self: _Batch, device: torch.device | str, non_blocking: bool = False) -> _Batch:
        """Copy all of the batch to a device in one copy.

        A slice takes the whole storage along, as a view of a tensor does when it is pickled.

        Args:
            device: where to.
            non_blocking: return before the copy from page-locked memory, or to the host, has ended.

        Returns:
            The batch on ``device``; itself where it is there already.

        Raises:
            RuntimeError: ``device`` is CUDA and this process is a forked worker.
        """
        if torch.device(device).type == "cuda":
            check_not_forked(f"{type(self).__name__}.to")
        storage = self.storage.to(device, non_blocking=non_blocking)
        return self if storage is self.storage else replace(self, storage=storage)

    def pin_memory(self: _Batch) -> _Batch:
        """Copy the batch to page-locked memory; DataLoader calls this where it has ``pin_memory=True``.

        Returns:
            The batch in page-locked memory; itself where it is there already.

        Raises:
            RuntimeError: this process is a forked worker, or there is no accelerator.
        """
        check_not_forked(f"{type(self).__name__}.pin_memory")
        storage = self.storage.pin_memory()
        return self if storage is self.storage else replace(self, storage=storage)

    def is_pinned(self) -> bool:
        """Whether the batch lies in page-locked memory."""
        return self.storage.is_pinned()

    def record_stream(self, stream: torch.Stream) -> None:
        """Keep the memory from reuse until the work queued on ``stream`` has ended; nothing to do on the CPU.

        Args:
            stream: a CUDA stream, other than the one on which the batch was made, that reads the batch.
        """
        if self.device.type != "cpu":
            self.storage.record_stream(stream)
