"""Several views of each image in a loader: one decoding of what they read, one plan for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from orbbec.bridge.arguments import Array
from orbbec.data.decode.region import Regions, plan_for, regions_of, union_of
from orbbec.data.placed import are_placed
from orbbec.plan import Plan
from orbbec.plan.microbatches import bytes_after
from orbbec.transforms import Compose, MultiView, transform_targets

Plans: TypeAlias = Plan | tuple[Plan, ...] | None  # of a Compose, of a MultiView, without transforms


class Planning(NamedTuple):
    """What the plans of a batch depend on; `targets` are of each image, the others see `Compose.plan`."""

    sizes: Any
    ids: Sequence[int]
    targets: Sequence[dict[str, Any]]
    epoch: int
    channels: int
    frames: int = 1
    pairs: int = 0
    dtype: str = "uint8"

    def by(self, transforms: Compose | MultiView | None) -> tuple[Plans, Any]:
        """The plan and its targets; of a MultiView tuples, of each view."""
        if isinstance(transforms, MultiView):
            plans, targets = zip(*map(self._by_compose, transforms.pipelines), strict=True)
            return plans, targets
        return (None, self.targets) if transforms is None else self._by_compose(transforms)

    def _by_compose(self, compose: Compose) -> tuple[Plan, Sequence[dict[str, Any]]]:
        sizes, ids, targets, epoch, channels, frames, pairs, dtype = self
        plan = compose.plan(
            *(sizes, ids, epoch), channels=channels, dtype=dtype, targets=targets, frames=frames, pairs=pairs
        )
        options = compose.target_options
        if plan.mixes or are_placed(targets, options.dense):  # no plan changes labels unless it mixes images
            return plan, transform_targets(plan, targets, options)
        return plan, targets


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
