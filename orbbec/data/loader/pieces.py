"""Batches too large for the host: decoded and copied to their device in pieces.

::

    host:    piece 0 | piece 1 | piece 0 again | ...     decoded; at most two at a time
    device:  pixels 0 | pixels 1 | pixels 2 | ...        copied on the current stream
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import torch

from orbbec.batch import ImageBatch, YCbCrBatch
from orbbec.data.loader.memory import Job


class Pieces:
    """A batch on a device, and the slices of it that are decoded one after the other.

    It takes the memory of the whole batch from the job: so few large batches are on the device at once.

    Args:
        make: makes the batch in memory that a function of a number of bytes allocates.
        device: of the batch; None: the CPU.
        job: says how large a piece of several images is.
    """

    def __init__(
        self,
        make: Callable[[Callable[[int], torch.Tensor]], ImageBatch | YCbCrBatch],
        device: torch.device | None,
        job: Job,
    ) -> None:
        self._job = job
        self.batch = make(partial(self._empty, device or "cpu"))
        self._bounds = [*self.batch.offsets.tolist(), len(self.batch.buffer)]
        self._copied: torch.cuda.Event | None = None  # the piece before

    def _empty(self, device: torch.device | str, nbytes: int) -> torch.Tensor:
        self._job.take(nbytes)
        return torch.empty(nbytes, dtype=torch.uint8, device=device)

    def slices(self) -> Iterator[slice]:
        """The images of each piece."""
        first = 0
        for image in range(1, len(self.batch)):
            if self._bounds[image + 1] - self._bounds[first] > self._job.piece_bytes:
                yield slice(first, image)
                first = image
        yield slice(first, len(self.batch))

    def copy(self, images: slice, storage: torch.Tensor) -> None:
        """Copy a piece to the batch, once the piece before has been copied."""
        if self._copied is not None:
            self._copied.synchronize()
        target = self.batch.buffer[self._bounds[images.start] : self._bounds[images.stop]]
        target.copy_(storage[: len(target)], non_blocking=True)
        if target.is_cuda:
            self._copied = torch.cuda.current_stream(target.device).record_event()
