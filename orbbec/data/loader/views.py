"""Several views of each image in a loader: one decoding of what they read, one plan for each."""

from __future__ import annotations

from typing import Any, TypeAlias

from orbbec.bridge.arguments import Array
from orbbec.data.decode.region import Regions, plan_for, regions_of, union_of
from orbbec.plan import Plan
from orbbec.plan.microbatches import bytes_after
from orbbec.transforms import Compose, MultiView

Plans: TypeAlias = Plan | tuple[Plan, ...] | None  # of a Compose, of a MultiView, without transforms


def read_by(plans: Plans, can_shrink: Array) -> Regions | None:
    """The regions that plans read; None: whole images."""
    if isinstance(plans, tuple):
        return union_of(plans)
    return None if plans is None else regions_of(plans, can_shrink)


def for_regions(plans: Plans, regions: Regions | None) -> Plans:
    """The plans for images of which only regions were decoded; None: whole images."""
    if regions is None or plans is None:
        return plans
    if isinstance(plans, tuple):
        return tuple(plan_for(plan, regions) for plan in plans)
    return plan_for(plans, regions)


def applied(transforms: Compose | MultiView, plans: Plans, images: Any) -> Any:
    """The results of a plan, or a list of those of each view."""
    if isinstance(transforms, MultiView):
        assert isinstance(plans, tuple)
        pairs = zip(transforms.pipelines, plans, strict=True)
        return [pipeline.apply(plan, images) for pipeline, plan in pairs]
    return transforms.apply(plans, images)


def result_bytes(plans: Plans) -> int:
    """The bytes of the results of plans; 0 if images stay as they are."""
    every = plans if isinstance(plans, tuple) else () if plans is None else (plans,)
    return sum(bytes_after(plan.passes[-1], plan.channels) for plan in every if plan.passes)
