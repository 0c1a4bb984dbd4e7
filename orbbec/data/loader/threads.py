"""The number of threads available, and threads without torch's intra-op parallelism."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread, current_thread

import torch

from orbbec._library import set_default_arithmetic
from orbbec.data.loader.limits import GROUPS, cpu_quota, positive, ranks_here, text_of

_NODES = Path("/sys/devices/system/node")


def thread_budget(cgroups: Path = GROUPS, cores: Sequence[int] = (), on_cuda: bool = False) -> int:
    """The number of threads that can run at once.

    This is the minimum of the usable cores, the quota of the control group (version 1 or 2), and
    OMP_NUM_THREADS. If LOCAL_WORLD_SIZE is set, as by torchrun, that many ranks share the cores of their
    launcher and the quota equally. An OMP_NUM_THREADS of 1 is ignored then: torchrun sets it for every rank.

    Args:
        cgroups: mount point of the control groups.
        cores: cores that threads are bound to; empty: those of the process.
        on_cuda: leave one of three or more to the training loop, whose launches a busy core delays.

    Example:
        >>> thread_budget() >= 1
        True
    """
    ranks = ranks_here()
    omp, quota = positive("OMP_NUM_THREADS"), cpu_quota(cgroups)
    limits = [
        len(cores) or len(_own_cores()),
        None if ranks == 1 else len(_launcher_cores()) // ranks,
        None if ranks > 1 and omp == 1 else omp,
        None if quota is None else math.ceil(quota / ranks),
    ]
    budget = max(1, min(limit for limit in limits if limit is not None))
    return budget - 1 if on_cuda and budget > 2 else budget


def node_cores(node: int, nodes: Path = _NODES) -> list[int]:
    """The cores of a NUMA node that this process may use.

    Raises:
        ValueError: the node does not exist, or this process may not use it.
    """
    cores = sorted(_own_cores() & _numbers(text_of(nodes / f"node{node}" / "cpulist")))
    if not cores:
        there = sorted(path.parent.name[4:] for path in nodes.glob("node*/cpulist"))
        raise ValueError(f"Loader: expected numa as one of {', '.join(there) or 'none'}, but got {node}")
    return cores


def _numbers(listed: str) -> set[int]:
    """The numbers of a list such as "0-3,8"."""
    ends = [part.split("-") for part in listed.split(",") if part.strip()]
    return {number for end in ends for number in range(int(end[0]), int(end[-1]) + 1)}


def _own_cores() -> set[int]:
    has_limits = hasattr(os, "sched_getaffinity")
    return os.sched_getaffinity(0) if has_limits else set(range(os.cpu_count() or 1))


def _launcher_cores() -> set[int]:
    """The cores of the parent process, of which a rank may be bound to some."""
    with suppress(OSError, AttributeError):
        return os.sched_getaffinity(os.getppid())
    return _own_cores()


def begin_worker(others: int, cores: Sequence[int], arithmetic: str) -> None:
    """Set up a worker thread: no intra-op parallelism, a default arithmetic, and cores if there are any."""
    compute_alone(others)
    set_default_arithmetic(arithmetic)
    if cores:
        os.sched_setaffinity(0, cores)  # this thread only


def compute_alone(others: int) -> None:
    """Make torch's operators run on this thread only when it calls them.

    Args:
        others: number of threads for operators of other threads, `torch.get_num_threads()` there.
    """
    torch.get_num_threads()  # the first call in a thread sets its number to the default
    torch.set_num_threads(1)  # for this thread, and the default of new threads
    name = f"{current_thread().name}-begins"
    restore = Thread(target=torch.set_num_threads, name=name, args=(others,))
    restore.start()
    restore.join()
