"""Boxes, masks, points and polygons that follow the images of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np
import torch
from torch import Tensor

from orbbec.binding.arguments import Array, as_tensor
from orbbec.boxes import box_convert
from orbbec.elastic import elastic_displacement
from orbbec.plan.passes import AugmentPass, BlendPass, MixPass, OperatorPass
from orbbec.plan.plan import Plan
from orbbec.plan.points import (
    areas,
    carried,
    carried_edges,
    clip_polygon,
    clipped,
    corners_of,
    forward_of,
    hulls,
    polygon_area,
    through_displacement,
    turned_boxes,
    turned_corners,
)
from orbbec.transforms.checks import choice, number
from orbbec.transforms.masks import Mask, moved_masks
from orbbec.transforms.mixed_targets import mixed
from orbbec.transforms.tv_tensors import plain_target, target_like

BOX_FORMATS = ("xyxy", "xywh", "cxcywh", "cxcywha", "xyxyxyxy")
POINT_KEYS = ("keypoints", "landmarks")
_APART = ("mask", *POINT_KEYS)  # of the image, not of a box


@dataclass(frozen=True)
class TargetOptions:
    """What becomes of targets.

    The targets of an image are a dict of arrays or tensors:

    - `boxes` `[K, 4]`, `[K, 5]` or `[K, 8]` in `box_format`: upright ones by their four corners, and clipped;
      "cxcywha" stays exact under shifts, turns, scales and flips, and "xyxyxyxy" under every affine map.
    - `masks` `[K, H, W]` and `mask` `[H, W]`: as the nearest pixel.
    - `keypoints`, `landmarks` `[P, 2]`, `[P, 3]`, `[K, P, 2]` or `[K, P, 3]`: pixel positions (x, y), and a
      visibility that becomes 0 outside of the image.
    - `polygons`: a list of K arrays `[P, 2]`, clipped.
    - anything else is kept. What has a row a box loses the rows of dropped boxes.

    `torchvision.tv_tensors` under these names stay what they are, boxes in their own format.

    Args:
        box_format: "xyxy", "xywh", "cxcywh", "cxcywha" or "xyxyxyxy".
        min_size: boxes with a side below this, in pixels, are dropped.
        min_visibility: boxes of which a smaller share than this is left inside are dropped, from 0 to 1.
        mask_fill: of masks, outside of an image.
    """

    box_format: str = "xyxy"
    min_size: float = 1.0
    min_visibility: float = 0.0
    mask_fill: float = 0.0

    def __post_init__(self) -> None:
        choice("TargetOptions", "box_format", self.box_format, BOX_FORMATS)
        number("TargetOptions", "min_size", self.min_size, 0.0)
        number("TargetOptions", "min_visibility", self.min_visibility, 0.0, 1.0)
        number("TargetOptions", "mask_fill", self.mask_fill)


@dataclass(frozen=True)
class TargetReport:
    """How many boxes there were, and how many of each image were dropped."""

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
        >>> from orbbec.transforms import Compose, RandomHorizontalFlip
        >>> plan = Compose([RandomHorizontalFlip(1.0)]).plan([(4, 6)])
        >>> transform_targets(plan, [{"boxes": np.array([[0.0, 0.0, 2.0, 3.0]])}])[0]["boxes"].tolist()
        [[4.0, 0.0, 6.0, 3.0]]
    """
    if len(targets) != len(plan):
        raise ValueError(f"transform_targets: expected {len(plan)} targets, but got {len(targets)}")
    chosen = TargetOptions() if options is None else options
    states = [_State(index, *plain_target(index, target, chosen)) for index, target in enumerate(targets)]
    for state, (height, width) in zip(states, plan.sizes.tolist(), strict=True):
        state.check(height, width)
    sizes, count, dropped = plan.sizes, 0, np.zeros(len(plan), int)
    for step in plan.passes:
        if isinstance(step, MixPass):
            count += sum(state.count for state in states) if not count else 0
            dropped += [state.count - int(state.kept.sum()) for state in states]
            formats = " and ".join(sorted({state.options.box_format for state in states}))
            given = mixed(step, [state.written() for state in states], sizes, formats)
            states = [_State(n, target, states[n].options) for n, target in enumerate(given)]
            sizes = step.sizes
            continue
        if isinstance(step, BlendPass):
            continue
        sizes = step.sizes
        forward = forward_of(step.matrix)
        for state, matrix in zip(states, forward, strict=True):
            state.move(step, matrix, plan)
        _move_masks(step, states, plan, chosen.mask_fill)
    results = Targets(
        target_like(state.written(), target, (height, width))
        for state, target, (height, width) in zip(states, targets, sizes.tolist(), strict=True)
    )
    dropped += [state.count - int(state.kept.sum()) for state in states]
    results.report = TargetReport(count or sum(state.count for state in states), tuple(dropped.tolist()))
    return results


def readable(index: int, target: Any, options: TargetOptions) -> Any:
    """A target for transforms that read it: tensors or arrays, upright boxes as xyxy."""
    target, options = plain_target(index, target, options)
    if not isinstance(target, dict) or options.box_format not in ("xywh", "cxcywh"):
        return target
    boxes = np.asarray(target.get("boxes", ()), np.float64)
    return {**target, "boxes": box_convert(boxes, options.box_format, "xyxy")} if boxes.size else target


class _State:
    """The targets of one image on their way."""

    def __init__(self, index: int, target: Any, options: TargetOptions) -> None:
        if not isinstance(target, dict):
            raise TypeError(
                f"transform_targets: expected dicts, but target {index} is a {type(target).__name__}"
            )
        self.index, self.given, self.options = index, target, options
        self.values: dict[str, Any] = dict(target)
        self.corners = self._read_corners()
        self.count = len(self.corners)
        self.kept = np.ones(self.count, bool)
        self.visible = np.ones(self.count)

    def _read_corners(self) -> Array:
        boxes = self.given.get("boxes")
        if boxes is None:
            return np.zeros((0, 4, 2))
        table = np.asarray(boxes.detach().cpu() if isinstance(boxes, Tensor) else boxes, np.float64)
        width = {"cxcywha": 5, "xyxyxyxy": 8}.get(self.options.box_format, 4)
        table = table.reshape(0, width) if table.size == 0 else table
        if table.ndim != 2 or table.shape[1] != width:
            raise ValueError(
                f"transform_targets: expected boxes of shape [K, {width}], but image {self.index} has "
                f"{list(table.shape)}"
            )
        if not np.isfinite(table).all():
            row = int((~np.isfinite(table)).any(1).argmax())
            raise ValueError(f"transform_targets: box {row} of image {self.index} is not finite")
        if width == 5:
            return turned_corners(table)
        if width == 8:
            return np.asarray(table.reshape(-1, 4, 2))
        return corners_of(np.asarray(box_convert(table, self.options.box_format, "xyxy")))

    def check(self, height: int, width: int) -> None:
        """Refuse what has another length than the boxes, or another size than the image."""
        for key in ("masks", "mask"):
            if key in self.given and tuple(self.given[key].shape[-2:]) != (height, width):
                raise ValueError(
                    f"transform_targets: expected {key} of {height}x{width}, as image {self.index} is, "
                    f"but got shape {list(self.given[key].shape)}"
                )
        if "boxes" not in self.given:
            return
        for key in ("labels", "masks", "polygons", *POINT_KEYS):
            value = self.given.get(key)
            per_box = key not in POINT_KEYS or getattr(value, "ndim", 0) == 3
            if value is not None and per_box and len(value) != self.count:
                raise ValueError(
                    f"transform_targets: expected {self.count} {key}, one a box, but image {self.index} has "
                    f"{len(value)}"
                )

    @property
    def is_upright(self) -> bool:
        return self.options.box_format in ("xyxy", "xywh", "cxcywh")

    def is_kept(self, step: AugmentPass | OperatorPass) -> bool:
        """Whether a pass leaves every pixel in its place."""
        if isinstance(step, AugmentPass) or step.resizes:
            return False
        if _is_elastic(step):
            return not step.drawn[self.index]
        return bool((step.matrix[self.index] == np.eye(3)).all())

    def move(self, step: AugmentPass | OperatorPass, forward: Array, plan: Plan) -> None:
        """Carry everything but masks through one pass."""
        n, bent = self.index, None
        if self.is_kept(step):
            return
        size = (int(step.sizes[n, 0]), int(step.sizes[n, 1]))
        if _is_elastic(step):
            bent = _displacement(step, n, size, plan)

        def move_points(points: Array, edge: float) -> Array:
            if bent is not None:
                return through_displacement(points - edge, bent) + edge
            return carried_edges(forward, points) if edge else carried(forward, points)

        self._move_boxes(move_points(self.corners, 0.5), size)
        if "polygons" in self.values:
            given = (np.asarray(polygon, np.float64).reshape(-1, 2) for polygon in self.values["polygons"])
            moved = (move_points(polygon, 0.5) for polygon in given)
            self.values["polygons"] = [
                clip_polygon(p, size) if np.isfinite(p).all() else p[:0] for p in moved
            ]
        for key in POINT_KEYS:
            if key in self.values:
                self.values[key] = _moved_points(self.values[key], lambda p: move_points(p, 0.0), size)

    def _move_boxes(self, corners: Array, size: tuple[int, int]) -> None:
        seen = np.asarray(np.isfinite(corners).all((1, 2)))
        corners = np.where(seen[:, None, None], corners, 0.0)
        if self.is_upright:
            whole = hulls(corners)
            boxes = clipped(whole, size)
            full, left = areas(whole), areas(boxes)
            corners = corners_of(boxes)
        else:
            full = np.array([polygon_area(box) for box in corners])
            left = np.array([polygon_area(clip_polygon(box, size)) for box in corners])
            left = left.reshape(len(corners))
        self.visible = self.visible * np.where(seen, np.minimum(left / np.maximum(full, 1e-12), 1.0), 0.0)
        self.corners = corners
        sides = np.stack([np.hypot(*(corners[:, k] - corners[:, 0]).T) for k in (1, 3)], 1)
        large = (sides >= self.options.min_size).all(1)
        self.kept &= seen & large & (left > 0) & (self.visible >= self.options.min_visibility - 1e-9)

    def written(self) -> dict[str, Any]:
        """A new dict, without what was dropped."""
        result = dict(self.values)
        if "boxes" in self.given:
            result["boxes"] = _like(self._boxes(), self.given["boxes"])
            for key, value in result.items():
                if key != "boxes" and _is_per_box(key, value, self.count):
                    result[key] = _rows(value, self.kept)
        for key, value in result.items():
            if key in (*POINT_KEYS, "masks", "mask"):
                result[key] = _like(value, self.given[key])
        return result

    def _boxes(self) -> Array:
        corners = self.corners[self.kept]
        if self.options.box_format == "cxcywha":
            return turned_boxes(corners)
        if self.options.box_format == "xyxyxyxy":
            return corners.reshape(-1, 8)
        return np.asarray(box_convert(hulls(corners), "xyxy", self.options.box_format))


def _move_masks(step: AugmentPass | OperatorPass, states: Sequence[_State], plan: Plan, fill: float) -> None:
    """Carry the masks of all images through one pass."""
    moving = [
        (state, key)
        for state in states
        for key in ("masks", "mask")
        if key in state.values and not state.is_kept(step)
    ]
    given = [as_tensor("transform_targets", key, state.values[key]) for state, key in moving]
    masks = [Mask(state.index, values) for (state, _), values in zip(moving, given, strict=True)]
    for (state, key), moved in zip(moving, moved_masks(step, masks, plan, fill), strict=True):
        state.values[key] = moved


def _is_elastic(step: AugmentPass | OperatorPass) -> TypeGuard[OperatorPass]:
    return isinstance(step, OperatorPass) and step.name == "elastic_transform"


def _elastic(step: OperatorPass, n: int, plan: Plan) -> dict[str, Any]:
    table = {name: torch.from_numpy(values[n : n + 1]) for name, values in step.table.items()}
    ids = torch.from_numpy(plan.sample_ids[n : n + 1])
    return {**table, "sample_ids": ids, "seed": plan.seed, "epoch": plan.epoch}


def _displacement(step: OperatorPass, n: int, size: tuple[int, int], plan: Plan) -> Array:
    key = _elastic(step, n, plan)
    result: Array = elastic_displacement(
        key.pop("sample_ids"), size, key.pop("alpha"), key.pop("sigma"), **key, place=step.options["place"]
    )[0].numpy()
    return result


def _moved_points(given: Any, move: Any, size: tuple[int, int]) -> Array:
    points = np.array(given.detach().cpu().numpy() if isinstance(given, Tensor) else given, np.float64)
    if points.size == 0:
        return points
    moved = move(points[..., :2])
    height, width = size
    x, y = moved[..., 0], moved[..., 1]
    inside = (x >= -0.5) & (x <= width - 0.5) & (y >= -0.5) & (y <= height - 0.5)
    points[..., :2] = moved
    if points.shape[-1] > 2:
        points[..., 2] = np.where(inside, points[..., 2], 0)
    return points


def _is_per_box(key: str, value: Any, count: int) -> bool:
    if key in _APART:
        return key in POINT_KEYS and value.ndim == 3 and len(value) == count
    if isinstance(value, (Tensor, np.ndarray)):
        return value.ndim > 0 and len(value) == count
    return isinstance(value, (list, tuple)) and len(value) == count


def _rows(value: Any, kept: Array) -> Any:
    if isinstance(value, Tensor):
        return value[torch.from_numpy(kept).to(value.device)]
    if isinstance(value, np.ndarray):
        return value[kept]
    return type(value)(entry for entry, is_kept in zip(value, kept.tolist(), strict=True) if is_kept)


def _like(values: Any, given: Any) -> Any:
    """In the kind, dtype and place of what was given; whole numbers are rounded."""
    if isinstance(given, Tensor):
        tensor = torch.as_tensor(values)
        tensor = tensor if given.is_floating_point() or not tensor.is_floating_point() else tensor.round()
        return tensor.to(given.device, given.dtype)
    array = values.numpy() if isinstance(values, Tensor) else np.asarray(values)
    if isinstance(given, np.ndarray):
        rounds = given.dtype.kind in "iu" and array.dtype.kind == "f"
        return (np.rint(array) if rounds else array).astype(given.dtype)
    return array
