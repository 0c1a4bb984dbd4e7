"""Workloads: a scene, the contenders that do the same work, and the reasons why rivals are missing."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Protocol, TypeVar

import torch

from orbbec.bridge.arguments import Array
from tests.support.timing.benchmark import Contender, Work
from tests.support.timing.measure import Refused, Timing, check

T = TypeVar("T")
CPU, CUDA, BOTH = ("cpu",), ("cuda",), ("cpu", "cuda")
# The rivals: import names and distributions.
PACKAGES = {
    "cv2": "opencv-python-headless",
    "PIL": "pillow",
    "torchvision": "torchvision",
    "kornia": "kornia",
    "kornia_rs": "kornia-rs",
    "albumentations": "albumentationsx",
    "nvidia.dali": "nvidia-dali-cuda130",
    "spdl.io": "spdl",
    "simplejpeg": "simplejpeg",
    "cvcuda": "cvcuda-cu13",
}
LONGEST_REASON = 160


class Scene(Protocol):
    """The inputs of a workload and the expected output."""

    @property
    def expected(self) -> Array: ...
    @property
    def images(self) -> int: ...


@dataclass(frozen=True)
class Rival:
    """One implementation of a workload.

    Args:
        name: library and variant.
        package: the package that it imports; "orbbec" for ours.
        make: makes a function that does the work once from the scene.
        least_psnr: lower limit for its output in dB, set from measurements; None: it promises equal bytes.
        devices: supported devices.
    """

    name: str
    package: str
    make: Callable[[Any], Callable[[], Any]]
    least_psnr: float | None = None
    devices: Sequence[str] = CPU


@dataclass(frozen=True)
class Workload:
    """A workload; the first contender is orbbec, the reference of relative speeds."""

    title: str
    prepare: Callable[[str], Scene]
    contenders: Sequence[Rival]
    unit: str = "per image"
    left_out: Mapping[str, str] = field(default_factory=dict)  # rivals that are left out, and why


@dataclass(frozen=True)
class Absent:
    """The contenders that are not timed, and why."""

    workload: str
    name: str
    why: str


def versions() -> dict[str, str]:
    """The versions of the rivals' packages that are installed."""
    found = {}
    for distribution in PACKAGES.values():
        with suppress(PackageNotFoundError):
            found[distribution] = version(distribution)
    return found


def why_missing(package: str) -> str:
    """Why a package cannot be imported; empty if it can.

    Example:
        >>> why_missing("orbbec"), why_missing("no_such_package")
        ('', 'not installed')
    """
    try:
        importlib.import_module(package)
    except ModuleNotFoundError:
        return "not installed"
    except (ImportError, OSError) as error:
        return f"cannot be imported: {error}"
    return ""


def assemble(workload: Workload, device: str) -> tuple[Work, list[Absent]]:
    """Prepare a workload: the available contenders, whose output is checked, and those left out.

    Raises:
        Refused: orbbec's output is wrong.
    """
    scene = workload.prepare(device)
    contenders: list[Contender] = []
    absent = [Absent(workload.title, name, why) for name, why in workload.left_out.items()]
    for rival in workload.contenders:
        if device not in rival.devices:
            continue
        why = why_missing(rival.package)
        if not why:
            try:
                contenders.append(examined(rival, scene)[0])
            except (Exception, Refused) as error:  # other libraries raise anything
                if rival.package == "orbbec":
                    raise Refused(f"{workload.title}: {error}") from error
                why = reason_of(error)
        if why:
            absent.append(Absent(workload.title, rival.name, why))
    return Work(contenders, scene.expected, scene.images, moved_bytes=0, unit=workload.unit), absent


def reason_of(error: BaseException) -> str:
    """Why a rival is not timed, in one short line.

    Example:
        >>> reason_of(RuntimeError("no such   library"))
        'RuntimeError: no such library'
    """
    text = str(error) if isinstance(error, Refused) else f"{type(error).__name__}: {error}"
    return " ".join(text.split())[:LONGEST_REASON]


def examined(rival: Rival, scene: Scene) -> tuple[Contender, Timing]:
    """A rival and its agreement with the expected output.

    Raises:
        Refused: its output is wrong.
    """
    exact = rival.least_psnr is None
    contender = Contender(rival.name, rival.make(scene), exact, rival.least_psnr or 0.0)
    return contender, check(contender, scene.expected)


def batch_size(device: str, on_cpu: int) -> int:
    """Images of a call: a training batch on a GPU, fewer on a CPU."""
    return 256 if device == "cuda" else on_cpu


def by_threads(build: Callable[[int], Callable[[], T]]) -> Callable[[], T]:
    """Cache an object that depends on the number of threads, with one entry per number set in torch."""
    made = cache(build)
    return lambda: made(torch.get_num_threads())()
