"""How transforms declare what their arguments must be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from inspect import get_annotations
from math import inf
from typing import Any, TypeAlias

from orbbec.bridge.plain import plain
from orbbec.transforms.base.checks import (
    border_of,
    entries,
    epoch_range,
    flag,
    interpolation_of,
    interval,
    number,
    numbers,
    pair,
    resizing_of,
    size_pair,
    span,
    whole,
    whole_range,
)

# Takes the names of a transform and of an argument, and its value; returns its checked form.
Check: TypeAlias = Callable[[str, str, Any], Any]
Limits: TypeAlias = tuple[float, float]


def checks(**each: Check | Limits) -> Mapping[str, Check | Limits]:
    """The checks of the arguments that a transform declares, by name.

    Limits (low, high) check a number, `int` or `float`; a range, `Range`; or either, `float | Range` or
    `int | Sequence[int]`. Without an entry, `bool`, `Size` and `FillValue` are checked, and `p`, from 0 to 1,
    `padding_mode` and `epochs`. None passes where an annotation has it.
    """
    return each


def at_least(low: float) -> Limits:
    """A lower limit."""
    return low, inf


def or_none(check: Check) -> Check:
    """A check that None passes."""
    return lambda op, name, value: None if value is None else check(op, name, value)


def several(check: Check) -> Check:
    """A check of each entry of a sequence of at least one."""
    return lambda op, name, value: tuple(check(op, name, entry) for entry in entries(op, name, value))


def both(check: Check) -> Check:
    """A check of each of two numbers."""

    def check_both(op: str, name: str, value: Any) -> tuple[Any, ...]:
        pair(op, name, value)
        return tuple(check(op, name, one) for one in value)

    return check_both


def odd_sides(op: str, name: str, value: Any, low: int = 1, high: float = inf) -> tuple[int, int]:
    """(low, high) in odd numbers, or one number for both ends."""
    sides = whole_range(op, name, value, low, high)
    if not all(side % 2 for side in sides):
        raise ValueError(f"{op}: expected {name} as odd numbers, but got {value}")
    return sides


def text(op: str, name: str, value: Any) -> str:
    """The name of an entry."""
    if not isinstance(value, str):
        raise TypeError(f"{op}: expected {name} as a name, but got {value!r}")
    return value


def warp_interpolation(op: str, name: str, value: Any) -> str:
    """The interpolation of a warp."""
    return interpolation_of(op, value)


def resizing(op: str, name: str, value: Any) -> str:
    """The interpolation of a resize without antialiasing."""
    return resizing_of(op, value, argument=name)


def padding_mode(op: str, name: str, value: Any) -> Any:
    """A mode that `border_of` knows."""
    border_of(op, value)
    return plain(value)


_BY_NAME = checks(p=(0.0, 1.0), padding_mode=padding_mode, epochs=or_none(epoch_range))
_WITH_LIMITS: dict[str, Callable[..., Any]] = {
    "int": whole,
    "float": number,
    "Range": interval,
    "float | Range": span,
    "int | Sequence[int]": whole_range,
    "Sequence[int]": whole_range,
}
_WITHOUT_LIMITS: dict[str, Check] = {"bool": flag, "Size": size_pair, "FillValue": numbers}


def checks_of(transform: type[Any]) -> dict[str, Check]:
    """The checks of the arguments that a class declares, if it has `_checks`, after those of its bases."""
    results: dict[str, Check] = {}
    annotations: dict[str, str] = {}
    for kind in reversed(transform.__mro__):
        fields = get_annotations(kind)
        annotations |= fields
        declared = vars(kind).get("_checks")
        if declared is not None:
            named = {name: _BY_NAME[name] for name in fields if name in _BY_NAME}
            for name in dict.fromkeys([*fields, *declared]):
                check = _check_of(annotations[name], {**named, **declared}.get(name, ()))
                results |= {} if check is None else {name: check}
    return results


def _check_of(annotation: str, check: Check | Limits | tuple[()]) -> Check | None:
    """The check of a field, by its annotation unless it has one of its own; None: it has none."""
    if callable(check):
        return check
    kind = annotation.removesuffix(" | None")
    found = _WITHOUT_LIMITS.get(kind)
    if check:
        found = partial(_WITH_LIMITS[kind], low=check[0], high=check[1])
    return found if found is None or kind == annotation else or_none(found)
