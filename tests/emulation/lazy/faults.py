"""Small programs for test_lazy.py, most of them wrong: what a real device would do to them only sometimes.

``python faults.py`` with ORBBEC_LIBRARY runs each in a process of its own, and prints as JSON how it ended.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import cuda

cuda.install()
import torch  # noqa: E402

COUNT = 1000
LIBRARY = ctypes.CDLL(os.environ["ORBBEC_LIBRARY"])
PROGRAMS: dict[str, Callable[[], None]] = {}


def program(function: Callable[[], None]) -> Callable[[], None]:
    PROGRAMS[function.__name__] = function
    return function


def add(source: torch.Tensor, to: torch.Tensor, value: float = 1.0, count: int = COUNT) -> None:
    """A kernel on the current stream: `to = source + value`."""
    addresses = (ctypes.c_void_p(tensor.data_ptr()) for tensor in (source, to))
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    assert LIBRARY.lazy_add(*addresses, ctypes.c_float(value), count, stream) == 0


def ones() -> torch.Tensor:
    return torch.ones(COUNT, device="cuda")


def host(value: float = 1.0, pinned: bool = False) -> torch.Tensor:
    return torch.full((COUNT,), value, pin_memory=pinned)


@program
def right_program() -> None:
    """Copies, kernels and operators on two streams that wait for one another, and a graph."""
    side, source = torch.cuda.Stream(), host(3.0, pinned=True)
    given = source.to("cuda", non_blocking=True)
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        result = torch.empty_like(given)
        add(given, result)
        given.record_stream(side)
        del given
        result = result * 2
        event = side.record_event()
    torch.cuda.current_stream().wait_event(event)
    result.record_stream(torch.cuda.current_stream())
    total = result.sum()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = result + total
    result.zero_()
    graph.replay()
    assert torch.equal(captured.cpu(), host(8000.0))


@program
def the_host_reads() -> None:
    LIBRARY.lazy_read(ctypes.c_void_p(ones().data_ptr()))


@program
def the_kernel_gets_a_pointer_of_the_host() -> None:
    add(host(), ones())
    torch.cuda.synchronize()


@program
def the_kernel_writes_past_the_end() -> None:
    add(torch.ones(COUNT + 4096, device="cuda"), ones(), count=COUNT + 4096)
    torch.cuda.synchronize()


@program
def freed_without_record_stream() -> None:
    side, given = torch.cuda.Stream(), ones()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        result = torch.empty(COUNT, device="cuda")
        add(given, result)
    del given
    ones()
    side.synchronize()


@program
def a_graph_reads_what_was_freed() -> None:
    given, graph = ones(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = given + 1
    del given
    ones()
    graph.replay()
    result.cpu()


@program
def read_without_waiting() -> None:
    given = ones()
    torch.cuda.synchronize()
    given += 1
    with torch.cuda.stream(torch.cuda.Stream()):
        result = given * 2
        torch.cuda.synchronize()
    result.cpu()


@program
def written_without_waiting() -> None:
    given, side = ones(), torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    read = given * 2
    with torch.cuda.stream(side):
        given.zero_()
    torch.cuda.synchronize()
    read.cpu()


@program
def allocated_for_another_stream() -> None:
    ones()
    given = torch.empty(COUNT, device="cuda")
    with torch.cuda.stream(torch.cuda.Stream()):
        given.zero_()
    torch.cuda.synchronize()


@program
def pinned_memory_changes_before_the_copy() -> None:
    source = host(1.0, pinned=True)
    given = source.to("cuda", non_blocking=True)
    source.fill_(2.0)
    assert given.cpu()[0] == 1.0


@program
def the_result_is_read_before_the_copy() -> None:
    result = host(0.0, pinned=True)
    result.copy_(ones(), non_blocking=True)
    assert result[0] == 1.0


@program
def pageable_memory_may_change_after_the_copy() -> None:
    source = host(1.0)
    given = source.to("cuda", non_blocking=True)
    source.fill_(2.0)
    assert given.cpu()[0] == 1.0


@contextlib.contextmanager
def without_waits() -> None:
    torch.cuda.set_sync_debug_mode("error")
    yield
    torch.cuda.set_sync_debug_mode("default")


@program
def a_copy_that_blocks() -> None:
    source = host()
    with without_waits():
        source.to("cuda")


@program
def a_number_is_asked_for() -> None:
    given = ones()
    with without_waits():
        given.sum().item()


@program
def a_shape_depends_on_values() -> None:
    given = ones()
    with without_waits():
        given.nonzero()


@program
def no_waits_in_copies_that_need_none() -> None:
    source, result = host(3.0, pinned=True), host(0.0, pinned=True)
    with without_waits():
        given = host(1.0).to("cuda", non_blocking=True) + source.to("cuda", non_blocking=True)
        result.copy_(given, non_blocking=True)
    torch.cuda.synchronize()
    assert result[0] == 4.0


@contextlib.contextmanager
def capture() -> None:
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        yield


@program
def a_pageable_copy_is_captured() -> None:
    with capture():
        host().to("cuda", non_blocking=True)


@program
def a_wait_is_captured() -> None:
    given = ones()
    with capture():
        given.sum().item()


@program
def a_capture_waits_for_other_work() -> None:
    event = torch.cuda.current_stream().record_event()
    with capture():
        torch.cuda.current_stream().wait_event(event)


@program
def a_runtime_copy_is_captured() -> None:
    given, source = ones(), host()
    with capture():
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        to, at = ctypes.c_void_p(given.data_ptr()), ctypes.c_void_p(source.data_ptr())
        if LIBRARY.lazy_copy(to, at, ctypes.c_size_t(4 * COUNT), stream) != 900:
            return
        raise RuntimeError("cudaErrorStreamCaptureUnsupported")


@program
def tensors_of_two_devices() -> None:
    ones() + host()


def ended(function: Callable[[], None]) -> tuple[int, str]:
    """The status of a process that runs the program, and what it printed."""
    with tempfile.TemporaryFile() as output:
        child = os.fork()
        if child == 0:
            os.dup2(output.fileno(), 2)
            try:
                function()
                torch.cuda.synchronize()
            except BaseException as error:
                os.write(2, f"{type(error).__name__}: {error}\n".encode())
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        output.seek(0)
        return os.waitstatus_to_exitcode(status), output.read().decode()


if __name__ == "__main__":
    print(json.dumps({name: ended(function) for name, function in PROGRAMS.items()}))
