"""The tables of docs/project/gpu_model_cases.md: cases, batch sizes, torchvision."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from tests.gpu.model.cases import BATCH
from tests.gpu.model.gpus import GPUS, H200, L4, T4
from tests.gpu.model.registers import registers_for
from tests.gpu.model.report import Row, rows_of
from tests.gpu.ptx.compile import ROOT

DATA = ROOT / "docs" / "benchmarks"
BEFORE = DATA / "gpu_model_before.json"
TORCHVISION = DATA / "gpu_model_torchvision.json"
BATCHES = [(H200, 1), (H200, 8), (H200, 64), (H200, 256), (L4, 64), (T4, 64)]
Totals = dict[tuple[str, str], Row]


def write_rows(path: Path, about: str, rows: Sequence[Row]) -> None:
    """JSON with one row per line."""
    lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
    path.write_text(f'{{"about": "predicted, not measured{about}", "rows": [\n{lines}\n]}}\n')


def read_rows(path: Path) -> Totals:
    """By case and GPU."""
    rows = json.loads(path.read_text())["rows"] if path.exists() else []
    return {(row["case"], row["gpu"]): row for row in rows}


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def percent(share: float) -> str:
    if share >= 0.1:
        return f"{share:.0%}"
    return f"{100 * share:.1g}%" if share < 0.01 else f"{100 * share:.1f}%"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return [f"| {' | '.join(line)} |" for line in lines]


def results(found: Sequence[Row], totals: Totals) -> list[str]:
    """Microseconds before and now, the fraction of the floor and the limit, per GPU."""
    before = read_rows(BEFORE)

    def cell(case: str, gpu: str) -> str:
        row, old = totals[case, gpu], before.get((case, gpu))
        was = f"{number(old['microseconds'])} → " if old else ""
        return f"{was}{number(row['microseconds'])}, {percent(row['share_of_floor'])} {row['limited_by']}"

    names = [gpu.name for gpu in GPUS.values()]
    rows = [[f"`{row['case']}`", *(cell(row["case"], name) for name in names)] for row in found]
    return ["", "## All cases", "", ALL, "", *table(["case", *names], rows)]


ALL = """\
Microseconds of the kernels before their redesign for GPUs and now; the fraction of the floor now, and what
limits it."""


def batch_sizes(found: Sequence[Row], ptx: Path) -> list[str]:
    """The fraction of the floor at other batches, of the cases whose batch is one of images."""
    kernels = {counts["kernel"] for row in found for counts in row["launches"]}
    registers = {gpu.name: registers_for(kernels, ptx, gpu.capability) for gpu in (H200, L4, T4)}

    def share(row: Row, batch: int) -> Row:
        scale = batch / BATCH
        pixels = max(1, round(row["modelled_pixels"] * scale))
        return row | {"factor": row["factor"] * scale, "modelled_pixels": pixels}

    rows = []
    for row in found:
        if row["unit"] != "pixel":
            continue
        totals = [rows_of(share(row, batch), gpu, registers[gpu.name])[-1] for gpu, batch in BATCHES]
        rows.append([f"`{row['case']}`", *(percent(total["share_of_floor"]) for total in totals)])
    head = ["case", *(f"{gpu.name}, {batch}" for gpu, batch in BATCHES)]
    return ["", "## Batch sizes", "", SIZES, "", *table(head, rows)]


SIZES = """\
The fraction of the floor with fewer images; launches, of about 1 us each, are not in it. Warps and blurs of
bytes cut few images into smaller blocks than these, so that their figures for 1 and 8 images are too low."""


def torchvision(totals: Totals) -> list[str]:
    """Microseconds of both, per GPU."""
    theirs = read_rows(TORCHVISION)
    names = [gpu.name for gpu in GPUS.values()]

    def cell(case: str, gpu: str) -> str:
        ours, other = totals[case, gpu]["microseconds"], theirs[case, gpu]["microseconds"]
        return f"{number(other)} / {number(ours)} = {other / ours:.2g}"

    cases = sorted({case for case, _ in theirs if (case, H200.name) in totals})
    if not cases:
        return []
    rows = [[f"`{case}`", *(cell(case, name) for name in names)] for case in cases]
    return ["", "## Compared with torchvision", "", RIVAL, "", *table(["case", *names], rows)]


RIVAL = """\
Predicted microseconds of torchvision's kernels, of ours, and the ratio. `python tools/gpu_model.py --rivals
--page` runs the PTX that torchvision 0.28 embeds on the same executor, with the same boxes and maps. It keeps
the same boxes, and its values agree to 1e-5. PyTorch embeds no PTX of `grid_sample` and `interpolate`, and
CV-CUDA none of its image operators, so that these cannot be compared."""
