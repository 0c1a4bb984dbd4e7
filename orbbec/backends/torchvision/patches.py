"""Entries of tables and attributes of objects, replaced until they are put back."""

import functools
from collections.abc import MutableMapping
from typing import Any

import torch

REFUSALS = (TypeError, ValueError, RuntimeError)  # of orbbec, after which torchvision is asked
_NOTHING = object()


def is_recorded() -> bool:
    """Whether calls become a graph, which is to hold torchvision's operators."""
    return torch.compiler.is_compiling() or bool(torch._C._is_tracing())


def stand_in(replacement: Any, original: Any) -> Any:
    """The replacement under the original's name; `torch.jit.script` takes the original."""
    functools.update_wrapper(replacement, original)
    # torch.jit asks whether it is there; to torch.compile, true would hide the name of the function.
    replacement.__script_if_tracing_wrapper = False
    replacement.__original_fn = original
    return replacement


def is_stand_in(value: Any) -> bool:
    """Whether `stand_in` made it."""
    return hasattr(value, "__original_fn")


class Patches:
    """What was replaced, and with it how to put it back.

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
        """Replace what a table has under a key, or an object under the name of an attribute."""
        before = owner.get(key, _NOTHING) if isinstance(owner, MutableMapping) else getattr(owner, key)
        self._before.append((owner, key, before))
        _set(owner, key, value)

    def undo(self) -> None:
        """Put everything back, the last first."""
        while self._before:
            _set(*self._before.pop())


def _set(owner: Any, key: Any, value: Any) -> None:
    if not isinstance(owner, MutableMapping):
        setattr(owner, key, value)
    elif value is _NOTHING:
        del owner[key]
    else:
        owner[key] = value
