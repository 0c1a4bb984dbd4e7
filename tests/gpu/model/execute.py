"""Executes cases on the PTX executor and writes what their launches did; run.py starts it."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tests.gpu.model.cases import CASES, Case, Setting
from tests.gpu.ptx.numpy_memory import register_arrays
from tests.support import Device, same_bytes

importlib.import_module("tests.gpu.model.cases_more")


def tensors_of(result: Any) -> Iterator[Tensor]:
    """The tensors in a result."""
    if isinstance(result, Tensor):
        yield result
    elif hasattr(result, "images"):
        yield from result.images()
    else:
        for part in result:
            if part is not None:
                yield from tensors_of(part)


def same_bits(first: Any, second: Any) -> bool:
    """Whether two results have the same bits; a NaN equals every NaN.

    Raises:
        AssertionError: a shape or a dtype differs.
    """
    pairs = list(zip(tensors_of(first), tensors_of(second), strict=True))
    return bool(pairs) and all(bool(same_bytes(a, b).all()) for a, b in pairs)


def execute(case: Case, small: bool) -> dict[str, Any]:
    """Runs a case on the CPU and from PTX: what the launches did, and whether the results are equal."""
    start = time.monotonic()
    work = case.prepare(Setting(case.executed, small))
    expected = work.call()
    counts = Path(os.environ["ORBBEC_PTX_COUNTS"])
    counts.write_text("")
    with Device("emulated").active():
        actual = work.call()
    every = [json.loads(line) for line in counts.read_text().splitlines()]
    launches = [launch for launch in every if case.kernel in launch["kernel"]]
    written = work.written_bytes
    if written is None:
        written = sum(tensor.numel() * tensor.element_size() for tensor in tensors_of(actual))
    pixels = work.outputs(actual)
    factor = case.modelled / case.executed
    return {
        "case": case.name,
        "what": case.what,
        "unit": work.unit,
        "small": small,
        "equal_to_cpu": same_bits(expected, actual),
        "factor": factor,
        "executed_pixels": pixels,
        "modelled_pixels": round(pixels * factor),
        "minimal_bytes": work.read_bytes + written,
        "launches": launches,
        "seconds": time.monotonic() - start,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path)
    parser.add_argument("cases", nargs="*", help="default: all")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--job", type=int, default=0, help="this process runs every `jobs`th case from here")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    unknown = sorted(set(options.cases) - set(CASES))
    if unknown:
        parser.error(f"no case {', '.join(unknown)}; there are {', '.join(CASES)}")
    torch.set_num_threads(1)
    register_arrays()
    chosen = options.cases or list(CASES)
    with options.output.open("w") as file:
        for order in range(options.job, len(chosen), options.jobs):
            row = {"order": order, **execute(CASES[chosen[order]], options.small)}
            print(json.dumps(row), file=file, flush=True)


if __name__ == "__main__":
    main()
