"""Work on a device, done once and then again without Python: a CUDA graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor

Work = Callable[[], Tensor]


class Capture(Protocol):
    """Work that can be done again on the same memory: `CudaCapture`, in tests `orbbec.testing.Recorder`."""

    @staticmethod
    def warm_up(work: Work) -> Tensor:
        """Do work that is to be recorded later."""
        ...

    def record(self, work: Work) -> Tensor:
        """Do the work, and keep what the device was asked for."""
        ...

    def replay(self) -> None:
        """Ask the device for the same again; it reads and writes where it did."""
        ...


class CudaCapture:
    """A CUDA graph. Other threads may allocate meanwhile, such as those of a Loader."""

    def __init__(self) -> None:
        self._graph = torch.cuda.CUDAGraph()

    @staticmethod
    def warm_up(work: Work) -> Tensor:
        """On a side stream, as PyTorch asks it of what is captured later."""
        current = torch.cuda.current_stream()
        side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        side.wait_stream(current)
        with torch.cuda.stream(side):
            result = work()
        current.wait_stream(side)
        result.record_stream(current)
        return result

    def record(self, work: Work) -> Tensor:
        """Capture, which runs nothing, and replay."""
        with torch.cuda.graph(self._graph, capture_error_mode="thread_local"):
            result = work()
        self._graph.replay()
        return result

    def replay(self) -> None:
        self._graph.replay()
