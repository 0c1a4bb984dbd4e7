"""The switch: replaces torchvision's functions and restores them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from orbbec.backends.torchvision.calls import Report
from orbbec.backends.torchvision.patches import Patches
from orbbec.backends.torchvision.replacements import replacements
from orbbec.transforms.base.checks import choice
from orbbec.transforms.base.optional import optional

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
    """Run torchvision's transforms and `ImageFolder` on orbbec where it supports them.

    Code that uses torchvision needs no change. Unsupported calls run in torchvision. docs/how-to/switch.md
    lists the replaced functions. The setting applies to this process and its forks, not to spawned workers.

    Args:
        backend: "orbbec", or "pil" to restore torchvision.
        exact: replace only calls with identical results. False: also some that differ slightly.

    Raises:
        ValueError: the backend is unknown.
        ImportError: torchvision is not installed.

    Example:
        >>> set_image_backend("pil")
        >>> get_image_backend()
        'pil'
    """
    choice("set_image_backend", "backend", backend, BACKENDS)
    _set(_Setting(backend, exact, Report() if backend == "orbbec" else _setting.report))


def get_image_backend() -> str:
    """The current backend: "pil" or "orbbec"."""
    return _setting.backend


@contextmanager
def image_backend(backend: str, *, exact: bool = True) -> Iterator[Report]:
    """A context with another backend; yields its `report`.

    Args:
        backend: see `set_image_backend`.
        exact: see `set_image_backend`.

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
        # The counts remain available, unless an outer block counts.
        _set(before if before.backend == "orbbec" else replace(before, report=_setting.report))


def report() -> Report:
    """The calls run by orbbec since the backend was set, and why others were not."""
    return _setting.report


def _set(setting: _Setting) -> None:
    """Undo the current setting and apply another; on failure, torchvision is restored."""
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
