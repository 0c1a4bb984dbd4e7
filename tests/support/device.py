"""The device of a test."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

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

    def put(self, tensor: Tensor) -> Tensor:
        """The tensor on this device, with the same strides and offset; on the CPU the tensor itself.

        Elsewhere it is a copy, and so no leaf if the tensor needs a gradient. The emulated device copies as
        CUDA does.
        """
        if self.name == "cpu":
            return tensor
        count = tensor.untyped_storage().nbytes() // tensor.element_size()
        storage = tensor.as_strided((count,), (1,), 0)
        there = storage.to("cuda" if self.name == "cuda" else "cpu", copy=True)
        return there.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())

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
