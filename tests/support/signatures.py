"""The defaults of public functions, classes and methods, and their record.

PYTHONPATH=. python tests/support/signatures.py    writes the record
"""

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

RECORD = Path(__file__).with_name("signatures.txt")
MODULES = ("orbbec", "orbbec.data", "orbbec.transforms", "orbbec.transforms.functional", "orbbec.recipes")


def lines() -> list[str]:
    """A line for everything public that has defaults, such as `orbbec.resize: interpolation='linear'`."""
    found: dict[Any, str] = {}
    for module in map(importlib.import_module, MODULES):
        for name in module.__all__:
            for path, function in _callables(name, getattr(module, name)):
                found.setdefault(function, f"{module.__name__}.{path}: {_defaults_of(function)}")
    return [line for line in found.values() if not line.endswith(": ")]


def _callables(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if inspect.isclass(value) and value.__module__.startswith("orbbec"):
        for method in dir(value):
            function = inspect.getattr_static(value, method)
            function = getattr(function, "__func__", function)  # of class methods
            is_public = method == "__init__" or not method.startswith("_")
            if is_public and inspect.isfunction(function) and function.__module__.startswith("orbbec"):
                yield name if method == "__init__" else f"{name}.{method}", function
    elif inspect.isfunction(value):
        yield name, value


def _defaults_of(function: Any) -> str:
    parameters = inspect.signature(function).parameters.values()
    defaults = {each.name: each.default for each in parameters if each.default is not inspect.Parameter.empty}
    texts = (f"{name}={getattr(value, '__qualname__', repr(value))}" for name, value in defaults.items())
    return re.sub(r" at 0x[0-9a-f]+", "", ", ".join(texts))


if __name__ == "__main__":
    RECORD.write_text("\n".join(lines()) + "\n")
