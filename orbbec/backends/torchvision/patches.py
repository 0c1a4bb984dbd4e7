"""Temporary replacement of dict entries and attributes."""

import functools
from collections.abc import MutableMapping
from typing import Any

import torch

REFUSALS = (TypeError, ValueError, RuntimeError)  # orbbec errors after which torchvision is called
_NOTHING = object()


def is_recorded() -> bool:
    """Whether calls are recorded to a graph, which should contain torchvision's operators."""
    return torch.compiler.is_compiling() or bool(torch._C._is_tracing())


def stand_in(replacement: Any, original: Any) -> Any:
    """The replacement with the original's name; `torch.jit.script` compiles the original."""
    functools.update_wrapper(replacement, original)
    # torch.jit only checks for its presence; a true value would hide the function's name from torch.compile.
    replacement.__script_if_tracing_wrapper = False
    replacement.__original_fn = original
    return replacement


def is_stand_in(value: Any) -> bool:
    """Whether a value was made by `stand_in`."""
    return hasattr(value, "__original_fn")


class Patches:
    """Replacements that can be undone.

    Example:
        >>> table, patches = {"a": 1}, Patches()
        >>> patches.put(table, "a", 2)
        >>> patches.put(table, "b", 3)
        >>> table
        {'a': 2, 'b': 3}
        >>> patches.undo()
        >>> table
        {'a': 1}
    """

    def __init__(self) -> None:
        self._before: list[tuple[Any, Any, Any]] = []

    def put(self, owner: Any, key: Any, value: Any) -> None:
        """Replace an entry of a dict or an attribute of an object."""
        before = owner.get(key, _NOTHING) if isinstance(owner, MutableMapping) else getattr(owner, key)
        self._before.append((owner, key, before))
        _set(owner, key, value)

    def undo(self) -> None:
        """Restore everything in reverse order."""
        while self._before:
            _set(*self._before.pop())


def _set(owner: Any, key: Any, value: Any) -> None:
    if not isinstance(owner, MutableMapping):
        setattr(owner, key, value)
    elif value is _NOTHING:
        del owner[key]
    else:
        owner[key] = value
