"""Optional packages of readers and decoders."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def needed(module: str, package: str = "", extra: str = "data") -> Any:
    """Import a package that may not be installed.

    Args:
        module: import name.
        package: name on PyPI, if different.
        extra: the extra of orbbec that installs it.

    Raises:
        ImportError: the package is not installed; the message says how to install it.

    Example:
        >>> needed("no_such_package")
        Traceback (most recent call last):
        ImportError: this needs no_such_package: pip install no_such_package (in the extra orbbec[data])
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name not in (module, module.partition(".")[0]):
            raise
        install = f"pip install {package or module} (in the extra orbbec[{extra}])"
        raise ImportError(f"this needs {module}: {install}") from error
