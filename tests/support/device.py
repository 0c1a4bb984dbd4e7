"""The device of a test."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import torch
from torch import Tensor

Put = TypeVar("Put")


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

    def put(self, images: Put) -> Put:
        """The tensor or batch on this device, with the same strides and offset; on the CPU itself.

        Elsewhere a tensor is copied, and so is no leaf if it needs a gradient. The emulated device copies as
        CUDA does.
        """
        if self.name == "cpu":
            return images
        where = "cuda" if self.name == "cuda" else "cpu"
        copy: Any = _copy(images, where) if isinstance(images, Tensor) else cast(Any, images).to(where)
        return cast(Put, copy)

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


def _copy(tensor: Tensor, where: str) -> Tensor:
    if torch.compiler.is_compiling():
        return tensor.to(where)
    count = tensor.untyped_storage().nbytes() // tensor.element_size()
    if count == tensor.numel():
        return tensor.to(where, copy=True)
    storage = tensor.as_strided((count,), (1,), 0).to(where, copy=True)
    return storage.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())
