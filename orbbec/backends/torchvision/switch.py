"""The switch: which functions of torchvision are replaced, and that they are put back."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from orbbec.backends.torchvision.calls import Report
from orbbec.backends.torchvision.patches import Patches
from orbbec.backends.torchvision.places import replacements
from orbbec.transforms.checks import choice

BACKENDS = ("pil", "orbbec")
TESTED = ("0.25", "0.26", "0.29")  # versions of torchvision

_patches = Patches()
_report = Report()
_current: tuple[str, bool] = ("pil", True)


def set_image_backend(backend: str, *, exact: bool = True) -> None:
    """Let orbbec do what torchvision's transforms and `ImageFolder` are asked to do, where it can.

    Code that uses torchvision stays as it is. Calls that orbbec does not cover are torchvision's own. What is
    covered, and what is replaced for it, stands in docs/switch.md. It holds in this process and those forked
    from it, not in spawned workers.

    Args:
        backend: "orbbec", or "pil": torchvision's own, everything as it was.
        exact: take only calls whose bytes are torchvision's. False: also some that differ slightly.

    Raises:
        ValueError: another backend.
        ImportError: torchvision is not installed.

    Example:
        >>> set_image_backend("pil")
        >>> get_image_backend()
        'pil'
    """
    global _report, _current
    choice("set_image_backend", "backend", backend, BACKENDS)
    _patches.undo()
    _current = ("pil", True)
    if backend == "orbbec":
        _report = Report()
        try:
            _replace(exact)
        except BaseException:
            _patches.undo()
            raise
        _current = ("orbbec", exact)


def get_image_backend() -> str:
    """The backend that is set: "pil" or "orbbec"."""
    return _current[0]


@contextmanager
def image_backend(backend: str, *, exact: bool = True) -> Iterator[Report]:
    """Set a backend for a while; gives what `report` gives.

    Args:
        backend: as that of `set_image_backend`.
        exact: as that of `set_image_backend`.

    Example:
        >>> with image_backend("pil") as calls:
        ...     print(calls)
        no calls
    """
    before, exact_before = _current
    set_image_backend(backend, exact=exact)
    try:
        yield _report
    finally:
        set_image_backend(before, exact=exact_before)


def report() -> Report:
    """Which calls were orbbec's since it was set last, and why others were not."""
    return _report


def _replace(exact: bool) -> None:
    version = importlib.import_module("torchvision").__version__
    if not version.startswith(TESTED):
        warnings.warn(
            f"set_image_backend: torchvision {', '.join(TESTED)} are tested, but this is {version}",
            stacklevel=3,
        )
    for owner, key, value in replacements(exact, _report):
        _patches.put(owner, key, value)
