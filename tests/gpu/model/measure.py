"""Times the cases on a GPU. Needs torch and NumPy alone."""

from __future__ import annotations

import importlib
import json
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from tests.gpu.model.cases import CASES, Case, Setting

importlib.import_module("tests.gpu.model.cases_more")
WARM_UPS, RUNS = 3, 11
FLUSHED_BYTES = 1 << 30  # more than any L2; writing it also lets the host enqueue the call before it begins


def seconds_on_cuda(call: Callable[[], Any]) -> float:
    """The median time of a call by CUDA events, from a cold L2."""
    flushed = torch.empty(FLUSHED_BYTES, dtype=torch.uint8, device="cuda")
    times = []
    for run in range(WARM_UPS + RUNS):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        flushed.fill_(run)
        begin.record()
        call()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / 1e3)
    return statistics.median(times[WARM_UPS:])


def seconds_on_cpu(call: Callable[[], Any]) -> float:
    """The time of one call: only that this script works."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def measured(case: Case, device: str, small: bool) -> float:
    """Seconds of a case: of the modelled batch on a GPU, of the executed one on the CPU."""
    work = case.prepare(Setting(case.modelled if device == "cuda" else case.executed, small, device))
    return seconds_on_cuda(work.call) if device == "cuda" else seconds_on_cpu(work.call)


def main(names: Sequence[str], device: str, small: bool, output: Path | None) -> int:
    """Prints a line per case.

    A case that fails does not stop the others. `output` is written after each case.

    Returns:
        1 if a case failed.
    """
    gpu = torch.cuda.get_device_name().replace("NVIDIA ", "") if device == "cuda" else "the CPU"
    rows: list[dict[str, Any]] = []
    print(f"{'case':26} {'measured':>12}  ({gpu})")
    for name in names or CASES:
        row: dict[str, Any] = {"case": name, "gpu": gpu}
        try:
            row["microseconds"] = 1e6 * measured(CASES[name], device, small)
        except Exception as error:  # the other cases are to run
            row["error"] = f"{type(error).__name__}: {error}"
        rows.append(row)
        print(line_of(row), flush=True)
        if output is not None:
            output.write_text(json.dumps(rows, indent=1) + "\n")
    return int(any("error" in row for row in rows))


def line_of(row: dict[str, Any]) -> str:
    """A case as a line of text.

    Example:
        >>> line_of({"case": "lut_u8", "gpu": "T4", "error": "ValueError: lut: no table"})
        'lut_u8                     FAILED: ValueError: lut: no table'
    """
    if "error" in row:
        return f"{row['case']:26} FAILED: {row['error']}"
    return f"{row['case']:26} {row['microseconds']:9.1f} us"
