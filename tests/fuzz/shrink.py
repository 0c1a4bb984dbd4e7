"""Simplifies the arguments of a failing call while it fails in the same way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from tests.fuzz.call import Call, TensorSpec

MOST_TRIES = 400
MOST_SLOW_TRIES = 15  # for a call beyond the time limit


def shrink(call: Call, fails: Callable[[Call], bool], most: int = MOST_TRIES) -> Call:
    """The simplest call for which `fails` is true, found in at most `most` tries."""
    tries, changed = 0, True
    while changed:
        changed = False
        for i in range(len(call.arguments)):
            for simpler in _simpler(call.arguments[i], call.optional(i)):
                if tries == most:
                    return call
                tries += 1
                candidate = replace(call, arguments=(*call.arguments[:i], simpler, *call.arguments[i + 1 :]))
                if fails(candidate):
                    call, changed = candidate, True
                    break
    return call


def _simpler(given: Any, optional: bool) -> Iterator[Any]:
    """Simpler values of an argument, the simplest first."""
    if optional and given is not None:
        yield None
    if isinstance(given, TensorSpec):
        yield from _simpler_tensor(given)
    elif isinstance(given, bool):
        yield from [False] * given
    elif isinstance(given, (int, float)):
        yield from _simpler_number(given)
    elif isinstance(given, list):
        yield from _simpler_list(given)
    elif isinstance(given, str) and len(given) > 1:
        yield given[: len(given) // 2]


def _simpler_number(given: float) -> Iterator[float]:
    kind = type(given)
    for value in (0, 1, 2):
        if given == given and abs(given) > value:
            yield kind(value)
    if isinstance(given, int) and abs(given) > 4:
        yield given // 2
        yield given - 1


def _simpler_list(given: list[Any]) -> Iterator[list[Any]]:
    if given:
        yield []
    for i in range(len(given)):
        yield given[:i] + given[i + 1 :]
    for i, item in enumerate(given):
        for simpler in _simpler(item, optional=False):
            yield [*given[:i], simpler, *given[i + 1 :]]


def _simpler_tensor(given: TensorSpec) -> Iterator[TensorSpec]:
    if given.strides is not None or given.offset:
        yield replace(given, strides=None, offset=0)
    if given.requires_grad:
        yield replace(given, requires_grad=False)
    if given.shares is not None:
        yield replace(given, shares=None)
    for d in range(len(given.shape)):
        yield replace(given, shape=given.shape[:d] + given.shape[d + 1 :], strides=None)
    for d, side in enumerate(given.shape):
        for smaller in (0, 1, side // 2, side - 1):
            if 0 <= smaller < side:
                yield replace(given, shape=(*given.shape[:d], smaller, *given.shape[d + 1 :]))
    if len(given.values) > 1:
        yield replace(given, values=given.values[:1])
        yield replace(given, values=given.values[: len(given.values) // 2])
    for i, value in enumerate(given.values):
        for simpler in _simpler_number(value):
            yield replace(given, values=(*given.values[:i], simpler, *given.values[i + 1 :]))
