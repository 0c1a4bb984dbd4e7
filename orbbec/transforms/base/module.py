"""Transforms and pipelines as torch modules."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, fields
from functools import cache, wraps
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from typing_extensions import Self


_disabled = cache(torch.compiler.disable)


def outside_graphs(function: Callable[..., Any]) -> Callable[..., Any]:
    """`torch.compiler.disable`, applied on the first call because it imports `torch._dynamo`.

    Refuses `torch.export`, which ignores that.
    """

    @wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        if "torch._dynamo" in sys.modules:
            if torch.compiler.is_exporting():
                raise RuntimeError(
                    "orbbec.transforms: expected a call outside of torch.export, since a graph lacks what "
                    "Python draws and plans"
                )
            return _disabled(function)(*arguments, **options)
        return function(*arguments, **options)

    return call


@cache
def _key_fields(kind: Any) -> tuple[str, ...]:
    """The fields by which two instances of a dataclass are equal."""
    return tuple(field.name for field in fields(kind) if field.compare)


class FrozenModule(torch.nn.Module):
    """Base of frozen dataclasses that work in `torch.nn.Sequential`; it has no parameters."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        if cls.__setattr__ is not FrozenModule.__setattr__:  # in place of the dataclass's
            cls.__setattr__ = FrozenModule.__setattr__  # type: ignore[method-assign]
            cls.__hash__ = FrozenModule.__hash__  # type: ignore[method-assign]
        module = super().__new__(cls)
        torch.nn.Module.__init__(module)  # a dataclass's __init__ does not call it
        return module

    def __hash__(self) -> int:
        """That of a dataclass, but also before `__init__`: `torch.compile` looks at modules that early."""
        return hash(tuple(map(vars(self).get, _key_fields(type(self)))))  # type: ignore[arg-type]

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and copies: fields that are no arguments, such as compiled programs, begin anew."""
        state = dict(vars(self))
        for field in fields(self):  # type: ignore[arg-type]
            if not field.init and field.default_factory is not MISSING:
                state[field.name] = field.default_factory()
        return state

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "training":  # training loops set it
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        object.__setattr__(self, name, value)
