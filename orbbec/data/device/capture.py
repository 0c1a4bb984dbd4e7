"""Device work recorded once and replayed without Python: a CUDA graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

import torch
from torch import Tensor

from orbbec.data.device.staging import map_tensors

Work = Callable[[], Tensor]
Result = TypeVar("Result")


class Capture(Protocol):
    """Work that can be replayed on the same memory: `CudaCapture`, or `tests.support.Recorder` in tests."""

    def __init__(self, device: torch.device) -> None: ...

    def warm_up(self, work: Callable[[], Result]) -> Result:
        """Run work that will be recorded later."""
        ...

    def record(self, work: Work) -> Tensor:
        """Run the work and record the device's operations."""
        ...

    def replay(self) -> None:
        """Repeat the recorded operations at the same addresses."""
        ...


class CudaCapture:
    """A CUDA graph, of any device. Other threads, such as a Loader's, may allocate during capture."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._graph = torch.cuda.CUDAGraph()

    def warm_up(self, work: Callable[[], Result]) -> Result:
        """Run on a side stream, as PyTorch requires before capture."""
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
        """Capture, which runs nothing, then replay."""
        with torch.cuda.device(self._device):
            stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]  # that of torch is one device's
            with torch.cuda.graph(self._graph, stream=stream, capture_error_mode="thread_local"):
                result = work()
        self.replay()
        return result

    def replay(self) -> None:
        with torch.cuda.device(self._device):
            self._graph.replay()
