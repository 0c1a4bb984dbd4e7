"""Writes docs/project/gpu_model_cases.md and the data that it is made of."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from tests.gpu.model.pipes import PIPES
from tests.gpu.model.report import Row
from tests.gpu.ptx.compile import ROOT

PAGE = ROOT / "docs" / "project" / "gpu_model_cases.md"
DATA = ROOT / "docs" / "benchmarks" / "gpu_model.json"
MEASURED = ROOT / "docs" / "benchmarks" / "gpu_model_measured.json"


def write(rows: Sequence[Row], cases: Mapping[str, str]) -> None:
    """Writes the data and the page from rows of an H100, and what each case is."""
    lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
    DATA.write_text(f'{{"about": "counted; bounds, not times", "rows": [\n{lines}\n]}}\n')
    PAGE.write_text(text(rows, cases, measured()))


def measured() -> dict[str, float]:
    """Microseconds on an H100 by case."""
    rows = json.loads(MEASURED.read_text())
    return {row["case"]: row["microseconds"] for row in rows if "microseconds" in row}


def text(rows: Sequence[Row], cases: Mapping[str, str], times: Mapping[str, float]) -> str:
    """The page."""
    parts = [HEAD, *bound_table(rows, times), INSTRUCTIONS, *instruction_table(rows), CASES]
    return "\n".join([*parts, *(f"- `{row['case']}`: {cases[row['case']]}." for row in rows), ""])


def bound_table(rows: Sequence[Row], times: Mapping[str, float]) -> list[str]:
    """Measured times and what they exceed."""
    lines = []
    for row in rows:
        time, least = times.get(row["case"]), row["microseconds"]
        cells = ["", ""] if time is None else [number(time), f"{least / time:.0%}"]
        cells = [cells[0], number(row["floor_microseconds"]), number(least), cells[1], row["limited_by"]]
        lines.append([f"`{row['case']}`", *cells])
    return table(["case", "measured, us", "floor, us", "bound, us", "bound of measured", "largest"], lines)


def instruction_table(rows: Sequence[Row]) -> list[str]:
    """Launches, bytes and instructions of each pipe."""
    lines = []
    for row in rows:
        per_pixel = [number(row[name] / row["modelled_pixels"]) for name in ("minimal_bytes", "dram_bytes")]
        pipes = [number(row["instructions"][name]) for name in PIPES]
        pipes.append(number(row["machine_per_ptx"]))
        lines.append([f"`{row['case']}`", str(row["launches"]), *per_pixel, *pipes])
    return table(["case", "launches", "necessary bytes", "DRAM bytes", *PIPES, "of PTX"], lines)


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return [f"| {' | '.join(line)} |" for line in lines]


HEAD = """\
# CUDA kernels, every case

The figures of [what the kernels move and execute](gpu_model.md), which says what they mean.
`python tools/gpu_model.py --all --page` writes this page and `docs/benchmarks/gpu_model.json`; the times are
in `docs/benchmarks/gpu_model_measured.json`.

## Measured on an H100, and what it takes at least

Times are the median of 11 calls from a cold L2 cache, on 2026-11-26. *Floor*: the necessary bytes at the rate
of a copy, 3.0 TB/s. *Bound*: the sum over the launches of the largest of all bounds. *Largest*: the
resource that needs most. Empty: not measured.
"""

INSTRUCTIONS = """
## Bytes and instructions

Per pixel, value or box of the output: bytes, and machine instructions of compute capability 9.0 by pipe. An
instruction of a warp counts 32 times, idle lanes included. *Of PTX*: machine instructions per PTX
instruction; far above 1, ptxas has copied code.
"""

CASES = """
## The cases

256 images per call.
"""
