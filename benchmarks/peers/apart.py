"""Times rivals one after another in another process: one that raises, crashes or hangs costs only itself."""

from __future__ import annotations

import math
import multiprocessing
import statistics
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import groupby
from multiprocessing.connection import Connection
from operator import itemgetter
from typing import Any

from benchmarks.peers import runs
from benchmarks.peers.contest import Absent, Rival, Scene, Workload, examined, reason_of, why_missing
from tests.support.timing import measure
from tests.support.timing.measure import Result, Timing

SECONDS = 60.0  # a rival may take, its libraries and inputs included
Run = tuple[str, str]  # of a workload and a rival, the names


def all_of(
    titles: Sequence[str],
    device: str,
    rounds: int,
    seconds: float = SECONDS,
    show: Callable[..., Any] = print,
) -> Iterator[runs.Outcome]:
    """The outcome of each workload, as soon as its rivals are timed; a line is shown for each of them."""
    planned = [(title, rival.name) for title in titles for rival in rivals_of(workload_of(title), device)]
    for title, found in groupby(outcomes(planned, device, rounds, seconds), key=lambda pair: pair[0][0]):
        workload = workload_of(title)
        absent = [Absent(title, name, why) for name, why in workload.left_out.items()]
        timings: list[Timing] = []
        for (_, name), (outcome, images) in found:
            show(line_of(title, name, outcome), flush=True)
            if isinstance(outcome, Timing):
                timings.append(outcome)
                result = Result("peers", title, 1, images, 0, clock(device), timings, workload.unit)
            else:
                absent.append(Absent(title, name, outcome))
        yield [result] if timings else [], absent


def clock(device: str) -> str:
    return measure.clock_of(device, 1)


def workload_of(title: str) -> Workload:
    return next(one for one in runs.WORKLOADS if one.title == title)


def rivals_of(workload: Workload, device: str) -> list[Rival]:
    return [rival for rival in workload.contenders if device in rival.devices]


def line_of(title: str, name: str, outcome: Timing | str) -> str:
    """What came of a rival, as a line of text.

    Example:
        >>> print(line_of("W5 nms", "NumPy", "not installed"))
        W5 nms                                   NumPy                                not timed: not installed
    """
    if isinstance(outcome, str):
        text = f"not timed: {outcome}"
    else:
        text = f"{1e6 * statistics.median(outcome.wall):10.1f} us a call"
    return f"{title:40} {name:36} {text}"


def outcomes(
    planned: Sequence[Run], device: str, rounds: int, seconds: float
) -> Iterator[tuple[Run, tuple[Timing | str, int]]]:
    """What comes of each run: its timing or why there is none, and the images of its workload.

    One process does the runs; another one continues after a run that ended it or took too long.
    """
    left = deque(planned)
    while left:
        here, there = multiprocessing.Pipe(duplex=False)
        context = multiprocessing.get_context("spawn")
        process = context.Process(target=time_runs, args=(there, list(left), device, rounds))
        process.start()
        there.close()
        try:
            here.recv()  # it has started
            while left:
                if not here.poll(seconds):
                    yield left.popleft(), (f"not done after {seconds:.0f} s", 0)
                    break
                outcome = here.recv()
                yield left.popleft(), outcome
        except EOFError:
            process.join()
            yield left.popleft(), (f"its process ended with status {process.exitcode}", 0)
        finally:
            process.kill()
            process.join()


def time_runs(connection: Connection, planned: Sequence[Run], device: str, rounds: int) -> None:
    """Send None, then what comes of each run."""
    runs.settle(1)
    measure.set_threads(1)
    connection.send(None)
    for title, group in groupby(planned, key=itemgetter(0)):
        workload = workload_of(title)
        prepared = cache(lambda workload=workload: workload.prepare(device))
        for _, name in group:
            rival = next(rival for rival in rivals_of(workload, device) if rival.name == name)
            connection.send(outcome_of(rival, prepared, device, rounds))


def outcome_of(
    rival: Rival, prepared: Callable[[], Scene], device: str, rounds: int
) -> tuple[Timing | str, int]:
    """The timing of a rival and the images of a call, or why there is no timing."""
    if why := why_missing(rival.package):
        return why, 0
    try:
        scene = prepared()
        contender, timing = examined(rival, scene)
        sample = measure.sample_on_cuda if device == "cuda" else measure.sample_on_cpu
        lasts = measure.seconds_a_run(contender.run, sample)
        for _ in range(rounds):
            wall, cpu = sample(contender.run, max(1, math.ceil(measure.SAMPLE_SECONDS / lasts)))
            timing.wall.append(wall)
            timing.cpu.append(cpu)
    except (Exception, measure.Refused) as error:  # other libraries raise anything
        return reason_of(error), 0
    return timing, scene.images
