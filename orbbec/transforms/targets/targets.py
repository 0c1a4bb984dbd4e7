"""Boxes, masks, points and polygons that follow the images of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from orbbec.plan.passes import MixPass
from orbbec.plan.plan import Plan
from orbbec.transforms.base.tv_tensors import plain_target, target_like
from orbbec.transforms.targets.covered import cover_all
from orbbec.transforms.targets.formats import box_table, numbers_of_boxes, read_boxes, write_boxes
from orbbec.transforms.targets.mixed import mixed
from orbbec.transforms.targets.motion import motion_of
from orbbec.transforms.targets.options import DEFAULT_OPTIONS, ROTATED, TargetOptions
from orbbec.transforms.targets.state import State, move_all, with_size


@dataclass(frozen=True)
class TargetReport:
    """The number of boxes, and the number of boxes dropped per image; in a mosaic, from all four images."""

    boxes: int
    dropped: tuple[int, ...]

    def __str__(self) -> str:
        images = sum(1 for count in self.dropped if count)
        return f"{sum(self.dropped)} of {self.boxes} boxes dropped, in {images} of {len(self.dropped)} images"


class Targets(list[dict[str, Any]]):
    """The targets of a batch, one dict per image, and a report of dropped boxes."""

    report: TargetReport = TargetReport(0, ())


def transform_targets(plan: Plan, targets: Sequence[Any], options: TargetOptions | None = None) -> Targets:
    """Move the targets of a batch through a plan, and clip them to the images even if none moves.

    Args:
        plan: the plan of the batch.
        targets: one dict per image.
        options: formats and thresholds.

    Returns:
        New dicts with arrays of the same types, and their report; none for pair images.

    Raises:
        TypeError: a target is not a dict.
        ValueError: the number of targets is wrong, or boxes are invalid or not finite; names the image.

    Example:
        >>> from orbbec.transforms import Compose, RandomHorizontalFlip
        >>> plan = Compose([RandomHorizontalFlip(1.0)]).plan([(4, 6)])
        >>> transform_targets(plan, [{"boxes": np.array([[0.0, 0.0, 2.0, 3.0]])}])[0]["boxes"].tolist()
        [[4.0, 0.0, 6.0, 3.0]]
    """
    if len(targets) != len(plan):
        raise ValueError(f"transform_targets: expected {len(plan)} targets, but got {len(targets)}")
    chosen = options or DEFAULT_OPTIONS
    sizes: list[Any] = list(map(tuple, plan.sizes.tolist()))
    images = range(len(sizes))
    plain = [plain_target(index, targets[index], chosen, sizes[index]) for index in images]
    boxes = read_boxes(plain, plan.sizes)
    states = [State(index, *plain[index], sizes[index], boxes[index]) for index in images]
    are_plain = [plain[index][0] is targets[index] for index in images]
    for state in states:
        state.check(*state.size)
    for step in plan.passes:
        motion = motion_of(step, plan.key)
        if motion is not None:
            move_all(motion, states, chosen.mask_fill)
            cover_all(step, states)
        if isinstance(step.mix, MixPass):
            states = mixed(step.mix, states, chosen.mask_fill, plan.key)
    for state in states:
        state.clip()
    formats = [state.options.box_format for state in states]
    written = write_boxes([state.boxes for state in states], formats, plan.output_sizes[: len(states)])
    sizes = list(map(tuple, plan.output_sizes.tolist()))
    results = Targets(
        [
            with_size(state.written(some), size)
            for state, some, size in zip(states, written, sizes, strict=False)
        ]
    )
    for n, is_plain in enumerate(are_plain[: len(results)]):
        if not is_plain:
            results[n] = target_like(results[n], targets[n], sizes[n])
    dropped = tuple(state.dropped for state in states)
    results.report = TargetReport(sum(dropped) + sum(map(len, written)), dropped)
    return results


def readable(index: int, target: Any, options: TargetOptions, size: Sequence[int]) -> Any:
    """A target for transforms that read targets: tensors or arrays, with upright boxes as xyxy in pixels."""
    target, options = plain_target(index, target, options, size)
    if options.box_format in ("xyxy", *ROTATED):
        return target
    table = box_table(index, target, options.box_format)
    if not len(table):
        return target
    return {**target, "boxes": numbers_of_boxes([table], [index], options.box_format, np.array([size]))}
