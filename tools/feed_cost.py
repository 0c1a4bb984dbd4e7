"""What an image costs the Loader: by the feed's C++ threads, and by the Python functions alone.

    python tools/feed_cost.py SOURCE                                   images, shards, records; batches of 256
    python tools/feed_cost.py SOURCE --batch 8 --rounds 1              to test this script

Rounds are interleaved and medians are printed, of epochs whose plans are not applied. `python -m
tests.support.timing.jpegs FOLDER` makes JPEGs.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from orbbec import transforms as T
from orbbec.cli.bench_data import Files
from orbbec.data import Loader, open_source
from orbbec.data.readers.folders import EXTENSIONS
from orbbec.data.readers.paths import image_files

KINDS = {"feed": "1", "Python": "0"}  # and ORBBEC_FEED
BUSY = "while True: sum(range(2000))"


class Timed(Loader):
    """A loader that knows the CPU time of its Python threads."""

    python = 0.0  # seconds

    def _assembled(self, task: Any, stopped: Any) -> Any:
        began = time.thread_time()
        try:
            return super()._assembled(task, stopped)
        finally:
            self.python += time.thread_time() - began


def epoch(loader: Timed) -> dict[str, float]:
    """The costs of an image over an epoch."""
    loader.python, images = 0.0, 0
    clock, cpu, main = time.perf_counter(), time.process_time(), time.thread_time()
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for batch in loader.planned():
        images += len(batch.images)
    python = loader.python + time.thread_time() - main
    cpu = time.process_time() - cpu
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults
    return {
        "wall time, ms": 1e3 * (time.perf_counter() - clock) / images,
        "CPU time, ms": 1e3 * cpu / images,
        "of it Python threads, us": 1e6 * python / images,
        "fraction of them": python / cpu,
        "page faults": faults / images,
    }


def first_batch(loader: Timed) -> dict[str, float]:
    """The time to the first batch of an epoch."""
    began = time.perf_counter()
    next(iter(loader.planned()))
    seconds = time.perf_counter() - began
    loader.close()
    return {"first batch, ms": 1e3 * seconds}


@contextmanager
def a_process() -> Iterator[None]:
    """A process that computes."""
    other = subprocess.Popen([sys.executable, "-S", "-c", BUSY])
    yield
    other.kill()
    other.wait()


@contextmanager
def a_thread() -> Iterator[None]:
    """A Python thread that computes."""
    ends = threading.Event()

    def work() -> None:
        while not ends.is_set():
            sum(range(2000))

    thread = threading.Thread(target=work)
    thread.start()
    yield
    ends.set()
    thread.join()


def next_to_a_thread(loader: Timed) -> dict[str, float]:
    """The speed while a Python thread computes, relative to that while a process does."""
    with a_process():
        alone = epoch(loader)["wall time, ms"]
    with a_thread():
        return {"speed left by a Python thread that computes": alone / epoch(loader)["wall time, ms"]}


def medians(loaders: dict[str, Timed], rounds: int, cost: Callable[[Timed], dict[str, float]]) -> None:
    """Print the costs of each loader."""
    found: dict[str, dict[str, list[float]]] = {}
    for _ in range(rounds):
        for kind, loader in loaders.items():
            for name, value in cost(loader).items():
                found.setdefault(name, {}).setdefault(kind, []).append(value)
    for name, kinds in found.items():
        print(
            f"{name:<42}" + "".join(f"{statistics.median(kinds[kind]):>10.3f}" for kind in loaders),
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", help="a folder of images, or what open_source opens")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    images = image_files(options.source, EXTENSIONS) if Path(options.source).is_dir() else []
    source = Files(images) if images else open_source(options.source)

    def loaders(threads: int) -> dict[str, Timed]:
        made = {}
        for kind, value in KINDS.items():
            os.environ["ORBBEC_FEED"] = value
            pipeline = T.Compose([T.RandomResizedCrop(224), T.RandomHorizontalFlip()])
            made[kind] = Timed(source, options.batch, pipeline, threads=threads)
            for _ in range(2):  # memory is touched once
                epoch(made[kind])
        return made

    one, two = loaders(1), loaders(2)
    print(f"{'medians per image':<42}" + "".join(f"{kind:>10}" for kind in KINDS))
    print("two threads")
    medians(two, options.rounds, epoch)
    medians(two, options.rounds, first_batch)
    print("one thread")
    medians(one, options.rounds, epoch)
    medians(one, options.rounds, next_to_a_thread)


if __name__ == "__main__":
    main()
