"""Packages that only some readers and decoders need."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def needed(module: str, package: str = "") -> Any:
    """Import a package that is not there in every installation.

    Args:
        module: its name in Python.
        package: its name for pip, where that is another.

    Raises:
        ImportError: it is not installed; says how to.

    Example:
        >>> needed("no_such_package")
        Traceback (most recent call last):
        ImportError: this needs no_such_package: pip install no_such_package
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name not in (module, module.partition(".")[0]):
            raise
        raise ImportError(f"this needs {module}: pip install {package or module}") from error
