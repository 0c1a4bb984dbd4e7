"""Several views or several images in a loader: one plan for each; a view is of what all views read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from orbbec.batch import YCbCrBatch
from orbbec.bridge.arguments import Array
from orbbec.color.ycbcr import ycbcr_to_rgb
from orbbec.data.decode.region import Regions, plan_for, regions_of, union_of
from orbbec.data.loader.several import rows_of_names
from orbbec.data.placed import are_placed
from orbbec.plan import Plan
from orbbec.plan.microbatches import bytes_after, without_unused
from orbbec.transforms import Compose, MultiView, transform_targets

# Of a Compose, of a MultiView, by name of several images, without transforms.
Plans: TypeAlias = "Plan | tuple[Plan, ...] | dict[str, Plans] | None"


class Planned(NamedTuple):
    """The plans of a batch and its targets; of a MultiView tuples, of each view.

    Args:
        rows: of the images that the plan reads, int64 `[M]`; None: all.
    """

    plan: Plans
    targets: Any
    rows: Array | None = None


class Planning(NamedTuple):
    """What the plans of a batch depend on.

    Args:
        targets: of each image.
        seen: targets that transforms read; None: `targets`. The others see `Compose.plan`.
    """

    sizes: Any
    ids: Sequence[int]
    targets: Sequence[dict[str, Any]]
    epoch: int
    channels: int
    frames: int = 1
    pairs: Sequence[int] = ()
    dtype: str = "uint8"
    seen: Sequence[dict[str, Any]] | None = None

    def by(self, transforms: Compose | MultiView | None) -> Planned:
        """The plan and its targets."""
        if isinstance(transforms, MultiView):
            plans, targets, _ = zip(*map(self._by_compose, transforms.pipelines), strict=True)
            return Planned(plans, targets)
        return Planned(None, self.targets) if transforms is None else self._by_compose(transforms)

    def _by_compose(self, compose: Compose) -> Planned:
        sizes, ids, targets, epoch, channels, frames, pairs, dtype, seen = self
        seen = targets if seen is None else seen
        plan = compose.plan(
            *(sizes, ids, epoch), channels=channels, dtype=dtype, targets=seen, frames=frames, pairs=pairs
        )
        rows = None
        if pairs and self.seen is None:
            plan, rows = without_unused(plan)
            targets = [targets[row] for row in rows.tolist()]
        options = compose.target_options
        if plan.mixes or are_placed(targets, options.dense):  # no plan changes labels unless it mixes images
            targets = transform_targets(plan, targets, options)
        return Planned(plan, targets, rows)


def read_by(plans: Plans, can_shrink: Array) -> Regions | None:
    """The regions that plans read; None: whole images."""
    if isinstance(plans, dict):
        rows = rows_of_names(tuple(plans), len(can_shrink))
        parts = [read_by(plan, can_shrink[rows[name]]) for name, plan in plans.items()]
        found = [(part.boxes, part.shrinks) for part in parts if part is not None]
        return None if len(found) < len(parts) else Regions(*map(np.concatenate, zip(*found, strict=True)))
    if isinstance(plans, tuple):
        return union_of(plans)
    return None if plans is None else regions_of(plans, can_shrink)


def for_regions(plans: Plans, regions: Regions | None) -> Plans:
    """The plans for images of which only regions were decoded; None: whole images."""
    if regions is None or plans is None:
        return plans
    if isinstance(plans, dict):
        rows = rows_of_names(tuple(plans), len(regions.boxes))
        return {name: for_regions(plan, regions.rows(rows[name])) for name, plan in plans.items()}
    if isinstance(plans, tuple):
        return tuple(plan_for(plan, regions) for plan in plans)
    return plan_for(plans, regions)


def applied(transforms: Compose | MultiView | None, plans: Plans, images: Any) -> Any:
    """The results of a plan, or a list of those of each view, or a dict of those of each name."""
    if isinstance(plans, dict):
        images = in_colors(images)
        rows = rows_of_names(tuple(plans), len(images))
        return {name: applied(transforms, plan, images[rows[name]]) for name, plan in plans.items()}
    if transforms is None or plans is None:
        return images
    if isinstance(transforms, MultiView):
        assert isinstance(plans, tuple)
        pairs = zip(transforms.pipelines, plans, strict=True)
        return [pipeline.apply(plan, images) for pipeline, plan in pairs]
    return transforms.apply(plans, images)


def in_colors(images: Any) -> Any:
    """The images as RGB if they are planes, on their device."""
    return ycbcr_to_rgb(images) if isinstance(images, YCbCrBatch) else images


def result_bytes(plans: Plans) -> int:
    """The bytes of the results of plans; 0 if images stay as they are."""
    if isinstance(plans, dict):
        return sum(map(result_bytes, plans.values()))
    every = plans if isinstance(plans, tuple) else () if plans is None else (plans,)
    return sum(bytes_after(plan.passes[-1], plan.channels) for plan in every if plan.passes)
