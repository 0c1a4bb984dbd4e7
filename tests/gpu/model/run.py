"""Starts the executor for cases and models what it counted."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.gpu.model.gpus import Gpu
from tests.gpu.model.machine import located, machines_of
from tests.gpu.model.report import Row, row_of
from tests.gpu.ptx.compile import ROOT, load

JOBS = 2


def executed(cases: Sequence[str], small: bool, jobs: int = JOBS) -> tuple[list[Row], Path]:
    """What the launches of each case did, of every case if none is named; and the folder of their PTX.

    Raises:
        RuntimeError: the executor could not be built, or a case failed.
    """
    environment = load(ROOT / "tests" / "emulation" / "run.py").environment("ptx", "forward")
    environment["ORBBEC_PTX_RACES"] = "0"
    environment["ORBBEC_PTX"] = str(located_folder(Path(environment["ORBBEC_PTX"])))
    with tempfile.TemporaryDirectory() as folder:
        running = []
        jobs = min(jobs, len(cases) or jobs)
        for job in range(jobs):
            out = Path(folder) / f"{job}.json"
            command = [sys.executable, "-m", "tests.gpu.model.execute", str(out), *cases]
            command += ["--job", str(job), "--jobs", str(jobs), *["--small"] * small]
            chosen = environment | {"ORBBEC_PTX_COUNTS": f"{out}.counts"}
            running.append((subprocess.Popen(command, cwd=ROOT, env=chosen), out))
        failed = [process.wait() for process, _ in running]
        if any(failed):
            raise RuntimeError(f"the executor ended with {failed}")
        rows = [json.loads(line) for _, out in running for line in out.read_text().splitlines()]
    return sorted(rows, key=lambda row: row["order"]), Path(environment["ORBBEC_PTX"])


def located_folder(ptx: Path) -> Path:
    """A folder with the PTX files of another, located."""
    target = ROOT / "build" / "ptx" / "located"
    target.mkdir(parents=True, exist_ok=True)
    for path in ptx.glob("*.ptx"):
        (target / path.name).write_text(located(path.read_text()))
    return target


def modelled(found: Sequence[Row], ptx: Path, gpu: Gpu) -> list[Row]:
    """The row of each case on a GPU."""
    kernels = {counts["kernel"] for row in found for counts in row["launches"]}
    machines = machines_of(kernels, ptx, gpu.capability)
    return [row_of(row, gpu, machines) for row in found]
