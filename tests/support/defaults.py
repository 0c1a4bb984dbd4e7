"""torch's defaults while the package runs, without an effect on what tests and examples make."""

import contextlib
import functools
import types
from collections.abc import Callable, Iterator
from typing import Any

import torch

USUAL = ""
# "meta" stands in for a GPU: what lands on it has no values.
DEFAULTS = ("meta", "float64", *(("cuda",) if torch.cuda.is_available() else ()))

_current = USUAL


@contextlib.contextmanager
def default(name: str) -> Iterator[None]:
    """A context in which a device or a dtype is torch's default; USUAL: float32 on the CPU."""
    before = _current
    _choose(name)
    try:
        yield
    finally:
        _choose(before)


def _choose(name: str) -> None:
    global _current
    _current = name
    torch.set_default_dtype(torch.float64 if name == "float64" else torch.float32)
    torch.set_default_device(None if name in (USUAL, "float64") else name)


def under(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, called in the context of `default(name)`."""

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        with default(name):
            return function(*arguments, **named)

    return call


class Under:
    """A module whose functions are called in the context of `default(name)`."""

    def __init__(self, name: str, module: types.ModuleType) -> None:
        self._name, self._module = name, module

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(self._module, attribute)
        is_function = isinstance(value, (types.FunctionType, types.BuiltinFunctionType))
        return under(self._name, value) if is_function else value
