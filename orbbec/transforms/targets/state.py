"""The targets of one image while they go through the passes of a plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec.batch.collate import sequence_like
from orbbec.bridge.arguments import Array, as_tensor
from orbbec.plan.parameters import same_rows
from orbbec.plan.points import (
    carried,
    carried_edges,
    forward_of,
    numbers_of,
)
from orbbec.transforms.targets.boxes import Boxes
from orbbec.transforms.targets.dense import Reading, check_dense, following
from orbbec.transforms.targets.fields import Field
from orbbec.transforms.targets.masks import Mask, moved_masks
from orbbec.transforms.targets.motion import Motion
from orbbec.transforms.targets.numbers import numbers_like, target_numbers
from orbbec.transforms.targets.options import ROTATED, TargetOptions
from orbbec.transforms.targets.pairs import mirrors, pairs_of, swapped
from orbbec.transforms.targets.per_box import chosen_rows, row_count
from orbbec.transforms.targets.rings import check_rings, clipped_ring, each_ring
from orbbec.transforms.targets.run_lengths import are_runs, masks_of_runs

POINT_KEYS = ("keypoints", "landmarks")
MASK_KEYS = ("masks", "mask")
_GEOMETRY = ("polygons", *MASK_KEYS, *POINT_KEYS)
_SPATIAL = ("boxes", *_GEOMETRY)  # with the image


class State:
    """The targets of one image: boxes as corners, and the other entries.

    Args:
        index: of the image in the batch.
        target: the entries; the boxes among them say only of which type the results are.
        options: formats and thresholds.
        size: (height, width) of the image.
        boxes: the boxes.

    Attributes:
        per_box: the entries with one row per box.
        spatial: the entries that move with the image: boxes and what belongs to them, layers, points,
            polygons.
        geometry: those whose values change with the image, other than boxes.
    """

    def __init__(
        self,
        index: int,
        target: dict[str, Any],
        options: TargetOptions,
        size: tuple[int, int],
        boxes: Boxes,
    ) -> None:
        self.index, self.options = index, options
        self.size = self.read_size = size  # of the image at this pass, and of what the last one read of it
        self.original = self._with_masks(target) if "masks" in target else target
        self.values: dict[str, Any] = dict(self.original)
        kinds = options.kinds
        self.dense = [key for key in target if key in kinds]  # depth, flow, normals
        self.layers = [*filter(self.values.__contains__, MASK_KEYS), *self.dense]  # one value or more a pixel
        self.has_points = not target.keys().isdisjoint(("polygons", *POINT_KEYS))
        self.per_box = self._keys_per_box()
        self.spatial = [key for key in target if key in _SPATIAL or key in kinds or key in self.per_box]
        self.geometry = [key for key in self.spatial if key in _GEOMETRY or key in kinds or key == "area"]
        self.boxes = boxes
        self.dropped_before = 0
        self.is_clipped = False

    def at(self, index: int) -> State:
        """The same state at another index of the batch."""
        result = object.__new__(State)
        result.__dict__.update(self.__dict__)
        result.index, result.values = index, dict(self.values)
        return result

    def copy(self, index: int) -> State:
        """A state that goes on from this one, without dropped boxes, at another place of the batch."""
        result = self.at(index)
        result.values = self.written()
        result.original, result.boxes = dict(result.values), self.boxes.without_dropped()
        result.read_size, result.dropped_before = self.size, 0
        return result

    def leave_out(self, key: str) -> None:
        """Remove an entry."""
        del self.values[key], self.original[key]
        self.spatial, self.geometry = (
            [each for each in several if each != key] for several in (self.spatial, self.geometry)
        )

    @property
    def is_changed(self) -> bool:
        """Whether entries, or their rows, differ from those of the original."""
        return bool(self.geometry) or self.boxes.dropped > 0

    @property
    def count(self) -> int:
        """The number of boxes."""
        return len(self.boxes.table)

    @property
    def dropped(self) -> int:
        """The number of boxes dropped so far."""
        return self.dropped_before + self.boxes.dropped

    def _with_masks(self, target: dict[str, Any]) -> dict[str, Any]:
        """A target with masks instead of run lengths: a tensor if the boxes are one, otherwise an array."""
        runs: Any = target["masks"]
        if not are_runs(runs):
            return target
        try:
            masks = masks_of_runs(runs, self.size)
        except ValueError as error:
            raise ValueError(f"transform_targets: masks of image {self.index}: {error}") from error
        is_tensor = isinstance(target.get("boxes"), Tensor)
        return {**target, "masks": torch.from_numpy(masks) if is_tensor else masks}

    def check(self, height: int, width: int) -> None:
        """Refuse targets of another length than the boxes, masks of another size, and what is no polygon."""
        for key in self.layers:
            self._check_mask(key, self.original[key], (height, width))
        for key in self.dense:
            value, scales = self.original[key], self.options.depth_scale
            check_dense(self.options.kind_of(key), key, value, self.index, scales)
        for key in POINT_KEYS:
            if key in self.original:
                self.values[key] = _checked_points(key, self.original[key], self.index)
        if "area" in self.original and self.is_per_box("area"):
            target_numbers(self.original["area"], "area", self.index)
        if "polygons" in self.original:
            self._check_polygons(self.original["polygons"])
        for key in self.per_box:
            count = row_count(self.original[key])
            if count != self.count:
                found = f"a {type(self.original[key]).__name__}" if count is None else count
                raise (TypeError if count is None else ValueError)(
                    f"transform_targets: expected {self.count} {key}, one per box, "
                    f"but image {self.index} has {found}"
                )

    def _check_polygons(self, polygons: Any) -> None:
        if row_count(polygons) is None:
            raise TypeError(
                f"transform_targets: expected polygons as a list, but image {self.index} has a "
                f"{type(polygons).__name__}"
            )
        for row, polygon in enumerate(polygons):
            check_rings(polygon, f"rings of polygon {row} of image {self.index}")

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
        return key in self.per_box

    def _keys_per_box(self) -> list[str]:
        """The entries with one row per box."""
        if "boxes" not in self.original:
            return []
        rows = self.options.rows
        return [
            key
            for key, value in self.original.items()
            if value is not None and (key in rows or (key in POINT_KEYS and np.ndim(value) == 3))
        ]

    @property
    def layers_of_image(self) -> list[str]:
        """The entries with a value or a vector for each pixel, other than the masks of boxes."""
        return [key for key in self.layers if key != "masks"]

    def is_layer(self, key: str) -> bool:
        """Whether an entry has a value or a vector for each pixel: a mask, depth, flow or normals."""
        return key == "mask" or key in self.options.kinds

    def fill_of(self, key: str, mask_fill: float) -> float:
        """The value of a layer, or of masks, where there is no image."""
        if key not in self.dense:
            return mask_fill
        return self.options.depth_fill if self.options.kind_of(key) == "depth" else 0.0

    @property
    def is_upright(self) -> bool:
        return self.options.box_format not in ROTATED

    def move(self, motion: Motion, forward: Array | None, field: Field | None) -> None:
        """Move polygons through a pass, and points where it has a field or a crop.

        Args:
            motion: that of the pass.
            forward: the inverse of its matrix; None: there are no points.
            field: how its pixels move, in place of the matrix.
        """
        cut = motion.cut(self.index)
        if cut is not None:
            left, top, right, bottom = cut
            self.size = bottom - top, right - left
            if self.has_points:
                corner = np.array([left, top])
                self._move_polygons(lambda points: points - corner)
                self._move_points(lambda points: points - corner)
        self.read_size = self.size
        if forward is not None and self.options.keypoint_pairs and mirrors(forward, self.size):
            self._swap_sides()
        self.size, self.is_clipped = motion.size(self.index), True
        if forward is None:
            return
        if field is None:
            self._move_polygons(lambda points: carried_edges(forward, points))
        else:
            self._move_polygons(field.ring)
            self._move_points(field.points)

    def follow(self, reading: Reading) -> None:
        """Let the values of layers follow a pass, after their pixels."""
        for key in self.dense:
            kind = self.options.kind_of(key)
            if kind != "depth" or self.options.depth_scale:
                self.values[key] = following(kind, self.values[key], reading)

    def _swap_sides(self) -> None:
        """Exchange the keypoints of the left and the right side, before the image is mirrored."""
        pairs = pairs_of("TargetOptions", "keypoint_pairs", self.options.keypoint_pairs)
        for key in POINT_KEYS:
            if key in self.values:
                what = f"{key} of image {self.index}"
                self.values[key] = swapped(numbers_of(self.values[key]), pairs, what)

    def clip(self) -> None:
        """Clip to the image, and drop small boxes, if no pass has done so."""
        if self.is_clipped:
            return
        self.is_clipped = True
        if self.count:
            images, sizes = np.zeros(self.count, np.int64), same_rows(self.size, 1)
            self.boxes = self.boxes.through_pass(images, None, sizes, None, self.options)
        self._move_polygons(lambda points: points)
        self._move_points(lambda points: points)

    def hide(self, region: Array) -> None:
        """Let another image cover left, top, right, bottom."""
        left, top, right, bottom = region.tolist()
        for key in self.layers:
            mask = self.layer(key).clone()
            mask[..., top:bottom, left:right] = self.fill_of(key, 0.0)
            self.values[key] = mask
        for key in POINT_KEYS:
            if row_count(self.values.get(key, ())):
                at = numbers_of(self.values[key])[..., :2] + 0.5
                self.hide_points(key, np.asarray(((at >= region[:2]) & (at < region[2:])).all(-1)))
        if self.count:
            self.boxes = self.boxes.hidden(region, self.options)

    def layer(self, key: str) -> Tensor:
        """What has values for each pixel, as a tensor."""
        return as_tensor("transform_targets", key, self.values[key])

    def hide_points(self, key: str, hidden: Array) -> None:
        """Make some points invisible."""
        points = numbers_of(self.values[key]).copy()
        if points.shape[-1] > 2:
            points[..., 2] = np.where(hidden, 0, points[..., 2])
        self.set_points(key, points, ~hidden)

    def set_points(self, key: str, points: Array, shown: Array) -> None:
        """Replace points; those that are not shown are dropped, if the options say so."""
        drops = self.options.drop_keypoints and points.ndim == 2 and not self.is_per_box(key)
        self.values[key] = points[shown] if drops else points

    def _move_polygons(self, move: Callable[[Array], Array]) -> None:
        if "polygons" in self.values:

            def move_ring(ring: Any, _: Any) -> Array:
                return clipped_ring(move(numbers_of(ring).reshape(-1, 2)), self.size)

            self.values["polygons"] = [each_ring(move_ring, each, each) for each in self.values["polygons"]]

    def _move_points(self, move: Callable[[Array], Array]) -> None:
        for key in filter(self.values.__contains__, POINT_KEYS):
            points = numbers_of(self.values[key]).copy()
            shown = np.ones(points.shape[:-1], bool)
            if points.size:
                shown = _set_positions(points, move(points[..., :2]), self.size)
            self.set_points(key, points, shown)

    def written(self, boxes: Array | None = None) -> dict[str, Any]:
        """The targets as a new dict, without dropped rows.

        Args:
            boxes: those that are left, in their format; None: the boxes stay those of the original, and
                memory may be shared with it.
        """
        result = dict(self.values)
        if "polygons" in result:
            pairs = zip(result["polygons"], self.original["polygons"], strict=True)
            what = f"polygons of image {self.index}"
            polygons = [
                each_ring(lambda ring, original: numbers_like(ring, original, what), *pair) for pair in pairs
            ]
            result["polygons"] = sequence_like(polygons, self.original["polygons"])
        if "boxes" in self.original:
            if boxes is not None:
                result["boxes"] = numbers_like(boxes, self.original["boxes"], f"boxes of image {self.index}")
            if self.is_per_box("area"):
                result["area"] = scaled_area(result["area"], self._area_scale(), self.index)
            if self.per_box and (boxes is not None or self.boxes.dropped):
                mask = self.boxes.mask
                for key in self.per_box:
                    result[key] = chosen_rows(result[key], mask, result[key] is self.original[key])
        for key in self.geometry:
            if key not in ("polygons", "area"):
                result[key] = numbers_like(result[key], self.original[key], f"{key} of image {self.index}")
        return result

    def _area_scale(self) -> Array:
        if not self.is_per_box("masks"):
            return self.boxes.scale
        before, after = (covered(values["masks"]) for values in (self.original, self.values))
        return area_scale(before, after, self.boxes.scale)


def move_all(motion: Motion, states: Sequence[State], fill: float) -> None:
    """Move the targets of all images through one pass; `fill` is that of masks."""
    every = [state for state in states if not motion.keeps(state.index)]
    fields = [motion.field(state.index) for state in every]
    _move_boxes(motion, every, fields)
    move_entries(motion, every, fields, fill)


def move_entries(
    motion: Motion, states: Sequence[State], fields: Sequence[Field | None], fill: float
) -> None:
    """Move what is not a box through a pass; see `move_all`.

    Args:
        motion: that of the pass.
        states: targets that it moves.
        fields: how the pixels of each move, in place of the matrix.
        fill: of masks.
    """
    forward = forward_of(motion.matrix) if any(state.has_points for state in states) else None
    for state, field in zip(states, fields, strict=True):
        state.move(motion, None if forward is None else forward[state.index], field)
    if forward is not None:
        pairs = zip(states, fields, strict=True)
        _move_points(motion, [state for state, field in pairs if field is None], forward)
    _move_layers(motion, states, fill)
    for state, field in zip(states, fields, strict=True):
        if state.dense:
            how = field, motion.border, state.read_size
            state.follow(Reading(motion.matrix[state.index], *how))


def _move_points(motion: Motion, states: Sequence[State], forward: Array) -> None:
    """Move the points of all images by the matrices `forward`, those of one shape at once."""
    groups: dict[tuple[int, ...], list[tuple[State, str, Array]]] = {}
    for state in states:
        for key in filter(state.values.__contains__, POINT_KEYS):
            points = numbers_of(state.values[key])
            groups.setdefault(points.shape, []).append((state, key, points))
    for shape, entries in groups.items():
        images = [state.index for state, _, _ in entries]
        every = np.ascontiguousarray(np.stack([points for _, _, points in entries]))
        shown = np.ones(every.shape[:-1], bool)
        if every.size:
            rows = every.reshape(len(entries), -1, shape[-1])
            positions = carried(forward[images], rows[..., :2])
            sizes = motion.sizes[images].T[..., None]
            shown = _set_positions(rows, positions, sizes).reshape(shown.shape)
        for (state, key, _), points, is_shown in zip(entries, every, shown, strict=True):
            state.set_points(key, points, is_shown)


def _move_layers(motion: Motion, states: Sequence[State], fill: float) -> None:
    """Move what has values for each pixel, with one fill at once."""
    by_fill: dict[float, list[tuple[State, str]]] = {}
    for state in states:
        for key in state.layers:
            by_fill.setdefault(state.fill_of(key, fill), []).append((state, key))
    for value, entries in by_fill.items():
        masks = [Mask(state.index, state.layer(key)) for state, key in entries]
        for (state, key), result in zip(entries, moved_masks(motion, masks, value), strict=True):
            state.values[key] = result


def _move_boxes(motion: Motion, states: Sequence[State], fields: Sequence[Field | None]) -> None:
    """Move the boxes of all images, those of one format at once."""
    groups: dict[int, list[int]] = {}
    for position, state in enumerate(states):
        if state.count:
            groups.setdefault(id(state.options), []).append(position)
    for positions in groups.values():
        some = [states[position] for position in positions]
        options, counts = some[0].options, [state.count for state in some]
        images = np.array([state.index for state in some]).repeat(counts)
        matrices: Array | None = motion.matrix
        for state, field in zip(some, map(fields.__getitem__, positions), strict=True):
            if field is not None:
                matrices, state.boxes = None, state.boxes.displaced(field)
        joined = type(some[0].boxes).joined([state.boxes for state in some])
        boxes = joined.through_pass(images, matrices, motion.sizes, motion.regions, options)
        for state, part in zip(some, boxes.split(counts), strict=True):
            state.boxes = part


def _checked_points(key: str, value: Any, index: int) -> Array:
    """Points as float64; refuses COCO's list [x0, y0, v0, ...] of all numbers of an object."""
    points = target_numbers(value, key, index)
    shape = points.shape
    if 0 not in shape and not (len(shape) in (2, 3) and shape[-1] in (2, 3)):
        raise ValueError(
            f"transform_targets: expected {key} of shape [P, 2], [P, 3], [K, P, 2] or [K, P, 3], "
            f"but image {index} has {list(shape)}"
        )
    return points


def _set_positions(points: Array, positions: Array, size: Any) -> Array:
    """Set the positions of points, and return which of them are inside images of (height, width)."""
    height, width = size
    x, y = positions[..., 0], positions[..., 1]
    inside: Array = (x >= -0.5) & (x <= width - 0.5) & (y >= -0.5) & (y <= height - 0.5)
    points[..., :2] = positions
    if points.shape[-1] > 2:
        points[..., 2] = np.where(inside, points[..., 2], 0)
    return inside


def covered(masks: Any) -> Array:
    """The number of nonzero pixels of each mask `[K, H, W]`."""
    values = as_tensor("transform_targets", "masks", masks)
    if values.is_cpu:  # torch takes 1.2 ms for five masks of 375 x 500, NumPy 0.03 ms
        return np.array([np.count_nonzero(mask) for mask in values.bool().numpy()], np.float64)
    return values.bool().flatten(1).count_nonzero(1).cpu().double().numpy()


def area_scale(before: Array, after: Array, of_boxes: Array) -> Array:
    """The factors of change of areas: those of the pixels of masks; of masks without any, those of boxes."""
    return np.where(before > 0, after / np.maximum(before, 1), of_boxes)


def scaled_area(area: Any, scale: Array, index: int) -> Any:
    """The areas of the boxes of an image, times factors, with their type."""
    scaled = target_numbers(area, "area", index) * scale
    if isinstance(area, Sequence):
        return sequence_like(scaled.tolist(), area)
    return numbers_like(scaled, area, f"area of image {index}")


def with_size(target: dict[str, Any], size: tuple[int, int]) -> dict[str, Any]:
    """A target whose `size`, if it has two numbers, is replaced by that of its image."""
    before = target.get("size")
    if before is None or np.shape(before) != (2,):
        return target
    is_sequence = isinstance(before, Sequence)
    sides = sequence_like(list(size), before) if is_sequence else numbers_like(np.array(size), before, "size")
    return {**target, "size": sides}
