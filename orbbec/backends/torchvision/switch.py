"""The switch: which functions of torchvision are replaced, and that they are put back."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from orbbec.backends.torchvision.calls import Report
from orbbec.backends.torchvision.patches import Patches
from orbbec.backends.torchvision.places import replacements
from orbbec.transforms.checks import choice
from orbbec.transforms.optional import optional

BACKENDS = ("pil", "orbbec")
TESTED = ("0.25", "0.26", "0.28", "0.29")  # versions of torchvision


@dataclass(frozen=True)
class _Setting:
    backend: str
    exact: bool
    report: Report


_patches = Patches()
_setting = _Setting("pil", True, Report())


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
    choice("set_image_backend", "backend", backend, BACKENDS)
    _set(_Setting(backend, exact, Report() if backend == "orbbec" else _setting.report))


def get_image_backend() -> str:
    """The backend that is set: "pil" or "orbbec"."""
    return _setting.backend


@contextmanager
def image_backend(backend: str, *, exact: bool = True) -> Iterator[Report]:
    """Set a backend for a while, and then what was set before; gives what `report` gives within.

    Args:
        backend: as that of `set_image_backend`.
        exact: as that of `set_image_backend`.

    Example:
        >>> with image_backend("pil"):
        ...     get_image_backend()
        'pil'
    """
    before = _setting
    set_image_backend(backend, exact=exact)
    try:
        yield _setting.report
    finally:
        # What was counted can still be asked for, unless an outer block counts.
        _set(before if before.backend == "orbbec" else replace(before, report=_setting.report))


def report() -> Report:
    """Which calls were orbbec's since it was set last, and why others were not."""
    return _setting.report


def _set(setting: _Setting) -> None:
    """Undo what is set, then do what is asked; where that fails, all is torchvision's own."""
    global _setting
    _patches.undo()
    _setting = _Setting("pil", True, _setting.report)
    if setting.backend == "orbbec":
        try:
            _replace(setting)
        except BaseException:
            _patches.undo()
            raise
    _setting = setting


def _replace(setting: _Setting) -> None:
    version = optional("set_image_backend", "torchvision").__version__
    if not version.startswith(TESTED):
        warnings.warn(
            f"set_image_backend: torchvision {', '.join(TESTED)} are tested, but this is {version}",
            stacklevel=4,
        )
    for owner, key, value in replacements(setting.exact, setting.report):
        _patches.put(owner, key, value)
