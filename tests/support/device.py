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
        """The tensor on this device, with the same strides."""
        return tensor.to("cuda") if self.name == "cuda" else tensor

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
