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

_GROUPS = Path("/sys/fs/cgroup")
_NODES = Path("/sys/devices/system/node")


def thread_budget(cgroups: Path = _GROUPS, cores: Sequence[int] = ()) -> int:
    """The number of threads that can run at once.

    This is the minimum of the usable cores, the quota of the control group (version 1 or 2), and
    OMP_NUM_THREADS. If LOCAL_WORLD_SIZE is set, as by torchrun, that many ranks share the cores of their
    launcher and the quota equally. An OMP_NUM_THREADS of 1 is ignored then: torchrun sets it for every rank.

    Args:
        cgroups: mount point of the control groups.
        cores: cores that threads are bound to; empty: those of the process.

    Example:
        >>> thread_budget() >= 1
        True
    """
    ranks = _positive("LOCAL_WORLD_SIZE") or 1
    omp, quota = _positive("OMP_NUM_THREADS"), _quota(cgroups)
    limits = [
        len(cores) or len(_own_cores()),
        None if ranks == 1 else len(_launcher_cores()) // ranks,
        None if ranks > 1 and omp == 1 else omp,
        None if quota is None else math.ceil(quota / ranks),
    ]
    return max(1, min(limit for limit in limits if limit is not None))


def node_cores(node: int, nodes: Path = _NODES) -> list[int]:
    """The cores of a NUMA node that this process may use.

    Args:
        node: its number.
        nodes: folder of the system's list of nodes.

    Raises:
        ValueError: the node does not exist, or this process may not use it.
    """
    cores = sorted(_own_cores() & _numbers(_read(nodes / f"node{node}" / "cpulist")))
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


def _positive(name: str) -> int | None:
    """The number in an environment variable; None if there is none, or zero. Of a list, the first."""
    first = os.environ.get(name, "").split(",")[0].strip()
    return int(first) or None if first.isascii() and first.isdigit() else None


def _quota(cgroups: Path) -> float | None:
    """The smallest quota of the process's control groups, in cores."""
    quotas = [quota for folder in _own_groups(cgroups) for quota in (_quota_v2(folder), _quota_v1(folder))]
    return min((quota for quota in quotas if quota is not None), default=None)


def _own_groups(cgroups: Path) -> list[Path]:
    """The mounted folders of this process's control group and its parents."""
    lines = _read(Path("/proc/self/cgroup")).splitlines()
    paths = [line.split(":", 2)[2].lstrip("/") for line in lines if line.startswith("0::")]
    own = [cgroups / path for path in paths]
    above = [parent for folder in own for parent in folder.parents if parent.is_relative_to(cgroups)]
    return [*own, *above, cgroups, cgroups / "cpu"]


def _quota_v2(folder: Path) -> float | None:
    quota, *period = _read(folder / "cpu.max").split() or ["max"]
    return int(quota) / int(period[0]) if quota.isdigit() and period else None


def _quota_v1(folder: Path) -> float | None:
    quota, period = _read(folder / "cpu.cfs_quota_us").strip(), _read(folder / "cpu.cfs_period_us").strip()
    return int(quota) / int(period) if quota.isdigit() and period.isdigit() else None


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def begin_worker(others: int, cores: Sequence[int], arithmetic: str) -> None:
    """Set up a worker thread: no intra-op parallelism, bound to `cores` if given.

    Args:
        others: see `compute_alone`.
        cores: cores that it may use; empty: those of the process.
        arithmetic: the default arithmetic of this thread.
    """
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
