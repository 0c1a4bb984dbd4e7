"""Memory of fixed addresses that a captured graph reads: a slot for each step of a sink.

::

    slot:  pixels of the images          as they come from the Loader, on the device
           tables | layout | targets     of all slots in one copy from the host
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from orbbec.batch import ImageBatch
from orbbec.plan import Plan, apply, apply_fixed, fixed, structure_of, tables_of

_ALIGNMENT = 64  # bytes, as ImageBatch


@dataclass(frozen=True)
class Feed:
    """What a step reads.

    Args:
        images: on the device; None: they are among the tensors.
        plan: for the images.
        tensors: that the step takes after the augmented images.
    """

    images: ImageBatch | None
    plan: Plan | None
    tensors: Sequence[Tensor]

    @cached_property
    def fixed(self) -> Plan | None:
        """The plan as it can be captured, if it can be."""
        return None if self.plan is None else fixed(self.plan)

    @cached_property
    def structure(self) -> Hashable:
        """What a graph that is captured for this feed depends on; None: it cannot be captured."""
        if self.plan is not None and self.fixed is None:
            return None
        planned = None if self.fixed is None else structure_of(self.fixed)
        return planned, tuple((tensor.dtype, tensor.shape, tensor.stride()) for tensor in self.tensors)

    @cached_property
    def small(self) -> list[Tensor]:
        """All but the pixels."""
        if self.images is None or self.fixed is None:
            return list(self.tensors)
        tables = [torch.from_numpy(table) for own in tables_of(self.fixed) for table in own.values()]
        return [*self.tensors, self.images.host_layout, *tables]

    @property
    def device(self) -> torch.device:
        """Where the step reads."""
        return self.tensors[0].device if self.images is None else self.images.device

    def computed(self) -> list[Tensor]:
        """What the step takes."""
        tensors = [tensor.to(self.device, non_blocking=True) for tensor in self.tensors]
        if self.images is None or self.plan is None:
            return tensors
        return [apply(self.plan, self.images), *tensors]


class _SlotImages(NamedTuple):
    """Images in a slot, as operators take them."""

    buffer: Tensor
    layout: Tensor
    channels: int
    sizes: Tensor  # [1, 2] on the CPU: no image is higher or wider


class _Room(NamedTuple):
    """Bytes of a slot, and the sides of the images that it is made for."""

    small: int = 0
    pixels: int = 0
    height: int = 0
    width: int = 0


class Slots:
    """Memory for some feeds, which grows where it must.

    Args:
        count: how many feeds there are at most.
        device: where steps read.
    """

    def __init__(self, count: int, device: torch.device) -> None:
        self._count, self._device = count, device
        self._room = _Room()
        self.small, self.pixels = self._empty(0), self._empty(0)

    def reserve(self, feeds: Sequence[Feed]) -> bool:
        """Make room; whether anything moved, so that what was captured is worth nothing."""
        room = _Room(*map(_grown, self._room, _room_for(feeds)))
        if room == self._room:
            return False
        self._room = room
        self.small, self.pixels = self._empty(room.small), self._empty(room.pixels)
        return True

    def fill(self, feeds: Sequence[Feed]) -> None:
        """Copy feeds into the slots, in the order of the current stream."""
        is_pinned = self._device.type == "cuda"
        on_host = torch.empty(len(feeds), self._room.small, dtype=torch.uint8, pin_memory=is_pinned)
        for feed, memory in zip(feeds, on_host, strict=True):
            _copy(feed.small, memory)
        self.small[: len(feeds)].copy_(on_host, non_blocking=True)
        for slot, feed in enumerate(feeds):
            if is_pinned:
                _copy(feed.small, self.small[slot])
            if feed.images is not None:
                self.pixels[slot, : feed.images.pixel_bytes].copy_(feed.images.buffer)

    def read(self, slot: int, feed: Feed) -> list[Tensor]:
        """What a step takes, computed from a slot; of `feed` only the structure counts."""
        places = _places(feed.small, self.small[slot])
        tensors = [next(places) for _ in feed.tensors]
        if feed.images is None or feed.fixed is None:
            return tensors
        images = _SlotImages(self.pixels[slot], next(places), feed.images.channels, self._longest())
        tables = [{name: next(places) for name in own} for own in tables_of(feed.fixed)]
        return [apply_fixed(feed.fixed, images, tables), *tensors]

    def _longest(self) -> Tensor:
        return torch.tensor([[self._room.height, self._room.width]])

    def _empty(self, nbytes: int) -> Tensor:
        return torch.empty((self._count, nbytes), dtype=torch.uint8, device=self._device)


def _room_for(feeds: Sequence[Feed]) -> _Room:
    images = [feed.images for feed in feeds if feed.images is not None]
    small = max(sum(_aligned(tensor.nbytes) for tensor in feed.small) for feed in feeds)
    if not images:
        return _Room(small)
    height, width = torch.cat([batch.sizes for batch in images]).amax(0).tolist()
    return _Room(small, max(batch.pixel_bytes for batch in images), height, width)


def _grown(room: int, needed: int) -> int:
    """A quarter more than is needed where room is short, so that slots seldom grow."""
    return room if needed <= room else _aligned(needed + needed // 4)


def _aligned(nbytes: int) -> int:
    return -(-nbytes // _ALIGNMENT) * _ALIGNMENT


def _places(tensors: Sequence[Tensor], memory: Tensor) -> Iterator[Tensor]:
    """Where each of the tensors lies in a slot; channels last where they are."""
    begin = 0
    for tensor in tensors:
        flat = memory[begin : begin + tensor.nbytes].view(tensor.dtype)
        yield flat.as_strided(tensor.shape, torch.empty_like(tensor, device="meta").stride())
        begin += _aligned(tensor.nbytes)


def _copy(tensors: Sequence[Tensor], memory: Tensor) -> None:
    """Copy those tensors to their places that are on the device of the memory."""
    for tensor, place in zip(tensors, _places(tensors, memory), strict=True):
        if tensor.device == memory.device:
            place.copy_(tensor)
