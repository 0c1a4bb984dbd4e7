"""Memory at fixed addresses for a captured graph: a slot for each step of a sink.

::

    slot:  pixels of the images          as they come from the Loader, on the device
           parameters | layout | targets of all slots in one copy from the host
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from orbbec.batch import ImageBatch
from orbbec.plan import Plan, apply, apply_fixed, fixed, structure_of, tables_of
from orbbec.plan.packing import aligned, packed_bytes, views, write


@dataclass(frozen=True)
class Feed:
    """The input of a step.

    Args:
        images: on the device; None: the images are among the tensors.
        plan: plan of the images.
        tensors: further arguments of the step, after the augmented images.
    """

    images: ImageBatch | None
    plan: Plan | None
    tensors: Sequence[Tensor]

    @cached_property
    def fixed(self) -> Plan | None:
        """The plan in a form that can be captured; None if there is none."""
        return None if self.plan is None else fixed(self.plan)

    @cached_property
    def structure(self) -> Hashable:
        """The key of a graph captured for this feed; None if it cannot be captured."""
        if self.plan is not None and self.fixed is None:
            return None
        planned = None if self.fixed is None else structure_of(self.fixed)
        return planned, tuple((tensor.dtype, tensor.shape, tensor.stride()) for tensor in self.tensors)

    @cached_property
    def small(self) -> list[Tensor]:
        """All tensors except the pixels."""
        if self.images is None or self.fixed is None:
            return list(self.tensors)
        tables = [torch.from_numpy(table) for columns in tables_of(self.fixed) for table in columns.values()]
        return [*self.tensors, self.images.host_layout, *tables]

    @property
    def device(self) -> torch.device:
        """The device that the step reads from."""
        return self.tensors[0].device if self.images is None else self.images.device

    def computed(self) -> list[Tensor]:
        """The arguments of the step."""
        tensors = [tensor.to(self.device, non_blocking=True) for tensor in self.tensors]
        if self.images is None or self.plan is None:
            return tensors
        return [apply(self.plan, self.images), *tensors]


class _SlotImages(NamedTuple):
    """Images in a slot, in the form that operators accept."""

    buffer: Tensor
    layout: Tensor
    channels: int
    sizes: Tensor  # [1, 2] on the CPU: the largest height and width


class _Capacity(NamedTuple):
    """The capacity of a slot: bytes, and the largest sides of its images."""

    small: int = 0
    pixels: int = 0
    height: int = 0
    width: int = 0


class Slots:
    """Memory for at most `count` feeds, which grows on demand."""

    def __init__(self, count: int, device: torch.device) -> None:
        self._count, self._device = count, device
        self._capacity = _Capacity()
        self.small, self.pixels = self._empty(0), self._empty(0)

    def reserve(self, feeds: Sequence[Feed]) -> bool:
        """Grow the slots if needed; returns whether memory moved, which invalidates captured graphs."""
        capacity = _Capacity(*map(_grown, self._capacity, _capacity_for(feeds)))
        if capacity == self._capacity:
            return False
        self._capacity = capacity
        self.small, self.pixels = self._empty(capacity.small), self._empty(capacity.pixels)
        return True

    def fill(self, feeds: Sequence[Feed]) -> None:
        """Copy feeds into the slots, in the order of the current stream."""
        is_pinned = self._device.type == "cuda"
        shape = len(feeds), self._capacity.small
        on_host = torch.empty(shape, dtype=torch.uint8, device="cpu", pin_memory=is_pinned)
        for feed, memory in zip(feeds, on_host, strict=True):
            write(feed.small, memory)
        self.small[: len(feeds)].copy_(on_host, non_blocking=True)
        for slot, feed in enumerate(feeds):
            if is_pinned:
                write(feed.small, self.small[slot])
            if feed.images is not None:
                self.pixels[slot, : feed.images.pixel_bytes].copy_(feed.images.buffer)

    def read(self, slot: int, feed: Feed) -> list[Tensor]:
        """The arguments of a step, computed from a slot; only the structure of `feed` matters."""
        small = views(feed.small, self.small[slot])
        tensors = [next(small) for _ in feed.tensors]
        if feed.images is None or feed.fixed is None:
            return tensors
        images = _SlotImages(self.pixels[slot], next(small), feed.images.channels, self._longest())
        tables = [{name: next(small) for name in names} for names in tables_of(feed.fixed)]
        return [apply_fixed(feed.fixed, images, tables), *tensors]

    def _longest(self) -> Tensor:
        return torch.tensor([[self._capacity.height, self._capacity.width]], device="cpu")

    def _empty(self, nbytes: int) -> Tensor:
        return torch.empty((self._count, nbytes), dtype=torch.uint8, device=self._device)


def _capacity_for(feeds: Sequence[Feed]) -> _Capacity:
    images = [feed.images for feed in feeds if feed.images is not None]
    small = max(packed_bytes(feed.small) for feed in feeds)
    if not images:
        return _Capacity(small)
    height, width = torch.cat([batch.sizes for batch in images]).amax(0).tolist()
    return _Capacity(small, max(batch.pixel_bytes for batch in images), height, width)


def _grown(capacity: int, needed: int) -> int:
    """The new capacity: a quarter more than needed if it is too small, so that slots seldom grow."""
    return capacity if needed <= capacity else aligned(needed + needed // 4)
