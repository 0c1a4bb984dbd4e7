"""How much faster a recipe makes a batch than its original: on one core, and on two."""

import multiprocessing
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

import torch

CORES = 2
ROUNDS = 9
PAUSE = 0.01  # seconds, in which threads that wait for more work fall asleep


def one_core_ratio(recipe: Callable[[], Any], original: Callable[[], Any], batch: int) -> float:
    """CPU seconds of a batch of the original, one by one, over those of the recipe, in turns."""
    ratios = []
    for _ in range(ROUNDS):
        moments = [time.process_time()]
        recipe()
        moments.append(time.process_time())
        for _ in range(batch):
            original()
        moments.append(time.process_time())
        ratios.append((moments[2] - moments[1]) / (moments[1] - moments[0]))
    return statistics.median(ratios)


def two_core_ratio(recipe: Callable[[], Any], original: Callable[[], Any], batch: int) -> float:
    """Wall seconds of the original in two processes over those of the recipe with two threads, in turns.

    Each process makes a batch, and the recipe two. The processes drop what they make, where the workers of a
    `DataLoader` send it.
    """
    ratios = []
    with _workers(original, batch) as pipes:
        torch.set_num_threads(CORES)
        for _ in range(ROUNDS):
            ours = _seconds(lambda: _repeated(recipe))
            ratios.append(_seconds(lambda: _batches(pipes)) / ours)
        torch.set_num_threads(1)
    return statistics.median(ratios)


@contextmanager
def _workers(draw: Callable[[], Any], batch: int) -> Iterator[list[Connection]]:
    """Processes that make a batch whenever something arrives in their pipes."""
    fork = multiprocessing.get_context("fork")
    pipes = [fork.Pipe() for _ in range(CORES)]
    workers = [fork.Process(target=_serve, args=(pipe, draw, batch), daemon=True) for _, pipe in pipes]
    for worker in workers:
        worker.start()
    ends = [end for end, _ in pipes]
    _batches(ends)  # the first batch of a process also fills caches
    yield ends
    for worker in workers:
        worker.terminate()
        worker.join()


def _serve(pipe: Connection, draw: Callable[[], Any], batch: int) -> None:
    torch.set_num_threads(1)
    while True:
        pipe.recv()
        for _ in range(batch):
            draw()
        pipe.send(True)


def _repeated(recipe: Callable[[], Any]) -> None:
    for _ in range(CORES):
        recipe()


def _batches(pipes: list[Connection]) -> None:
    for pipe in pipes:
        pipe.send(True)
    for pipe in pipes:
        pipe.recv()


def _seconds(call: Callable[[], Any]) -> float:
    time.sleep(PAUSE)
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
