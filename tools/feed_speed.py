"""Times the Loader with 1 to all threads: images a second, cores that are busy, CPU time of an image.

    python tools/feed_speed.py FOLDER                 the JPEGs of a folder to the GPU, in batches of 256
    python tools/feed_speed.py FOLDER --decode device                      decoded there
    python tools/feed_speed.py FOLDER --device cpu --batch 8 --epochs 1    to test this script

`python -m tests.support.timing.jpegs FOLDER` makes JPEGs.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))
from orbbec import transforms as T
from orbbec.cli.bench_data import Files, jpegs_below
from orbbec.data import Decoding, Loader

DECODINGS = {"host": Decoding(), "planes": Decoding(planes=True), "device": Decoding(device="cuda")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--decode", default="host", choices=DECODINGS)
    parser.add_argument("folder", help="of JPEGs")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--epochs", type=int, default=2, help="after one that is not timed")
    parser.add_argument("--json", type=Path, help="write the rows as JSON, after each")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    paths = jpegs_below(options.folder)
    for threads in thread_counts(len(os.sched_getaffinity(0))):
        rows.append({"threads": threads, **speed(paths, threads, options)})
        print(line_of(rows[-1]), flush=True)
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1) + "\n")


def thread_counts(cores: int) -> list[int]:
    """Powers of two up to all cores.

    Example:
        >>> thread_counts(12)
        [1, 2, 4, 8, 12]
    """
    return sorted({*(1 << n for n in range(cores.bit_length()) if 1 << n <= cores), cores})


def speed(paths: list[str], threads: int, options: argparse.Namespace) -> dict[str, float]:
    """Images a second over the timed epochs, and the CPU time of this process in them."""
    pipeline = T.Compose(
        [
            T.RandomResizedCrop(224),
            T.RandomHorizontalFlip(),
            T.ToDtype(torch.float32, scale=True),
            T.Normalize(),
        ]
    )
    decoding = DECODINGS[options.decode]
    with Loader(
        Files(paths), options.batch, pipeline, options.device, threads=threads, decoding=decoding
    ) as loader:
        for epoch in range(1 + options.epochs):
            if epoch == 1:
                began, cpu = time.perf_counter(), time.process_time()
            loader.set_epoch(epoch)
            images = sum(len(batch.images) for batch in loader)
        if options.device == "cuda":
            torch.cuda.synchronize()
    spent, cpu = time.perf_counter() - began, time.process_time() - cpu
    images *= options.epochs
    return {
        "images_per_second": images / spent,
        "busy_cores": cpu / spent,
        "cpu_milliseconds": 1e3 * cpu / images,
    }


def line_of(row: dict[str, Any]) -> str:
    """A row as a line of text.

    Example:
        >>> row = {"images_per_second": 3101.4, "busy_cores": 2.8, "cpu_milliseconds": 0.9}
        >>> line_of({"threads": 8, **row})
        ' 8 threads:   3101 images/s,  2.8 cores busy,  0.90 ms of CPU time per image'
    """
    return (
        f"{row['threads']:2} threads: {row['images_per_second']:6.0f} images/s, "
        f"{row['busy_cores']:4.1f} cores busy, {row['cpu_milliseconds']:5.2f} ms of CPU time per image"
    )


if __name__ == "__main__":
    main()
