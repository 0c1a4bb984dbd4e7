"""Batches too large for the host, decoded in pieces: on the CPU a piece is augmented, on CUDA it is copied.

::

    host:    piece 0 | piece 1 | piece 0 again | ...     decoded; at most two at a time
    device:  pixels 0 | pixels 1 | pixels 2 | ...        copied on the current stream
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from orbbec.batch import ImageBatch, YCbCrBatch
from orbbec.data.loader.memory import Job
from orbbec.plan import Plan
from orbbec.plan.microbatches import Results, bytes_after, microbatch_of


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
        return _slices(self._bounds, self._job.piece_bytes)

    def add(self, images: slice, piece: ImageBatch | YCbCrBatch) -> None:
        """Copy a piece to the batch, once the piece before has been copied."""
        if self._copied is not None:
            self._copied.synchronize()
        target = self.batch.buffer[self._bounds[images.start] : self._bounds[images.stop]]
        target.copy_(piece.storage[: len(target)], non_blocking=True)
        if target.is_cuda:
            self._copied = torch.cuda.current_stream(target.device).record_event()


class AugmentedPieces:
    """The results of a batch on the CPU, whose pieces are augmented one after the other.

    It takes the memory of a piece and of all results from the job.

    Args:
        plan: of the batch, without mixing.
        apply: applies a plan to images.
        job: says how large a piece of several images is.
    """

    def __init__(self, plan: Plan, apply: Callable[[Plan, Any], Any], job: Job) -> None:
        self._plan, self._apply, self._results = plan, apply, Results(plan, [], None)
        bounds = [0, *np.cumsum(plan.channels * plan.sizes.prod(1)).tolist()]
        self._slices = list(_slices(bounds, job.piece_bytes))
        pixels = max(bounds[images.stop] - bounds[images.start] for images in self._slices)
        job.take(pixels + bytes_after(plan.passes[-1], plan.channels))

    def slices(self) -> Iterator[slice]:
        """The images of each piece."""
        return iter(self._slices)

    def add(self, images: slice, piece: ImageBatch | YCbCrBatch) -> None:
        """Augment a piece."""
        self._results.add(images, self._apply(microbatch_of(self._plan, images), piece))

    @property
    def batch(self) -> Any:
        """The results of all pieces."""
        return self._results.together()


def _slices(bounds: Sequence[int], most_bytes: int) -> Iterator[slice]:
    """The images of each piece: as many as its bytes allow, or one."""
    first, count = 0, len(bounds) - 1
    for image in range(1, count):
        if bounds[image + 1] - bounds[first] > most_bytes:
            yield slice(first, image)
            first = image
    yield slice(first, count)
