"""The targets of one image while they go through the passes of a plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec.batch.collate import sequence_like
from orbbec.bridge.arguments import Array, as_tensor, tensor_of
from orbbec.nms.boxes import box_convert
from orbbec.plan.points import (
    areas,
    carried,
    carried_edges,
    clipped,
    corners_of,
    forward_of,
    grown,
    hulls,
    numbers_of,
    polygon_area,
    rotated_boxes,
    rotated_corners,
    through_displacement,
    without_covered,
)
from orbbec.transforms.targets.dense import Reading, check_dense, following
from orbbec.transforms.targets.masks import Mask, moved_masks
from orbbec.transforms.targets.motion import Motion
from orbbec.transforms.targets.options import TargetOptions
from orbbec.transforms.targets.pairs import mirrors, pairs_of, swapped
from orbbec.transforms.targets.per_box import PER_BOX_KEYS, chosen_rows, row_count
from orbbec.transforms.targets.rings import check_rings, clipped_ring, each_ring
from orbbec.transforms.targets.run_lengths import are_runs, masks_of_runs

POINT_KEYS = ("keypoints", "landmarks")
MASK_KEYS = ("masks", "mask")


class State:
    """Boxes as corners, other targets as given, and which boxes are kept."""

    def __init__(
        self, index: int, target: dict[str, Any], options: TargetOptions, size: tuple[int, int]
    ) -> None:
        self.index, self.options = index, options
        self.size = self.read_size = size  # of the image at this pass, and of what the last one read of it
        self.original = self._with_masks(target)
        self.values: dict[str, Any] = dict(self.original)
        self.corners = self._read_corners()
        self.count = len(self.corners)
        self.keep = np.ones(self.count, bool)
        self.visible = np.ones(self.count)
        self.scale = np.ones(self.count)  # by which the visible areas of boxes changed
        self.parts = (
            [] if self.is_upright else list(self.corners)
        )  # the visible parts of rotated boxes, as polygons
        self.dropped_before = 0
        self.is_clipped = False

    def go_on_from(self, *before: State) -> None:
        """Take over the visibility of the boxes that earlier states kept; this state's boxes are those."""
        self.visible = np.concatenate([state.visible[state.keep] for state in before])
        pairs = (pair for state in before for pair in zip(state.parts, state.keep, strict=False))
        self.parts = [part for part, is_kept in pairs if is_kept]

    @property
    def dropped(self) -> int:
        """The number of boxes dropped so far."""
        return self.dropped_before + self.count - int(self.keep.sum())

    def _with_masks(self, target: dict[str, Any]) -> dict[str, Any]:
        """A target with masks instead of run lengths: a tensor if the boxes are one, otherwise an array."""
        runs: Any = target.get("masks")
        if not are_runs(runs):
            return target
        try:
            masks = masks_of_runs(runs, self.size)
        except ValueError as error:
            raise ValueError(f"transform_targets: masks of image {self.index}: {error}") from error
        is_tensor = isinstance(target.get("boxes"), Tensor)
        return {**target, "masks": torch.from_numpy(masks) if is_tensor else masks}

    def _read_corners(self) -> Array:
        boxes = self.original.get("boxes")
        if boxes is None:
            return np.zeros((0, 4, 2))
        table = numbers_of(boxes)
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
        if self.options.box_format.endswith("n") and table.size > 0 and not _is_floating(boxes):
            raise TypeError(
                f"transform_targets: expected boxes {self.options.box_format} as floats, but image "
                f"{self.index} has whole numbers"
            )
        self._check_sides(table)
        if width == 5:
            return rotated_corners(table)
        if width == 8:
            return np.asarray(table.reshape(-1, 4, 2))
        return corners_of(corners_in_pixels(table, self.options.box_format, self.size))

    def _check_sides(self, table: Array) -> None:
        """Refuse boxes whose ends are in the wrong order."""
        name = self.options.box_format
        if name == "xyxyxyxy":
            return
        sides = table[:, 2:4] - table[:, :2] if name in ("xyxy", "xyxyn") else table[:, 2:4]
        inverted = (sides < 0).any(1)
        if inverted.any():
            row = int(inverted.argmax())
            raise ValueError(
                f"transform_targets: expected boxes {name} with sides of at least 0, but box {row} of image "
                f"{self.index} is {table[row].tolist()}"
            )

    def check(self, height: int, width: int) -> None:
        """Refuse targets of another length than the boxes, masks of another size, and what is no polygon."""
        for key in self.layers:
            value, kind = self.original[key], self.options.kind_of(key)
            self._check_mask(key, value, (height, width))
            if kind:
                check_dense(kind, key, value, self.index, self.options.depth_scale)
        for row, polygon in enumerate(self.original.get("polygons", ())):
            check_rings(polygon, f"rings of polygon {row} of image {self.index}")
        for key in filter(self.is_per_box, self.original):
            count = row_count(self.original[key])
            if count != self.count:
                found = f"a {type(self.original[key]).__name__}" if count is None else count
                raise (TypeError if count is None else ValueError)(
                    f"transform_targets: expected {self.count} {key}, one per box, "
                    f"but image {self.index} has {found}"
                )

    def _check_mask(self, key: str, value: Any, size: tuple[int, int]) -> None:
        if not isinstance(value, (Tensor, np.ndarray)):
            raise TypeError(
                f"transform_targets: expected {key} as a tensor or an array, but image {self.index} has a "
                f"{type(value).__name__}"
            )
        if tuple(value.shape[-2:]) != size:
            raise ValueError(
                f"transform_targets: expected {key} of {size[0]}x{size[1]}, as image {self.index} is, "
                f"but got shape {list(value.shape)}"
            )

    def is_per_box(self, key: str) -> bool:
        """Whether an entry has one row per box, which is known by its name."""
        value = self.original.get(key)
        if value is None or "boxes" not in self.original:
            return False
        return (
            key in PER_BOX_KEYS or key in self.options.per_box or (key in POINT_KEYS and np.ndim(value) == 3)
        )

    def is_layer(self, key: str) -> bool:
        """Whether an entry has a value or a vector for each pixel: a mask, depth, flow or normals."""
        return key == "mask" or bool(self.options.kind_of(key))

    @property
    def layers(self) -> list[str]:
        """The entries with values for each pixel: layers, and masks of boxes."""
        return [key for key in self.values if key == "masks" or self.is_layer(key)]

    def follows(self, key: str) -> bool:
        """Whether an entry moves with the image: boxes and what belongs to them, layers, points, polygons."""
        known = key in ("boxes", "polygons", *MASK_KEYS, *POINT_KEYS)
        return known or self.is_layer(key) or self.is_per_box(key)

    def fill_of(self, key: str, mask_fill: float) -> float:
        """The value of a layer, or of masks, where there is no image."""
        return {"": mask_fill, "depth": self.options.depth_fill}.get(self.options.kind_of(key), 0.0)

    @property
    def is_upright(self) -> bool:
        return self.options.box_format not in ("cxcywha", "xyxyxyxy")

    def move(self, motion: Motion, forward: Array) -> None:
        """Move everything except masks through a pass; `forward` is the inverse of its matrix."""
        if motion.keeps(self.index):
            return
        self.is_clipped = True
        cut = motion.cut(self.index)
        if cut is not None:
            self._cut(cut)
        source = self.read_size = self.size if cut is None else (cut[3] - cut[1], cut[2] - cut[0])
        if self.options.keypoint_pairs and mirrors(forward, source):
            self._swap_sides()
        height, width = motion.sizes[self.index].tolist()
        self.size = size = (height, width)
        displacement = motion.displacement(self.index)

        def move_points(points: Array, edge: float) -> Array:
            if displacement is not None:
                return through_displacement(points - edge, displacement) + edge
            return carried_edges(forward, points) if edge else carried(forward, points)

        corners = move_points(self.corners, 0.5)
        if displacement is None:
            self.scale = self.scale * grown(forward, self.corners.mean(1))
        if self.options.box_format == "xyxyxyxy" and displacement is None and np.linalg.det(forward) < 0:
            corners = corners[:, [1, 0, 3, 2]]  # keeps their order around the box
        self.parts = [move_points(part, 0.5) for part in self.parts]
        self._move_boxes(corners, size, self.thresholds)
        self._move_points(move_points, size)

    def _swap_sides(self) -> None:
        """Exchange the keypoints of the left and the right side, before the image is mirrored."""
        pairs = pairs_of("TargetOptions", self.options.keypoint_pairs)
        for key in POINT_KEYS:
            if key in self.values:
                what = f"{key} of image {self.index}"
                self.values[key] = swapped(numbers_of(self.values[key]), pairs, what)

    def clip(self) -> None:
        """Clip to the image, and drop small boxes, if no pass has done so."""
        if self.is_clipped:
            return
        self.is_clipped = True
        self._move_boxes(self.corners, self.size, self.thresholds)
        self._move_points(lambda points, edge: points, self.size)

    def _cut(self, region: Array) -> None:
        """Clip to left, top, right, bottom, and make positions relative to its corner."""
        corner, size = region[:2], (int(region[3] - region[1]), int(region[2] - region[0]))
        self.parts = [part - corner for part in self.parts]
        self._move_boxes(self.corners - corner, size)
        self._move_points(lambda points, edge: points - corner, size)

    def hide(self, region: Array) -> None:
        """Let another image cover left, top, right, bottom."""
        left, top, right, bottom = region.tolist()
        if left >= right or top >= bottom:
            return
        self.is_clipped = True
        for key in self.layers:
            mask = as_tensor("transform_targets", key, self.values[key]).clone()
            mask[..., top:bottom, left:right] = self.fill_of(key, 0.0)
            self.values[key] = mask
        for key in filter(self.values.__contains__, POINT_KEYS):
            at = numbers_of(self.values[key])[..., :2] + 0.5
            self.hide_points(key, np.asarray(((at >= region[:2]) & (at < region[2:])).all(-1)))
        self._hide_boxes(region)

    def hide_points(self, key: str, hidden: Array) -> None:
        """Make some points invisible."""
        points = numbers_of(self.values[key]).copy()
        if points.shape[-1] > 2:
            points[..., 2] = np.where(hidden, 0, points[..., 2])
        drops = self.options.drop_keypoints and points.ndim == 2 and not self.is_per_box(key)
        self.values[key] = points[~hidden] if drops else points

    def _hide_boxes(self, region: Array) -> None:
        """Shrink boxes to what is visible, and drop those of which too little is."""
        before = hulls(self.corners) if self.count else np.zeros((0, 4))
        corners = np.maximum(before[:, :2], region[:2]), np.minimum(before[:, 2:], region[2:])
        covered = np.concatenate(corners, 1)
        if self.is_upright:
            full, hidden = areas(before), areas(covered)
        else:
            extent = int(region[3] - region[1]), int(region[2] - region[0])
            full = np.array([polygon_area(part) for part in self.parts])
            hidden = np.array([polygon_area(clipped_ring(part - region[:2], extent)) for part in self.parts])
        visible = np.where(full > 0, 1 - hidden / np.maximum(full, 1e-12), 1.0)
        boxes = without_covered(before, region)
        self.visible, self.scale = self.visible * visible, self.scale * visible
        if self.is_upright:
            self.corners = corners_of(boxes)
        if self.options.drop_boxes:
            self.keep &= visible > 1e-9
            self.drop_small(boxes[:, 2:] - boxes[:, :2], full * visible, self.thresholds)

    @property
    def thresholds(self) -> tuple[float, float]:
        """The least side and the least area of boxes."""
        return self.options.min_size, self.options.min_area

    def drop_small(self, sides: Array, left: Array, thresholds: tuple[float, float]) -> None:
        """Drop boxes below thresholds, or with too little that is visible.

        Args:
            sides: float64 `[K, 2]`.
            left: float64 `[K]`, what is left of their areas.
            thresholds: see `thresholds`.
        """
        min_size, min_area = thresholds
        large = (sides >= min_size).all(1) & (left >= min_area * (1 - 1e-9))
        self.keep &= large & (self.visible >= self.options.min_visibility - 1e-9)

    def _move_points(self, move_points: Callable[[Array, float], Array], size: tuple[int, int]) -> None:
        if "polygons" in self.values:

            def move_ring(ring: Any, _: Any) -> Array:
                return clipped_ring(move_points(numbers_of(ring).reshape(-1, 2), 0.5), size)

            self.values["polygons"] = [each_ring(move_ring, each, each) for each in self.values["polygons"]]
        for key in POINT_KEYS:
            if key in self.values:
                points, inside = _moved_points(self.values[key], lambda p: move_points(p, 0.0), size)
                drops = self.options.drop_keypoints and points.ndim == 2 and not self.is_per_box(key)
                self.values[key] = points[inside] if drops else points

    def _move_boxes(
        self, corners: Array, size: tuple[int, int], thresholds: tuple[float, float] = (0.0, 0.0)
    ) -> None:
        seen = np.asarray(np.isfinite(corners).all((1, 2)))
        corners = np.where(seen[:, None, None], corners, 0.0)
        if self.is_upright:
            whole = hulls(corners)
            boxes = clipped(whole, size)
            full, left = areas(whole), areas(boxes)
            corners, sides = corners_of(boxes), boxes[:, 2:] - boxes[:, :2]
        else:
            full = np.array([polygon_area(part) for part in self.parts])
            self.parts = [clipped_ring(part, size) for part in self.parts]
            left = np.array([polygon_area(part) for part in self.parts])
            sides = np.stack([np.hypot(*(corners[:, k] - corners[:, 0]).T) for k in (1, 3)], 1)
        fraction = np.where(seen, np.minimum(left / np.maximum(full, 1e-12), 1.0), 0.0)
        self.visible, self.scale = self.visible * fraction, self.scale * fraction
        self.corners = corners
        if not self.options.drop_boxes:
            return
        self.keep &= seen & (left > 0)
        self.drop_small(sides, left, thresholds)

    def written(self) -> dict[str, Any]:
        """The targets as a new dict, without dropped rows."""
        result = dict(self.values)
        if "polygons" in result:
            pairs = zip(result["polygons"], self.original["polygons"], strict=True)
            what = f"polygons of image {self.index}"
            polygons = [
                each_ring(lambda ring, original: _like(ring, original, what), *pair) for pair in pairs
            ]
            result["polygons"] = sequence_like(polygons, self.original["polygons"])
        if "boxes" in self.original:
            result["boxes"] = _like(self._boxes(), self.original["boxes"], f"boxes of image {self.index}")
            if self.is_per_box("area"):
                result["area"] = self._scaled_area(result["area"])
            for key in filter(self.is_per_box, result):
                result[key] = chosen_rows(result[key], self.keep)
        for key, value in result.items():
            if key in (*POINT_KEYS, *self.layers):
                result[key] = _like(value, self.original[key], f"{key} of image {self.index}")
        return result

    def _scaled_area(self, area: Any) -> Any:
        scaled = numbers_of(area) * self._area_scale()
        if isinstance(area, Sequence):
            return sequence_like(scaled.tolist(), area)
        return _like(scaled, area, f"area of image {self.index}")

    def _area_scale(self) -> Array:
        """The factor of change of areas: that of masks, if boxes have masks, else that of boxes."""
        if not self.is_per_box("masks"):
            return self.scale
        before, after = (_covered(values["masks"]) for values in (self.original, self.values))
        return np.where(before > 0, after / np.maximum(before, 1), self.scale)

    def _boxes(self) -> Array:
        corners = self.corners[self.keep]
        if self.options.box_format == "cxcywha":
            return rotated_boxes(corners)
        if self.options.box_format == "xyxyxyxy":
            return corners.reshape(-1, 8)
        return corners_to_format(hulls(corners), self.options.box_format, self.size)


def move_all(motion: Motion, states: Sequence[State], fill: float) -> None:
    """Move the targets of all images through one pass; `fill` is that of masks."""
    for state, forward in zip(states, forward_of(motion.matrix), strict=True):
        state.move(motion, forward)
    moving = [(state, key) for state in states if not motion.keeps(state.index) for key in state.layers]
    by_fill: dict[float, list[tuple[State, str]]] = {}
    for state, key in moving:
        by_fill.setdefault(state.fill_of(key, fill), []).append((state, key))
    for value, entries in by_fill.items():
        masks = [
            Mask(state.index, as_tensor("transform_targets", key, state.values[key]))
            for state, key in entries
        ]
        for (state, key), result in zip(entries, moved_masks(motion, masks, value), strict=True):
            state.values[key] = result
    for state, key in moving:
        kind = state.options.kind_of(key)
        if kind and (kind != "depth" or state.options.depth_scale):
            index = state.index
            how = motion.displacement(index), motion.border, state.read_size
            state.values[key] = following(kind, state.values[key], Reading(motion.matrix[index], *how))


def corners_in_pixels(boxes: Array, box_format: str, size: Sequence[int]) -> Array:
    """Convert upright boxes `[K, 4]` to xyxy in pixels of an image of `size`.

    Example:
        >>> corners_in_pixels(np.array([[0.5, 0.5, 0.5, 1.0]]), "cxcywhn", (10, 20)).tolist()
        [[5.0, 0.0, 15.0, 10.0]]
    """
    corners: Array = np.asarray(box_convert(boxes, box_format.removesuffix("n"), "xyxy"))
    return corners * _sides(size) if box_format.endswith("n") else corners


def corners_to_format(corners: Array, box_format: str, size: Sequence[int]) -> Array:
    """The inverse of `corners_in_pixels`."""
    corners = corners / _sides(size) if box_format.endswith("n") else corners
    return np.asarray(box_convert(corners, "xyxy", box_format.removesuffix("n")))


def _sides(size: Sequence[int]) -> Array:
    return np.tile(np.array(size[::-1], np.float64), 2)


def _moved_points(value: Any, move: Any, size: tuple[int, int]) -> tuple[Array, Array]:
    """The moved points, and which of them are inside the image."""
    points = numbers_of(value).copy()
    if points.size == 0:
        return points, np.ones(len(points), bool)
    positions = move(points[..., :2])
    height, width = size
    x, y = positions[..., 0], positions[..., 1]
    inside = (x >= -0.5) & (x <= width - 0.5) & (y >= -0.5) & (y <= height - 0.5)
    points[..., :2] = positions
    if points.shape[-1] > 2:
        points[..., 2] = np.where(inside, points[..., 2], 0)
    return points, inside


def _covered(masks: Any) -> Array:
    """The number of nonzero pixels of each mask `[K, H, W]`."""
    values = as_tensor("transform_targets", "masks", masks)
    return values.flatten(1).count_nonzero(1).cpu().double().numpy()


def with_size(target: dict[str, Any], size: tuple[int, int]) -> dict[str, Any]:
    """A target whose `size`, if it has two numbers, is replaced by that of its image."""
    before = target.get("size")
    if before is None or np.shape(before) != (2,):
        return target
    is_sequence = isinstance(before, Sequence)
    sides = sequence_like(list(size), before) if is_sequence else _like(np.array(size), before, "size")
    return {**target, "size": sides}


def _is_floating(values: Any) -> bool:
    if isinstance(values, Tensor):
        return values.is_floating_point()
    return bool(np.asarray(values).dtype.kind == "f")


def _like(values: Any, example: Any, what: str) -> Any:
    """Values with the type, dtype and device of `example`, rounded if those are integers."""
    if isinstance(example, Tensor):
        tensor = tensor_of(values)
        if tensor.is_floating_point() and not example.is_floating_point():
            tensor = torch.from_numpy(_rounded(tensor.cpu().numpy(), torch.iinfo(example.dtype), what))
        return tensor.to(example.device, example.dtype)
    array = values.numpy() if isinstance(values, Tensor) else np.asarray(values)
    if isinstance(example, np.ndarray):
        if example.dtype.kind in "iu" and array.dtype.kind == "f":
            array = _rounded(array, np.iinfo(example.dtype), what)
        return array.astype(example.dtype)
    return array


def _rounded(values: Array, limits: Any, what: str) -> Array:
    """Values rounded half to even, with 0 for non-finite ones; an error if the dtype cannot hold them."""
    rounded = np.rint(np.where(np.isfinite(values), values, 0.0))
    if ((rounded < limits.min) | (rounded > limits.max)).any():
        raise ValueError(f"transform_targets: {what} do not fit {limits.dtype}; give them as floats")
    return rounded
