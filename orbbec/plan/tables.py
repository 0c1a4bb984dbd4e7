"""What a plan says, and the numbers it says it with: apart, so that one captured graph serves many plans."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from typing import Any, get_args

import numpy as np

from orbbec.plan.passes import AugmentPass, BlendPass, Columns, OperatorPass, Pass, common_size
from orbbec.plan.plan import Plan

_STEPS = 4  # programs of colours are filled up to a multiple of so many steps
# Columns that operators read on the host, where they choose windows by them.
_READ_ON_HOST = {
    "gaussian_blur": ("kernel_size",),
    "median_blur": ("kernel_size",),
    "elastic_transform": ("sigma",),
    "motion_blur": ("length", "angle_degrees"),
}
_MADE_ON_HOST = ("motion_blur",)  # and copied from there in every call
_PASSES = get_args(Pass)
_TOLD = ("why", "holds")  # to people


def tables_of(plan: Plan) -> list[Columns]:
    """The tables that each pass reads, by the names of its operator's arguments.

    Those within a blend come after its own.

    Example:
        >>> from orbbec.transforms import Compose, RandomHorizontalFlip
        >>> [list(tables) for tables in tables_of(Compose([RandomHorizontalFlip()]).plan([(4, 6)]))]
        [['matrix']]
    """
    return [_tables(step, plan) for step in _unfolded(plan.passes)]


def _unfolded(passes: Iterable[Pass]) -> Iterator[Pass]:
    for step in passes:
        yield step
        if isinstance(step, BlendPass):
            yield from _unfolded(step.passes)


def _tables(step: Pass, plan: Plan) -> Columns:
    if isinstance(step, AugmentPass):
        return step.tables()
    if isinstance(step, BlendPass):
        return {"weights": step.weights}
    if not isinstance(step, OperatorPass):
        return dict(step.table)
    own = {"sample_ids": plan.sample_ids} if "place" in step.options else {}
    return {**step.table, **own, "drawn": step.drawn}


def fixed(plan: Plan) -> Plan | None:
    """A plan that gives the same bytes, and of which no more than the numbers in its tables depends on draws.

    Args:
        plan: for images of any sizes.

    Returns:
        The plan; None where there is none: images are not brought to one size by the first pass, or windows
        of unlike sizes are drawn for a blur.

    Example:
        >>> from orbbec.transforms import Compose, GaussianBlur, RandomHorizontalFlip, Resize
        >>> fixed(Compose([RandomHorizontalFlip()]).plan([(4, 6), (5, 5)])) is None
        True
        >>> plan = fixed(Compose([Resize((4, 4)), GaussianBlur(3)]).plan([(4, 6), (5, 5)]))
        >>> list(tables_of(plan)[1]), plan.passes[1].options
        (['sigma', 'drawn'], {'kernel_size': (3, 3)})
    """
    first = plan.passes[0] if plan.passes else None
    begins = isinstance(first, AugmentPass) or (isinstance(first, OperatorPass) and first.resizes)
    if not begins or any(common_size(step.sizes) is None for step in plan.passes):
        return None
    passes = [_fixed_pass(step) for step in plan.passes]
    settled = tuple(step for step in passes if step is not None)
    return replace(plan, passes=settled) if len(settled) == len(passes) else None


def _fixed_pass(step: Any) -> Any:
    if isinstance(step, AugmentPass):
        missing = -step.colors.shape[1] % _STEPS
        return replace(step, colors=np.pad(step.colors, ((0, 0), (0, missing), (0, 0))))
    if isinstance(step, BlendPass):
        inner = [_fixed_pass(each) for each in step.passes]
        return None if None in inner else replace(step, passes=tuple(inner))
    if isinstance(step, OperatorPass) and step.name in _READ_ON_HOST:
        return None if step.name in _MADE_ON_HOST else _with_options(step, _READ_ON_HOST[step.name])
    return step


def _with_options(step: OperatorPass, names: tuple[str, ...]) -> OperatorPass | None:
    """A pass with columns as options; None if images that it changes differ in them."""
    table, options = dict(step.table), dict(step.options)
    for name in names:
        column = table.pop(name)
        rows = column[step.drawn] if step.drawn.any() else column
        if (rows != rows[:1]).any():
            return None
        options[name] = tuple(rows[0].tolist()) if rows.ndim > 1 else rows[0].item()
    return replace(step, table=table, options=options)


def structure_of(plan: Plan) -> Hashable:
    """All that a plan of `fixed` says but the numbers in its tables.

    Where it is equal, `apply_fixed` makes the same calls. Operators that draw noise read seed and epoch.

    Example:
        >>> from orbbec.transforms import CenterCrop, Compose, RandomHorizontalFlip
        >>> chain = Compose([CenterCrop(4), RandomHorizontalFlip()])
        >>> one, other, larger = (fixed(chain.plan(sizes)) for sizes in ([(4, 6)], [(9, 5)], [(4, 6)] * 2))
        >>> structure_of(one) == structure_of(other), structure_of(one) == structure_of(larger)
        (True, False)
    """
    noisy = any("place" in getattr(step, "options", ()) for step in _unfolded(plan.passes))
    drawn_by = (plan.seed, plan.epoch) if noisy else None
    tables = [(name, t.dtype.str, t.shape) for own in tables_of(plan) for name, t in own.items()]
    return len(plan), plan.channels, plan.dtype, drawn_by, _frozen(plan.passes), tuple(tables)


def _frozen(value: Any) -> Hashable:
    """A value without the numbers of its arrays; passes with the one size of their output."""
    if isinstance(value, np.ndarray):
        return None
    if isinstance(value, _PASSES):
        kept = [_frozen(getattr(value, f.name)) for f in fields(value) if f.init and f.name not in _TOLD]
        return type(value).__name__, common_size(value.sizes), *kept
    if isinstance(value, Mapping):
        return tuple((name, _frozen(entry)) for name, entry in value.items())
    if isinstance(value, (tuple, list)):
        return tuple(map(_frozen, value))
    result: Hashable = value
    return result
