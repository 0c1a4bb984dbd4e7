"""Optional packages."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def optional(op: str, module: str, package: str = "", extra: str = "") -> Any:
    """Import a package that may not be installed.

    Args:
        op: name of the caller, for messages.
        module: import name.
        package: name on PyPI, if different.
        extra: the extra of orbbec that installs it, if any.

    Raises:
        ImportError: the package is not installed; the message says how to install it.

    Example:
        >>> optional("to_yaml", "no_such_package", "no-such-package")
        Traceback (most recent call last):
        ImportError: to_yaml: expected no_such_package to be installed: pip install no-such-package
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name not in (module, module.partition(".")[0]):
            raise
        name = module.partition(".")[0]
        install = f"pip install {package or name}" + (f" (in the extra orbbec[{extra}])" if extra else "")
        raise ImportError(f"{op}: expected {name} to be installed: {install}") from error
