"""A plugin of pytest: tests of CUDA run on the lazy device."""

from __future__ import annotations

from tests.emulation.lazy import cuda

cuda.install()


def pytest_runtest_teardown() -> None:
    """What a test left in the queue is done now, so that its faults are its own."""
    cuda.set_sync_debug_mode("default")
    cuda.synchronize()
