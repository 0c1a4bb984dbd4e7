"""Pipelines of other libraries as transforms of ours: what is common to all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

from orbbec.transforms.containers import RandomApply
from orbbec.transforms.geometry import RandomHorizontalFlip
from orbbec.transforms.transform import Transform

Inner: TypeAlias = Callable[[Iterable[Any]], list[list[Transform]]]
Maker: TypeAlias = Callable[[Any, Inner], list[Transform]]

NOTHING_NEAR: Mapping[str, str] = MappingProxyType({})
_NOTHING = RandomHorizontalFlip(0.0)  # fuses with whatever stands beside it


class ConversionError(ValueError):
    """A step of a pipeline has no counterpart here; names the step and its place."""


def convert(
    op: str,
    steps: Iterable[Any],
    maker_of: Callable[[Any], Maker | None],
    path: str = "",
    nearest: Mapping[str, str] = NOTHING_NEAR,
) -> list[list[Transform]]:
    """The transforms that stand for each step.

    Args:
        op: for messages.
        steps: of another library.
        maker_of: what makes transforms of a step, and of the steps within it; None: there is nothing.
        path: the place of the step that these are within, "2." for step 2.
        nearest: what is nearest to classes without a counterpart, by their names.

    Raises:
        ConversionError: a step has no counterpart.
    """
    results = []
    for index, step in enumerate(steps):
        place = f"{path}{index}"
        where = f"{op}: step {place}, {type(step).__name__}"
        maker = maker_of(step)
        if maker is None:
            near = nearest.get(type(step).__name__)
            raise ConversionError(
                f"{where}, has no counterpart" + (f"; the nearest is {near}" if near else "")
            )

        def inner(within: Iterable[Any], place: str = place) -> list[list[Transform]]:
            return convert(op, within, maker_of, f"{place}.", nearest)

        try:
            results.append(maker(step, inner))
        except ConversionError:
            raise
        except (AttributeError, TypeError, ValueError) as error:
            raise ConversionError(f"{where}: {error}") from error
    return results


def flat(parts: Iterable[Sequence[Transform]]) -> list[Transform]:
    """All transforms, one after the other."""
    return [transform for part in parts for transform in part]


def as_one(transforms: Sequence[Transform]) -> Transform:
    """One transform that does what several do, or what none do."""
    if len(transforms) == 1:
        return transforms[0]
    return RandomApply(transforms, 1.0) if transforms else _NOTHING
