"""Boxes, masks, points and polygons that follow the images of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from orbbec.plan.passes import AugmentPass, BlendPass, MixPass
from orbbec.plan.plan import Plan
from orbbec.plan.points import numbers_of
from orbbec.transforms.checks import choice, flag, number
from orbbec.transforms.mixed_targets import mixed
from orbbec.transforms.target_state import State, corners_in_pixels, move_all, with_size
from orbbec.transforms.tv_tensors import plain_target, target_like

BOX_FORMATS = ("xyxy", "xywh", "cxcywh", "cxcywha", "xyxyxyxy", "xyxyn", "cxcywhn")


@dataclass(frozen=True)
class TargetOptions:
    """What becomes of targets.

    The targets of an image are a dict of arrays or tensors:

    - `boxes` `[K, 4]`, `[K, 5]` or `[K, 8]` in `box_format`: upright ones by their four corners, and clipped;
      "xyxyxyxy" stays exact under every affine map; a mirror swaps its corners, so that they go round as
      before. "cxcywha" stays exact under shifts, rotations, flips and scales that are the same along x and y;
      a parallelogram becomes the rectangle of its area whose sides are nearest to its own, by least squares.
      Sides below 0 are refused. "xyxyn" and "cxcywhn" are "xyxy" and "cxcywh" relative to the image: x by its
      width, y by its height, from 0 to 1. They come back relative to the size of the output.
    - `masks` `[K, H, W]` and `mask` `[H, W]`: the pixels that a nearest image takes, else the nearest.
    - `keypoints`, `landmarks` `[P, 2]`, `[P, 3]`, `[K, P, 2]` or `[K, P, 3]`: pixel positions (x, y), and a
      visibility that becomes 0 outside of the image.
    - `polygons`: a list of K arrays or tensors `[P, 2]`, clipped.
    - `area` `[K]`: multiplied by what the pixels of its mask become, or, without `masks`, by the scale at the
      middle of its box and the share of the box that is left.
    - `size`: the new (height, width).
    - anything else is kept. What has a row a box loses the rows of dropped boxes, but for `image_id`,
      `orig_size` and `size`, which are of the image.

    Numbers keep their dtype: those of whole numbers are rounded, halves to even (torchvision cuts fractions
    off), once, at the end; give boxes as floats to keep what lies between.

    `torchvision.tv_tensors` under these names stay what they are, boxes in their own format.

    Args:
        box_format: "xyxy" (Pascal VOC, torchvision), "xywh" (COCO), "cxcywh", "cxcywha", "xyxyxyxy", "xyxyn"
            (Albumentations' own), or "cxcywhn" (label files of YOLO; ultralytics calls it xywhn).
        min_size: boxes with a side below this, in pixels, are dropped.
        min_visibility: boxes of which a smaller share than this is left inside are dropped, from 0 to 1.
        mask_fill: of masks, outside of an image.
        drop_boxes: False keeps all boxes, as torchvision does until `SanitizeBoundingBoxes`; those of which
            nothing is left have no area.
        min_area: boxes of which less than this is left, in square pixels, are dropped.
        drop_keypoints: True drops `keypoints` and `landmarks` `[P, 2]` and `[P, 3]` that leave the image;
            those of boxes stay.
    """

    box_format: str = "xyxy"
    min_size: float = 1.0
    min_visibility: float = 0.0
    mask_fill: float = 0.0
    drop_boxes: bool = True
    min_area: float = 0.0
    drop_keypoints: bool = False

    def __post_init__(self) -> None:
        choice("TargetOptions", "box_format", self.box_format, BOX_FORMATS)
        number("TargetOptions", "min_size", self.min_size, 0.0)
        number("TargetOptions", "min_visibility", self.min_visibility, 0.0, 1.0)
        number("TargetOptions", "mask_fill", self.mask_fill)
        number("TargetOptions", "min_area", self.min_area, 0.0)
        flag("TargetOptions", "drop_boxes", self.drop_boxes)
        flag("TargetOptions", "drop_keypoints", self.drop_keypoints)


@dataclass(frozen=True)
class TargetReport:
    """How many boxes there were, and how many of each image were dropped; in a mosaic those of all four."""

    boxes: int
    dropped: tuple[int, ...]

    def __str__(self) -> str:
        images = sum(1 for count in self.dropped if count)
        return f"{sum(self.dropped)} of {self.boxes} boxes dropped, in {images} of {len(self.dropped)} images"


class Targets(list[dict[str, Any]]):
    """The targets of a batch, a dict an image, and a report about them."""

    report: TargetReport = TargetReport(0, ())


def transform_targets(plan: Plan, targets: Sequence[Any], options: TargetOptions | None = None) -> Targets:
    """Carry the targets of a batch through a plan.

    Args:
        plan: of the batch.
        targets: a dict an image.
        options: formats and thresholds.

    Returns:
        New dicts of the same kinds of arrays, and their report.

    Raises:
        TypeError: a target is no dict.
        ValueError: the numbers of images differ, or boxes are malformed or not finite; names the image.

    Example:
        >>> import numpy as np
        >>> from orbbec.transforms import Compose, RandomHorizontalFlip
        >>> plan = Compose([RandomHorizontalFlip(1.0)]).plan([(4, 6)])
        >>> transform_targets(plan, [{"boxes": np.array([[0.0, 0.0, 2.0, 3.0]])}])[0]["boxes"].tolist()
        [[4.0, 0.0, 6.0, 3.0]]
    """
    if len(targets) != len(plan):
        raise ValueError(f"transform_targets: expected {len(plan)} targets, but got {len(targets)}")
    chosen = TargetOptions() if options is None else options
    sizes = plan.sizes
    states = [
        State(index, *plain_target(index, target, chosen), size)
        for index, (target, size) in enumerate(zip(targets, map(tuple, sizes.tolist()), strict=True))
    ]
    for state in states:
        state.check(*state.size)
    for step in plan.passes:
        if isinstance(step, BlendPass):
            continue
        if isinstance(step, MixPass):
            states = mixed(step, states, sizes, plan, chosen.mask_fill)
        else:
            move_all(step, states, plan, chosen.mask_fill)
            if isinstance(step, AugmentPass) and step.mixes is not None:
                states = mixed(step.mixes, states, step.sizes, plan, chosen.mask_fill)
        sizes = step.sizes
    results = Targets(
        target_like(with_size(state.written(), (height, width)), target, (height, width))
        for state, target, (height, width) in zip(states, targets, sizes.tolist(), strict=True)
    )
    dropped = tuple(state.dropped for state in states)
    results.report = TargetReport(sum(dropped) + sum(int(state.kept.sum()) for state in states), dropped)
    return results


def readable(index: int, target: Any, options: TargetOptions, size: Sequence[int]) -> Any:
    """A target for transforms that read it: tensors or arrays, upright boxes as xyxy in pixels."""
    target, options = plain_target(index, target, options)
    if options.box_format in ("xyxy", "cxcywha", "xyxyxyxy"):
        return target
    boxes = numbers_of(target.get("boxes", ()))
    return {**target, "boxes": corners_in_pixels(boxes, options.box_format, size)} if boxes.size else target
