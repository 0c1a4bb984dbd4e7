"""Times what the host does in a call on a CUDA device, without a GPU: launches are counted, not run.

    python tools/host_cost.py [--case NAME] [--json FILE]

The cases are those of tools/gpu_model.py, small, on the emulated device. Tensors and tables are on the
device, as in a training loop. Not included: the driver's part of a launch, torch's CUDA allocator, and the
pool of buffers, which serves the CPU only. Left out: calls that read results on the host, which are not
there, and those in which torch's kernels compute on the CPU.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
IMAGES, ROUNDS, SECONDS = 8, 9, 0.05
LEFT_OUT = ("nms_1k", "nms_5k", "nms_20k", "soft_nms_80x250", "warp_affine_backward")
# malloc keeps what is freed, as torch's CUDA allocator does.
MALLOC = {"MALLOC_MMAP_THRESHOLD_": str(1 << 30), "MALLOC_TRIM_THRESHOLD_": str(1 << 34)}


def median_seconds(call: Callable[[], Any]) -> float:
    """Median over rounds of the mean time of a call."""
    start = time.perf_counter()
    call()
    count = max(5, int(SECONDS / max(time.perf_counter() - start, 1e-6)))
    rounds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(count):
            call()
        rounds.append((time.perf_counter() - start) / count)
    return statistics.median(rounds)


def launches() -> int:
    """Launches that the emulated device skipped so far."""
    count = ctypes.CDLL(os.environ["ORBBEC_LIBRARY"]).orbbec_skipped_launches
    count.restype = ctypes.c_uint64
    return int(count())


def cost(case: Any, setting: Any) -> dict[str, Any]:
    """The host's microseconds and the launches of a case."""
    import torch

    work = case.prepare(setting)
    torch.ops.orbbec.set_emulation(True)
    os.environ["ORBBEC_EMULATION_ORDER"] = "none"
    try:
        before = launches()
        work.call()
        launched = launches() - before
        return {
            "case": case.name,
            "launches": launched,
            "host_microseconds": round(1e6 * median_seconds(work.call), 1),
        }
    finally:
        torch.ops.orbbec.set_emulation(False)
        os.environ["ORBBEC_EMULATION_ORDER"] = "forward"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--case", action="append", default=[], help="may be repeated")
    parser.add_argument("--json", type=Path, help="write the rows as JSON")
    options = parser.parse_args()
    if "ORBBEC_LIBRARY" not in os.environ:
        from tests.emulation.run import environment

        chosen = environment("plain", "forward") | MALLOC
        chosen.pop("ORBBEC_EMULATION_LIMITS")  # checking them takes longer than a launch
        return subprocess.call([sys.executable, *sys.argv], env=chosen)
    cases = importlib.import_module("tests.gpu.model.cases")
    importlib.import_module("tests.gpu.model.cases_more")
    importlib.import_module("orbbec").keep_free_memory(0)
    setting = cases.Setting(IMAGES, small=True)
    rows = []
    for name in options.case or [name for name in cases.CASES if name not in LEFT_OUT]:
        rows.append(cost(cases.CASES[name], setting))
        print(
            f"{name:26} {rows[-1]['launches']:3} launches {rows[-1]['host_microseconds']:8.1f} us", flush=True
        )
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
