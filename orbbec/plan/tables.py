"""Splits a plan into structure and tables, so that one captured CUDA graph serves many plans."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import fields, replace
from itertools import chain
from typing import Any

from orbbec.plan.passes import Columns, Pass
from orbbec.plan.plan import Plan
from orbbec.plan.rules import Block

_TOLD = ("why", "holds")  # to people


def tables_of(plan: Plan) -> list[Columns]:
    """The tables of each pass, by argument name of its operator.

    The passes within a blend follow the blend.

    Example:
        >>> from orbbec.transforms import Compose, RandomHorizontalFlip
        >>> [list(tables) for tables in tables_of(Compose([RandomHorizontalFlip()]).plan([(4, 6)]))]
        [['matrix']]
    """
    key = plan.key
    keys = (key._replace(sample_ids=key.sample_ids[: len(step.parameters)]) for step in _unfolded(plan))
    return [step.tables(key) for step, key in zip(_unfolded(plan), keys, strict=True)]


def _unfolded(plan: Plan) -> Iterator[Pass]:
    return chain.from_iterable(step.unfolded() for step in plan.passes)


def fixed(plan: Plan) -> Plan | None:
    """An equivalent plan in which only the numbers in the tables depend on the draws.

    Args:
        plan: a plan for images of any sizes.

    Returns:
        The plan. None if the first pass does not give all images one size, or if the window sizes drawn for a
        blur differ.

    Example:
        >>> from orbbec.transforms import Compose, GaussianBlur, RandomHorizontalFlip, Resize
        >>> fixed(Compose([RandomHorizontalFlip()]).plan([(4, 6), (5, 5)])) is None
        True
        >>> plan = fixed(Compose([Resize((4, 4)), GaussianBlur(3)]).plan([(4, 6), (5, 5)]))
        >>> list(tables_of(plan)[1]), plan.passes[1].options
        (['sigma', 'drawn'], {'kernel_size': (3, 3)})
    """
    resamples = bool(plan.passes) and plan.passes[0].resamples
    if not resamples or any(step.size is None for step in plan.passes):
        return None
    settled = tuple(each for each in (step.fixed() for step in plan.passes) if each is not None)
    return replace(plan, passes=settled) if len(settled) == len(plan.passes) else None


def structure_of(plan: Plan) -> Hashable:
    """All that defines a plan of `fixed`, except the numbers in its tables.

    `apply_fixed` makes the same calls for plans of equal structure. Operators that draw noise also read seed
    and epoch.

    Example:
        >>> from orbbec.transforms import CenterCrop, Compose, RandomHorizontalFlip
        >>> pipeline = Compose([CenterCrop(4), RandomHorizontalFlip()])
        >>> one, other, larger = (fixed(pipeline.plan(sizes)) for sizes in ([(4, 6)], [(9, 5)], [(4, 6)] * 2))
        >>> structure_of(one) == structure_of(other), structure_of(one) == structure_of(larger)
        (True, False)
    """
    noisy = any(step.draws_noise for step in _unfolded(plan))
    drawn_by = (plan.seed, plan.epoch) if noisy else None
    tables = [(name, t.dtype.str, t.shape) for columns in tables_of(plan) for name, t in columns.items()]
    return len(plan), plan.channels, plan.dtype, drawn_by, _frozen(plan.passes), tuple(tables)


def _frozen(value: Any) -> Hashable:
    """A value that can be hashed; passes include the common size of their outputs."""
    if isinstance(value, Pass):
        arguments = [_frozen(getattr(value, f.name)) for f in fields(value) if f.init and f.name not in _TOLD]
        return type(value).__name__, getattr(value, "parameters", None) and value.size, *arguments
    if isinstance(value, Block):
        return value.numbers, value.rows, value.offset
    if isinstance(value, Mapping):
        return tuple((name, _frozen(entry)) for name, entry in value.items())
    if isinstance(value, (tuple, list)):
        return tuple(map(_frozen, value))
    result: Hashable = value
    return result
