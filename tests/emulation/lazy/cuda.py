"""Makes torch take the lazy device for CUDA: what of torch.cuda needs torch's own CUDA library is replaced.

Torch looks for its CUDA device only once, while it is imported: import this module before it.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any


def load_device() -> None:
    """Load ORBBEC_LIBRARY, and before it torch's libraries, from where torch has them.

    Raises:
        RuntimeError: torch has been imported.
    """
    if "torch" in sys.modules:
        raise RuntimeError("the lazy device has to be loaded before torch is imported")
    spec = importlib.util.find_spec("torch")
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent / "lib"
    for library in ("libc10.so", "libtorch_cpu.so", "libtorch.so"):
        ctypes.CDLL(str(folder / library), mode=ctypes.RTLD_GLOBAL)
    ctypes.CDLL(os.environ["ORBBEC_LIBRARY"])


load_device()
import torch  # noqa: E402

DEVICE = torch.device("cuda", 0)


class Stream(torch.Stream):
    """As torch.cuda.Stream."""

    def __new__(cls, device: Any = None, priority: int = 0, **identity: int) -> Stream:
        if identity:
            return super().__new__(cls, **identity)
        return super().__new__(cls, device=DEVICE, priority=priority)

    @property
    def cuda_stream(self) -> int:
        """The address of CUDA's stream; here its number."""
        return self.stream_id

    def record_event(self, event: torch.Event | None = None) -> torch.Event:
        """The event, recorded here."""
        event = event or Event()
        event.record(self)
        return event


class Event(torch.Event):
    """As torch.cuda.Event."""

    def __new__(
        cls, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> Event:
        return super().__new__(cls, device=DEVICE, enable_timing=enable_timing, blocking=blocking)

    def record(self, stream: torch.Stream | None = None) -> None:
        """Recorded on the stream, or on the current one."""
        super().record(stream or current_stream())

    def wait(self, stream: torch.Stream | None = None) -> None:
        """The stream, or the current one, waits."""
        super().wait(stream or current_stream())


class CUDAGraph:
    """As torch.cuda.CUDAGraph."""

    def __init__(self, keep_graph: bool = False) -> None:
        self._graph: int | None = None

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global") -> None:
        """Record from now on what the current stream is asked for."""
        torch.ops.lazy_device.begin_capture()

    def capture_end(self) -> None:
        """The end of the record."""
        self._graph = torch.ops.lazy_device.end_capture()

    def replay(self) -> None:
        """Queue what was recorded."""
        torch.ops.lazy_device.replay(self._graph)

    def reset(self) -> None:
        """Forget what was recorded."""
        if self._graph is not None:
            torch.ops.lazy_device.drop_graph(self._graph)
        self._graph = None

    def pool(self) -> tuple[int, int]:
        """All graphs have memory of their own."""
        return (0, 0)

    def __del__(self) -> None:
        self.reset()


@contextlib.contextmanager
def graph(cuda_graph: CUDAGraph, pool: Any = None, stream: Any = None, **_: Any) -> Iterator[None]:
    """As torch.cuda.graph."""
    synchronize()
    with stream_context(stream or Stream()):
        cuda_graph.capture_begin()
        try:
            yield
        finally:
            cuda_graph.capture_end()


def current_stream(device: Any = None) -> Stream:
    """As torch.cuda.current_stream."""
    found = torch.accelerator.current_stream()
    return Stream(stream_id=found.stream_id, device_index=0, device_type=found.device_type)


def default_stream(device: Any = None) -> Stream:
    """As torch.cuda.default_stream."""
    return Stream(stream_id=0, device_index=0, device_type=1)


def set_stream(stream: torch.Stream) -> None:
    """As torch.cuda.set_stream."""
    torch.accelerator.set_stream(stream)


@contextlib.contextmanager
def stream_context(stream: torch.Stream | None) -> Iterator[None]:
    """As torch.cuda.stream."""
    before = torch.accelerator.current_stream()
    if stream is not None:
        torch.accelerator.set_stream(stream)
    try:
        yield
    finally:
        torch.accelerator.set_stream(before)


def synchronize(device: Any = None) -> None:
    """As torch.cuda.synchronize."""
    torch.accelerator.synchronize()


def set_sync_debug_mode(mode: int | str) -> None:
    """As torch.cuda.set_sync_debug_mode; there are no warnings."""
    torch.ops.lazy_device.refuse_waits(mode in (2, "error"))


@contextlib.contextmanager
def device_context(device: Any) -> Iterator[None]:
    """As torch.cuda.device: there is one."""
    yield


def sleep(cycles: int) -> None:
    """As torch.cuda._sleep: the current stream has more work than a query of an event does."""
    for _ in range(8):
        torch.zeros(1, device="cpu", pin_memory=True).to("cuda", non_blocking=True)


def properties(device: Any = None) -> SimpleNamespace:
    """As torch.cuda.get_device_properties."""
    return SimpleNamespace(name="lazy", major=9, minor=0, multi_processor_count=4, total_memory=1 << 34)


def install() -> None:
    """Replace functions of torch.cuda."""
    replaced = {
        "Stream": Stream,
        "Event": Event,
        "CUDAGraph": CUDAGraph,
        "graph": graph,
        "stream": stream_context,
        "set_stream": set_stream,
        "current_stream": current_stream,
        "default_stream": default_stream,
        "synchronize": synchronize,
        "set_sync_debug_mode": set_sync_debug_mode,
        "device": device_context,
        "is_current_stream_capturing": torch.ops.lazy_device.is_capturing,
        "get_device_properties": properties,
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "set_device": lambda device: None,
        "get_device_name": lambda device=None: "lazy",
        "get_device_capability": lambda device=None: (9, 0),
        "is_bf16_supported": lambda including_emulation=True: True,
        "manual_seed": lambda seed: None,
        "manual_seed_all": lambda seed: None,
        "empty_cache": lambda: None,
        "_lazy_init": lambda: None,
        "_is_in_bad_fork": lambda: False,
        "_sleep": sleep,
    }
    for name, function in replaced.items():
        setattr(torch.cuda, name, function)
