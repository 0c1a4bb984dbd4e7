"""What the environment and the control groups (version 1 or 2) leave to a process."""

from __future__ import annotations

import os
from pathlib import Path

GROUPS = Path("/sys/fs/cgroup")


def cpu_quota(cgroups: Path = GROUPS) -> float | None:
    """The smallest quota of the process's control groups, in cores; None if there is none."""
    quotas = [
        quota for folder in _folders(cgroups, "cpu") for quota in (_quota_v2(folder), _quota_v1(folder))
    ]
    return min((quota for quota in quotas if quota is not None), default=None)


def memory_bytes(cgroups: Path = GROUPS) -> int:
    """The memory of the machine, or what the process's control groups may use of it.

    Example:
        >>> memory_bytes() >= 1
        True
    """
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for folder in _folders(cgroups, "memory"):
        for name in ("memory.max", "memory.limit_in_bytes"):  # without a limit: "max", or above the machine's
            text = text_of(folder / name).strip()
            limits += [int(text)] if text.isdigit() else []
    return min(limits)


def ranks_here() -> int:
    """The number of processes of a launcher, such as torchrun, that share the machine."""
    return positive("LOCAL_WORLD_SIZE") or 1


def positive(name: str) -> int | None:
    """The number in an environment variable; None if there is none, or zero. Of a list, the first."""
    first = os.environ.get(name, "").split(",")[0].strip()
    return int(first) or None if first.isascii() and first.isdigit() else None


def text_of(path: Path) -> str:
    """The text of a file of the system; empty if it cannot be read."""
    try:
        return path.read_text()
    except OSError:
        return ""


def _folders(cgroups: Path, controller: str) -> list[Path]:
    """The mounted folders of this process's control group and its parents."""
    lines = text_of(Path("/proc/self/cgroup")).splitlines()
    paths = [line.split(":", 2)[2].lstrip("/") for line in lines if line.startswith("0::")]
    of_process = [cgroups / path for path in paths]
    above = [parent for folder in of_process for parent in folder.parents if parent.is_relative_to(cgroups)]
    return [*of_process, *above, cgroups, cgroups / controller]


def _quota_v2(folder: Path) -> float | None:
    quota, *period = text_of(folder / "cpu.max").split() or ["max"]
    return int(quota) / int(period[0]) if quota.isdigit() and period else None


def _quota_v1(folder: Path) -> float | None:
    quota, period = (text_of(folder / f"cpu.cfs_{name}_us").strip() for name in ("quota", "period"))
    return int(quota) / int(period) if quota.isdigit() and period.isdigit() else None
