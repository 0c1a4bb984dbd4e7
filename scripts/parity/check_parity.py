"""Compares orbbec with the installed OpenCV, Pillow and torchvision, bit by bit, on random cases.

    python scripts/parity/check_parity.py              25 cases per cell; writes nothing
    python scripts/parity/check_parity.py --full       2,000 cases per cell, 1,000 per line; writes docs
    python scripts/parity/check_parity.py --write      25 cases per cell; writes docs
    python scripts/parity/check_parity.py --report     writes the pages from the contents of docs/parity

docs/parity keeps the results; docs/project/parity.md sums them up, parity_cells.md next to it has each cell.

A cell is a warp, a dtype, an interpolation and a border; a line is a form of another operator and its
reference (tests/support/peers/peers.py). OpenCV 5 is compared with `arithmetic="cv2_5"`, OpenCV 4 with
`arithmetic="cv2_4"`. The exit status is 1 if a value differs where identity is promised.

OPENCV_IPP affects only one warp: warpPerspective of float32 with nearest in OpenCV 4.13.0.
"""

import platform
import subprocess
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Any

import cv2
import numpy as np
import torch
import typer

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[2]))
from report import print_lines, print_tables
from summary import write_report

import orbbec
from tests.support import photograph, similarity
from tests.support.peers import opencv, parity, peer_lines, peers
from tests.support.peers.tally import Tally
from tests.support.timing.records import write_records
from tests.support.warps import INTERPOLATIONS, WARPS

FULL, FULL_LINE = 2000, 1000
FEW = 200  # cases per cell where a difference is expected: enough to determine its size
CHUNK = 250  # cases per task, so that processes end at the same time
DOCS = Path(__file__).parents[2] / "docs"

Task = tuple[parity.Cell, int, int, str | None]  # the cell, cases, seed, orbbec's arithmetic if not OpenCV's


def start_worker() -> None:
    cv2.setNumThreads(1)
    torch.set_num_threads(1)


def run_task(task: Task) -> tuple[Task, parity.Tally]:
    cell, cases, seed, arithmetic = task
    return task, parity.compare(cell, opencv.arithmetic(), cases, seed, arithmetic)


def tasks_of(
    cells: Iterable[parity.Cell], cases: int, seed: int, arithmetic: str | None = None
) -> list[Task]:
    tasks = []
    for cell in cells:
        promised = arithmetic is None and parity.is_promised(cell, opencv.arithmetic())
        number = cases if promised else min(cases, FEW)
        tasks += [
            (cell, min(CHUNK, number - first), seed + first, arithmetic) for first in range(0, number, CHUNK)
        ]
    return tasks


def add(total: dict[str, Any], tally: parity.Tally) -> None:
    for name, value in asdict(tally).items():
        total[name] = max(total[name], value) if name == "largest_difference" else total[name] + value


def workers(processes: int) -> ProcessPoolExecutor:
    # Not forked, since a fork would wait forever for the threads of torch and OpenCV.
    return ProcessPoolExecutor(processes, get_context("spawn"), start_worker)


def run(tasks: list[Task], processes: int) -> list[dict[str, Any]]:
    """One row per cell and arithmetic, in the order of the tasks."""
    rows: dict[Any, dict[str, Any]] = {}
    for cell, _, _, arithmetic in tasks:
        promised = arithmetic is None and parity.is_promised(cell, opencv.arithmetic())
        rows[cell, arithmetic] = {
            **asdict(cell),
            "arithmetic": arithmetic or opencv.arithmetic(),
            "promised": promised,
            **asdict(parity.Tally()),
        }
    with workers(processes) as pool:
        for (cell, _, _, arithmetic), tally in progress(pool.map(run_task, tasks), len(tasks)):
            add(rows[cell, arithmetic], tally)
    return list(rows.values())


def run_line(task: tuple[str, int, int]) -> Tally:
    name, cases, seed = task
    return peers.compare(next(line for line in peer_lines.lines() if line.name == name), cases, seed)


def compare_lines(lines: list[peers.Line], cases: int, seed: int, processes: int) -> list[dict[str, Any]]:
    """One row per line."""
    tasks = [(line.name, cases, seed) for line in lines]
    with workers(processes) as pool:
        tallies = list(progress(pool.map(run_line, tasks), len(tasks)))
    return [
        {"op": line.op, "form": line.form, "promised": line.promised, **asdict(tally)}
        for line, tally in zip(lines, tallies, strict=True)
    ]


def progress(results: Iterable[Any], total: int) -> Iterable[Any]:
    try:
        from tqdm import tqdm
    except ImportError:
        return results
    return tqdm(results, total=total, unit="task", mininterval=1)  # type: ignore[no-any-return]


def measure_channels() -> list[dict[str, Any]]:
    """OpenCV's results for 2 and 5 channels, which orbbec treats like 1, 3 and 4."""
    rows = []
    for channels in (2, 5):
        for interpolation in INTERPOLATIONS:
            if channels > 4 and interpolation in ("cubic", "lanczos4"):
                continue  # OpenCV refuses these
            different = values = largest = 0
            for seed in range(20):
                image = photograph(60, 70, channels, seed=seed)
                matrix = similarity((60, 70), (50, 90), seed).numpy()
                options: dict[str, Any] = {"interpolation": interpolation}
                expected = opencv.warp("warp_affine", image, matrix, (50, 90), **options)
                actual = orbbec.warp_affine(
                    image, matrix, (50, 90), arithmetic=opencv.arithmetic(), **options
                )
                apart = np.abs(actual.astype(int) - expected)
                different, values = different + int((apart > 0).sum()), values + apart.size
                largest = max(largest, int(apart.max()))
            rows.append(
                {
                    "channels": channels,
                    "interpolation": interpolation,
                    "values": values,
                    "different_values": different,
                    "largest_difference": largest,
                }
            )
    return rows


def measure_without_avx2(seed: int) -> list[dict[str, Any]]:
    """OpenCV's results on processors without AVX2, where it does not fuse products and sums."""
    cv2.setUseOptimized(False)
    try:
        cells = [parity.Cell("warp_affine", "uint8", name, "constant") for name in INTERPOLATIONS]
        tallies = [parity.compare(cell, opencv.arithmetic(), 200, seed) for cell in cells]
    finally:
        cv2.setUseOptimized(True)
    return [{**asdict(cell), **asdict(tally)} for cell, tally in zip(cells, tallies, strict=True)]


def hangs_on_one_pixel() -> bool:
    """Whether cubic with reflect101 on a 1-pixel image takes OpenCV more than 10 seconds."""
    call = "cv2.warpAffine(numpy.zeros((1, 1), 'u1'), numpy.eye(2, 3), (9, 9), flags=2, borderMode=4)"
    try:
        subprocess.run([sys.executable, "-c", f"import cv2, numpy; {call}"], timeout=10, check=True)
    except subprocess.TimeoutExpired:
        return True
    return False


def processor() -> str:
    """The name of the processor, on Linux."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def compare_warps(number: int, seed: int, processes: int, op: list[str] | None) -> dict[str, Any]:
    """All cells, and the other facts in the report of the warps."""
    begin = time.monotonic()
    cells = [cell for cell in parity.cells() if op is None or cell.op in op]
    doubles = [cell for cell in cells if cell.dtype == "float64" and opencv.arithmetic() == "cv2_5"]
    tasks = tasks_of(cells, number, seed) + tasks_of(doubles, number, seed, "cv2_4")
    rows = run(tasks, processes)
    return {
        "opencv": opencv.opencv_version(),
        "arithmetic": opencv.arithmetic(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "orbbec": orbbec.__version__,
        "processor": processor(),
        "cases_per_cell": number,
        "cases_per_other_cell": min(number, FEW),
        "seed": seed,
        "cells": rows,
        "channels": measure_channels(),
        "without_avx2": measure_without_avx2(seed),
        "hangs_on_one_pixel": hangs_on_one_pixel(),
        "seconds": round(time.monotonic() - begin),
    }


def keep(name: str, result: dict[str, Any]) -> None:
    path = DOCS / "parity" / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_records(path, result)
    print(f"wrote {path}")


def main(
    cases: Annotated[int, typer.Option(help="Cases of each cell and line.")] = 25,
    full: Annotated[
        bool,
        typer.Option("--full", help=f"{FULL} cases of each cell, {FULL_LINE} of each line, and --write."),
    ] = False,
    write: Annotated[
        bool, typer.Option("--write", help="Keep the result in docs and write the report.")
    ] = False,
    report: Annotated[bool, typer.Option("--report", help="Write the report from earlier results.")] = False,
    op: Annotated[list[str] | None, typer.Option(help="Only this operator (may be repeated).")] = None,
    author: Annotated[
        list[str] | None, typer.Option(help="Only the lines of OpenCV, Pillow, torchvision.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Another seed, other cases.")] = 0,
    processes: Annotated[int, typer.Option(help="Cases run in so many processes.")] = 2,
) -> None:
    """Compare orbbec with the OpenCV, Pillow and torchvision that are installed, bit by bit."""
    broken = 0
    writes = (full or write) and op is None
    if not report and author is None and (op is None or set(op) & set(WARPS)):
        warps = compare_warps(FULL if full else cases, seed, processes, op)
        broken += print_tables(warps)
        if writes:
            keep(f"opencv-{warps['opencv']}", warps)
    for name in () if report else author or peers.MODULES:
        lines = [line for line in peer_lines.lines() if line.author == name and (op is None or line.op in op)]
        if not lines:
            continue
        rows = compare_lines(lines, FULL_LINE if full else cases, seed, processes)
        result = {"author": name, "version": peers.version(name), "processor": processor(), "lines": rows}
        broken += print_lines(result)
        if writes:
            keep(f"operators-{name}-{result['version']}", result)
    if report or writes:
        write_report(DOCS)
    if broken:
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
