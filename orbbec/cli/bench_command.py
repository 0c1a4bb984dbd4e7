"""The command `python -m orbbec bench-data`."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Annotated

import typer


def bench_data_command(
    folder: Annotated[Path, typer.Argument(help="A folder; all JPEGs below it are used.")],
    threads: Annotated[
        str, typer.Option(help="Numbers of threads, such as 1,2: there is a table for each.")
    ] = "1,2",
    images: Annotated[int, typer.Option(min=1, help="Images per round.")] = 512,
    rounds: Annotated[
        int, typer.Option(min=1, help="Rounds of each contender, after a round that is not counted.")
    ] = 5,
    decode: Annotated[
        str, typer.Option(help="host, or device: also batches on the GPU, decoded on the host or there.")
    ] = "host",
) -> None:
    """Time your JPEGs from disk to batches: the Loader, threads with cv2, and torchvision's DataLoader."""
    from orbbec.cli.bench_data import first_cores, jpegs_below, measure, table

    if re.fullmatch(r"[1-9]\d*(,[1-9]\d*)*", threads) is None:
        raise ValueError(f"bench-data: expected --threads as numbers from 1, such as 1,2, but got {threads}")
    paths = jpegs_below(folder)
    for count in map(int, threads.split(",")):
        cores = len(first_cores(count))
        used = f"{count} thread{'s' * (count > 1)} on {cores} core{'s' * (cores > 1)}"
        print(f"\n{len(paths)} JPEGs to [64, 3, 224, 224] float32, {used}", flush=True)
        rows = measure(paths, count, images, rounds, _show, decode)
        _show("")
        print(table(rows), flush=True)


def _show(text: str) -> None:
    """Show a line on the terminal, in place of the last one."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
