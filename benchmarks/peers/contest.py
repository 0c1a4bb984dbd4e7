"""What a workload lists: its scene, and the rivals that do the same work; who is not here is named all the same."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol, TypeVar

import torch

from orbbec.binding.arguments import Array
from orbbec.testing.benchmark import Contender, Work, cv2
from orbbec.testing.measure import Refused, check

T = TypeVar("T")
CPU, CUDA, BOTH = ("cpu",), ("cuda",), ("cpu", "cuda")
# What packages are imported as, and why one may be missing where the others are.
PACKAGES = {
    "cv2": "",
    "PIL": "",
    "torchvision": "",
    "kornia": "",
    "kornia_rs": "",
    "albumentations": "",
    "nvidia.dali": "",
    "spdl.io": "",
    "simplejpeg": "",
    "ffcv": "builds from source beside the headers of OpenCV and libturbojpeg, which pip cannot install",
    "cvcuda": "runs on a GPU only, and is not in requirements.txt",
}


class Scene(Protocol):
    """What a workload is made ready of: its inputs, and what is to come of them."""

    @property
    def expected(self) -> Array: ...
    @property
    def images(self) -> int: ...


@dataclass(frozen=True)
class Rival:
    """A way of doing a workload's work.

    Args:
        name: who, and how.
        package: what is imported for it; "orbbec" for ours.
        make: from the scene to what does the work once.
        least_psnr: in dB, of its output, stated from what was measured; None: it promises the same bytes.
        devices: where it runs.
    """

    name: str
    package: str
    make: Callable[[Any], Callable[[], Any]]
    least_psnr: float | None = None
    devices: Sequence[str] = CPU


@dataclass(frozen=True)
class Workload:
    """A workload; the first of the contenders is orbbec, that the others are divided by."""

    title: str
    prepare: Callable[[str], Scene]
    contenders: Sequence[Rival]
    unit: str = "an image"


@dataclass(frozen=True)
class Absent:
    """Who is not timed, and why."""

    workload: str
    name: str
    why: str


def why_missing(package: str) -> str:
    """Why a package cannot be imported; empty if it can.

    Example:
        >>> why_missing("orbbec"), why_missing("no_such_package")
        ('', 'not installed')
    """
    try:
        importlib.import_module(package)
    except ModuleNotFoundError:
        why = PACKAGES.get(package)
        return f"not installed: {why}" if why else "not installed"
    except (ImportError, OSError) as error:
        return f"cannot be imported: {error}"
    return ""


def assemble(workload: Workload, device: str) -> tuple[Work, list[Absent]]:
    """Make a workload ready: the contenders that are here and give what they must, and those that are left out.

    Raises:
        Refused: orbbec does not give what it must.
    """
    scene = workload.prepare(device)
    contenders: list[Contender] = []
    absent = []
    for rival in workload.contenders:
        why = why_missing(rival.package) if device in rival.devices else ""
        if device in rival.devices and not why:
            try:
                contenders.append(_examined(rival, scene))
            except Exception as error:  # whatever another library raises
                why = f"fails: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            except Refused as error:
                if rival.package == "orbbec":
                    raise
                why = f"refused: {str(error).partition(': ')[2].removesuffix('; nothing was timed')}"
        if why:
            absent.append(Absent(workload.title, rival.name, why))
    return Work(contenders, scene.expected, scene.images, moved_bytes=0, unit=workload.unit), absent


def _examined(rival: Rival, scene: Scene) -> Contender:
    exact = rival.least_psnr is None
    contender = Contender(rival.name, rival.make(scene), exact, rival.least_psnr or 0.0)
    check(contender, scene.expected)
    return contender


def each(work: Callable[..., T], *items: Iterable[Any]) -> list[T]:
    """`map`, by as many Python threads as torch is set to; OpenCV is left one in each."""
    threads = torch.get_num_threads()
    if cv2 is not None:
        cv2.setNumThreads(1)
    return list(map(work, *items)) if threads == 1 else list(_pool(threads).map(work, *items))


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads)


def by_threads(build: Callable[[int], Callable[[], T]]) -> Callable[[], T]:
    """For what is made for a number of threads: made once for each that torch is set to."""
    made = cache(build)
    return lambda: made(torch.get_num_threads())()
