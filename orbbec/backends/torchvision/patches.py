"""Entries of tables and attributes of objects, replaced until they are put back."""

import functools
from collections.abc import MutableMapping
from typing import Any

_NOTHING = object()


def stand_in(replacement: Any, original: Any) -> Any:
    """The replacement under the original's name; `torch.jit.script` takes the original."""
    functools.update_wrapper(replacement, original)
    replacement.__script_if_tracing_wrapper = True
    replacement.__original_fn = original
    return replacement


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
