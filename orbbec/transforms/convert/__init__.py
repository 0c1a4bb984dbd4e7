"""Pipelines of torchvision and Albumentations as transforms of ours; here what is common to both.

Begin with torchvision.py. The other libraries are read by the names of classes and attributes, and are not
imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

from orbbec.transforms.base.transform import Transform
from orbbec.transforms.containers import RandomApply
from orbbec.transforms.geometry import RandomHorizontalFlip

Inner: TypeAlias = Callable[[Iterable[Any]], list[list[Transform]]]
Maker: TypeAlias = Callable[[Any, Inner], list[Transform]]

NOTHING_NEAR: Mapping[str, str] = MappingProxyType({})
_NOTHING = RandomHorizontalFlip(0.0)  # does nothing and fuses with its neighbors


class ConversionError(ValueError):
    """A step of a pipeline has no counterpart; the message names the step and its position."""


def convert(
    op: str,
    steps: Iterable[Any],
    maker_of: Callable[[Any], Maker | None],
    path: str = "",
    nearest: Mapping[str, str] = NOTHING_NEAR,
) -> list[list[Transform]]:
    """Convert each step to transforms.

    Args:
        op: name used in messages.
        steps: steps of another library.
        maker_of: gives the function that converts a step and its inner steps; None if there is none.
        path: position of the enclosing step, "2." for step 2.
        nearest: suggestions for classes without a counterpart, by class name.

    Raises:
        ConversionError: a step has no counterpart.
    """
    results = []
    for index, step in enumerate(steps):
        position = f"{path}{index}"
        where = f"{op}: step {position}, {type(step).__name__}"
        maker = maker_of(step)
        if maker is None:
            near = nearest.get(type(step).__name__)
            raise ConversionError(
                f"{where}, has no counterpart" + (f"; the nearest is {near}" if near else "")
            )

        def inner(within: Iterable[Any], position: str = position) -> list[list[Transform]]:
            return convert(op, within, maker_of, f"{position}.", nearest)

        try:
            results.append(maker(step, inner))
        except ConversionError:
            raise
        except (AttributeError, TypeError, ValueError) as error:
            raise ConversionError(f"{where}: {error}") from error
    return results


def flat(parts: Iterable[Sequence[Transform]]) -> list[Transform]:
    """All transforms in order, as one list."""
    return [transform for part in parts for transform in part]


def as_one(transforms: Sequence[Transform]) -> Transform:
    """One transform equivalent to several, or to none."""
    if len(transforms) == 1:
        return transforms[0]
    return RandomApply(transforms, 1.0) if transforms else _NOTHING
