"""What a plan says, and the numbers it says it with: apart, so that one captured graph serves many plans."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import fields, replace
from itertools import chain
from typing import Any

import numpy as np

from orbbec.plan.passes import Columns, Pass, common_size
from orbbec.plan.plan import Plan

_TOLD = ("why", "holds")  # to people


def tables_of(plan: Plan) -> list[Columns]:
    """The tables that each pass reads, by the names of its operator's arguments.

    Those within a blend come after its own.

    Example:
        >>> from orbbec.transforms import Compose, RandomHorizontalFlip
        >>> [list(tables) for tables in tables_of(Compose([RandomHorizontalFlip()]).plan([(4, 6)]))]
        [['matrix']]
    """
    key = plan.key
    return [step.tables(key) for step in _unfolded(plan)]


def _unfolded(plan: Plan) -> Iterator[Pass]:
    return chain.from_iterable(step.unfolded() for step in plan.passes)


def fixed(plan: Plan) -> Plan | None:
    """A plan that gives the same bytes, and of which no more than the numbers in its tables depends on draws.

    Args:
        plan: for images of any sizes.

    Returns:
        The plan; None where there is none: images are not brought to one size by the first pass, or windows
        of different sizes are drawn for a blur.

    Example:
        >>> from orbbec.transforms import Compose, GaussianBlur, RandomHorizontalFlip, Resize
        >>> fixed(Compose([RandomHorizontalFlip()]).plan([(4, 6), (5, 5)])) is None
        True
        >>> plan = fixed(Compose([Resize((4, 4)), GaussianBlur(3)]).plan([(4, 6), (5, 5)]))
        >>> list(tables_of(plan)[1]), plan.passes[1].options
        (['sigma', 'drawn'], {'kernel_size': (3, 3)})
    """
    resamples = bool(plan.passes) and plan.passes[0].resamples
    if not resamples or any(common_size(step.sizes) is None for step in plan.passes):
        return None
    settled = tuple(each for each in (step.fixed() for step in plan.passes) if each is not None)
    return replace(plan, passes=settled) if len(settled) == len(plan.passes) else None


def structure_of(plan: Plan) -> Hashable:
    """All that a plan of `fixed` says but the numbers in its tables.

    Where it is equal, `apply_fixed` makes the same calls. Operators that draw noise read seed and epoch.

    Example:
        >>> from orbbec.transforms import CenterCrop, Compose, RandomHorizontalFlip
        >>> pipeline = Compose([CenterCrop(4), RandomHorizontalFlip()])
        >>> one, other, larger = (fixed(pipeline.plan(sizes)) for sizes in ([(4, 6)], [(9, 5)], [(4, 6)] * 2))
        >>> structure_of(one) == structure_of(other), structure_of(one) == structure_of(larger)
        (True, False)
    """
    noisy = any(step.draws_noise for step in _unfolded(plan))
    drawn_by = (plan.seed, plan.epoch) if noisy else None
    tables = [(name, t.dtype.str, t.shape) for own in tables_of(plan) for name, t in own.items()]
    return len(plan), plan.channels, plan.dtype, drawn_by, _frozen(plan.passes), tuple(tables)


def _frozen(value: Any) -> Hashable:
    """A value without the numbers of its arrays; passes with the one size of their output."""
    if isinstance(value, np.ndarray):
        return None
    if isinstance(value, Pass):
        kept = [_frozen(getattr(value, f.name)) for f in fields(value) if f.init and f.name not in _TOLD]  # type: ignore[arg-type]
        return type(value).__name__, common_size(value.sizes), *kept
    if isinstance(value, Mapping):
        return tuple((name, _frozen(entry)) for name, entry in value.items())
    if isinstance(value, (tuple, list)):
        return tuple(map(_frozen, value))
    result: Hashable = value
    return result
