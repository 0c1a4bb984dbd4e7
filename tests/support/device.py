"""The device that a test runs on."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Device:
    """Where operators run: "cpu", "cuda", or "emulated", the CUDA kernels executed on CPU tensors.

    Example:
        >>> cpu = Device("cpu")
        >>> with cpu.active():
        ...     cpu.put(torch.ones(2)).device
        device(type='cpu')
    """

    name: str

    def put(self, tensor: Tensor) -> Tensor:
        """The tensor where this device reads it; strides are kept."""
        return tensor.to("cuda") if self.name == "cuda" else tensor

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        """While this lasts, CPU tensors take the emulated CUDA path if this is the emulated device."""
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
