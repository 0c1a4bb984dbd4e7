"""A plugin of pytest for tests whose kernels run from PTX: registers NumPy's memory, prints the speed."""

from __future__ import annotations

import ctypes
import os
from typing import Any

import pytest

from tests.gpu.ptx.numpy_memory import register_arrays

_totals = [0.0, 0.0, 0.0]  # of all processes: launches, lane-instructions, seconds


def own_totals() -> list[float]:
    """What this process has run."""
    values = (ctypes.c_double * 3)()
    ctypes.CDLL(os.environ["ORBBEC_LIBRARY"]).ptx_totals(values)
    return list(values)


def pytest_configure() -> None:
    register_arrays()


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):  # of xdist
        session.config.workeroutput["ptx_totals"] = own_totals()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    given = getattr(node, "workeroutput", {}).get("ptx_totals", [0.0, 0.0, 0.0])
    _totals[:] = [a + b for a, b in zip(_totals, given, strict=True)]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    launches, lanes, seconds = (a + b for a, b in zip(_totals, own_totals(), strict=True))
    speed = lanes / seconds if seconds else 0
    terminalreporter.write_line(
        f"PTX: {launches:.0f} launches, {lanes:.3g} lane-instructions in {seconds:.1f} s of one core, "
        f"{speed / 1e6:.0f} million a second"
    )
