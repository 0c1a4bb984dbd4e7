"""The device of a test."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True)
class Device:
    """The device of operators: "cpu", "cuda", or "emulated", which executes CUDA kernels on CPU tensors.

    Example:
        >>> cpu = Device("cpu")
        >>> with cpu.active():
        ...     cpu.put(torch.ones(2)).device
        device(type='cpu')
    """

    name: str

    def put(self, images: Any) -> Any:
        """The tensor or batch on this device, with the same strides and offset; on the CPU itself.

        Elsewhere a tensor is copied, and so is no leaf if it needs a gradient. The emulated device copies as
        CUDA does.
        """
        if self.name == "cpu":
            return images
        where = "cuda" if self.name == "cuda" else "cpu"
        if not isinstance(images, Tensor) or torch.compiler.is_compiling():
            return images.to(where)
        copy = images.to(where, copy=True)
        if (copy.stride(), copy.storage_offset()) == (images.stride(), images.storage_offset()):
            return copy
        count = images.untyped_storage().nbytes() // images.element_size()
        storage = images.as_strided((count,), (1,), 0).to(where, copy=True)
        return storage.as_strided(images.shape, images.stride(), images.storage_offset())

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        """A context in which CPU tensors go to the CUDA kernels, if this is the emulated device."""
        if self.name != "emulated":
            yield
            return
        torch.ops.orbbec.set_emulation(True)
        try:
            yield
        finally:
            torch.ops.orbbec.set_emulation(False)

    def __str__(self) -> str:
        return self.name
