"""Work on a device, done once and then again without Python: a CUDA graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

import torch
from torch import Tensor

from orbbec.data.staging import map_tensors

Work = Callable[[], Tensor]
Result = TypeVar("Result")


class Capture(Protocol):
    """Work that can be done again on the same memory: `CudaCapture`, in tests `tests.support.Recorder`.

    Args:
        device: where the work runs.
    """

    def __init__(self, device: torch.device) -> None: ...

    def warm_up(self, work: Callable[[], Result]) -> Result:
        """Do work that is to be recorded later."""
        ...

    def record(self, work: Work) -> Tensor:
        """Do the work, and keep what the device was asked for."""
        ...

    def replay(self) -> None:
        """Ask the device for the same again; it reads and writes where it did."""
        ...


class CudaCapture:
    """A CUDA graph. Other threads may allocate meanwhile, such as those of a Loader.

    Args:
        device: where the work runs; it need not be the current one.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._graph = torch.cuda.CUDAGraph()

    def warm_up(self, work: Callable[[], Result]) -> Result:
        """On a side stream, as PyTorch asks it of what is captured later."""
        with torch.cuda.device(self._device):
            current = torch.cuda.current_stream()
            side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
            side.wait_stream(current)
            with torch.cuda.stream(side):
                result = work()
            current.wait_stream(side)
        map_tensors(result, lambda tensor: tensor.record_stream(current))
        return result

    def record(self, work: Work) -> Tensor:
        """Capture, which runs nothing, and replay."""
        with torch.cuda.device(self._device):
            stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]  # that of torch is one device's
            with torch.cuda.graph(self._graph, stream=stream, capture_error_mode="thread_local"):
                result = work()
        self.replay()
        return result

    def replay(self) -> None:
        with torch.cuda.device(self._device):
            self._graph.replay()
