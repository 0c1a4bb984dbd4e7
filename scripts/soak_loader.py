"""Reads JPEGs through a loader for many epochs, and checks that memory and descriptors do not grow.

    python scripts/soak_loader.py [--epochs 200] [--images 64]

Epochs end in turn at their end, by `break`, and by an exception. Memory may grow at first, when a new maximum
of batches is held at once. The exit status is 1 if, after half of the epochs, there are more descriptors or
threads, or 2 % more memory.
"""

import os
import tempfile
import threading
from pathlib import Path
from typing import Annotated, NamedTuple

import torch
import typer
from make_photos import write_photos

from orbbec.data import ImageFolder, Loader
from orbbec.transforms import Normalize, RandomHorizontalFlip, RandomResizedCrop, ToDtype

POINTS = 10
GROWTH = 0.02  # of the memory after half of the epochs
BATCH = 8
MIB = 1 << 20


class Point(NamedTuple):
    """The resources of this process."""

    epoch: int
    resident: float  # MiB
    descriptors: int
    threads: int

    @classmethod
    def now(cls, epoch: int) -> "Point":
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        resident = pages * os.sysconf("SC_PAGE_SIZE") / MIB
        return cls(epoch, resident, len(os.listdir("/proc/self/fd")), threading.active_count())


def run_epoch(loader: Loader, epoch: int) -> None:
    """Take the batches of an epoch; in two of five epochs only some."""
    try:
        for number, _ in enumerate(loader):
            if number == 2 and epoch % 5 == 1:
                break
            if number == 2 and epoch % 5 == 3:
                raise InterruptedError
    except InterruptedError:
        loader.close()


def main(
    epochs: Annotated[int, typer.Option(min=POINTS)] = 200,
    images: Annotated[int, typer.Option(min=1)] = 64,
) -> None:
    """Soak a loader: 200 epochs of 64 photographs."""
    crop = RandomResizedCrop(224, antialias=False)
    pipeline = [crop, RandomHorizontalFlip(), ToDtype(torch.float32, scale=True), Normalize()]
    points = []
    with tempfile.TemporaryDirectory() as folder:
        write_photos(Path(folder), images)
        loader = Loader(ImageFolder(folder), BATCH, pipeline)
        for epoch in range(epochs):
            loader.set_epoch(epoch)
            run_epoch(loader, epoch)
            if (epoch + 1) * POINTS // epochs > len(points):
                points.append(Point.now(epoch + 1))
                print("epoch {:4d}  {:7.1f} MiB  {:3d} descriptors  {:2d} threads".format(*points[-1]))
    middle, last = points[POINTS // 2 - 1], points[-1]
    for before in (points[0], middle):
        print(f"memory {last.resident / before.resident - 1:+.1%} since epoch {before.epoch}")
    has_grown = last.resident > (1 + GROWTH) * middle.resident
    if has_grown or last.descriptors > middle.descriptors or last.threads > middle.threads:
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
