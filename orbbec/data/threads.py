"""How many threads there may be, and threads that compute alone."""

from __future__ import annotations

import math
import os
from pathlib import Path
from threading import Thread

import torch

_GROUPS = Path("/sys/fs/cgroup")


def thread_budget(cgroups: Path = _GROUPS) -> int:
    """How many threads can run at once: the least of what limits this process.

    These are the cores it may run on, the quota of its control group (version 1 or 2), and OMP_NUM_THREADS.

    Args:
        cgroups: where the control groups are mounted.

    Example:
        >>> thread_budget() >= 1
        True
    """
    limits = [_cores(), _omp_num_threads(), _quota(cgroups)]
    return max(1, min(limit for limit in limits if limit is not None))


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _omp_num_threads() -> int | None:
    first = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    return int(first) if first.isdigit() and int(first) else None


def _quota(cgroups: Path) -> int | None:
    """Whole cores, rounded up, of the tightest group that this process is in."""
    shares = [share for folder in _own_groups(cgroups) for share in (_share_v2(folder), _share_v1(folder))]
    found = [share for share in shares if share is not None]
    return math.ceil(min(found)) if found else None


def _own_groups(cgroups: Path) -> list[Path]:
    """The folders of this process's group and of those above it, as mounted."""
    lines = _read(Path("/proc/self/cgroup")).splitlines()
    paths = [line.split(":", 2)[2].lstrip("/") for line in lines if line.startswith("0::")]
    own = [cgroups / path for path in paths]
    above = [parent for folder in own for parent in folder.parents if parent.is_relative_to(cgroups)]
    return [*own, *above, cgroups, cgroups / "cpu"]


def _share_v2(folder: Path) -> float | None:
    quota, *period = _read(folder / "cpu.max").split() or ["max"]
    return int(quota) / int(period[0]) if quota.isdigit() and period else None


def _share_v1(folder: Path) -> float | None:
    quota, period = _read(folder / "cpu.cfs_quota_us").strip(), _read(folder / "cpu.cfs_period_us").strip()
    return int(quota) / int(period) if quota.isdigit() and period.isdigit() else None


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def compute_alone(others: int) -> None:
    """Let torch's operators use no other threads when this thread calls them.

    Args:
        others: how many the operators of other threads use, `torch.get_num_threads()` there.
    """
    torch.get_num_threads()  # the first question of a thread sets its number to the default
    torch.set_num_threads(1)  # of this thread, and the default of those that come
    restore = Thread(target=torch.set_num_threads, args=(others,))
    restore.start()
    restore.join()
