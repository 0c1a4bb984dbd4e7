"""Points, boxes and polygons, and their transformation by matrices.

Points are pixel positions, with pixel centers at whole numbers. Corners of boxes and polygons are edges:
pixel (0, 0) extends from 0 to 1, a shift of half a pixel.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec._library import operators
from orbbec.bridge.arguments import Array
from orbbec.bridge.fakes import register_fake
from orbbec.plan.parameters import identities

_HAIR = 1e-6  # pixels: rounding errors do not reach the next pixel
_MAX_ITERATIONS = 20
_NO_STEP = 1e-9  # pixels
_IN_NUMPY = (torch.float32, torch.float64, torch.int64)
_CORNERS = np.array([0, 1, 2, 1, 2, 3, 0, 3])  # left top, right top, right bottom, left bottom of xyxy


def numbers_of(values: Any) -> Array:
    """A tensor, an array or a list as a float64 array."""
    if isinstance(values, Tensor):
        tensor = values.detach()
        values = (tensor if tensor.dtype in _IN_NUMPY else tensor.double()).cpu().numpy()
    return np.asarray(values, np.float64)


def shifts(x: Any, y: Any, count: int) -> Array:
    """Output-to-source matrices whose pixel (0, 0) reads (x, y)."""
    matrices = identities(count)
    matrices[:, 0, 2], matrices[:, 1, 2] = x, y
    return matrices


def shifted(matrices: Array, offsets: Array) -> Array:
    """Matrices `[N, 3, 3]` that give positions shifted by offsets (x, y), `[N, 2]`."""
    result = matrices.copy()
    result[:, :2] += offsets[:, :, None] * matrices[:, 2:]
    return result


def forward_of(matrix: Array) -> Array:
    """The inverses of matrices `[..., 3, 3]`, source to output pixels; NaN if singular.

    Example:
        >>> forward_of(np.diag([2.0, 4.0, 1.0])).tolist()
        [[0.5, 0.0, 0.0], [0.0, 0.25, 0.0], [0.0, 0.0, 1.0]]
    """
    inverses = _inverse_matrices(_tensor(matrix, prod(matrix.shape[:-2]), 3, 3))
    return np.asarray(inverses.numpy().reshape(matrix.shape))


def carried(forward: Array, points: Array) -> Array:
    """Transform points `[..., 2]` by a matrix `[3, 3]`, or points `[K, P, 2]` by K matrices.

    Points behind the viewer of a perspective become NaN.

    Example:
        >>> carried(np.diag([2.0, 3.0, 1.0]), np.array([[1.0, 1.0]])).tolist()
        [[2.0, 3.0]]
    """
    return _carried(forward, points)[..., :2]


def grown(forward: Array, corners: Array) -> Array:
    """The factors by which matrices `[K, 3, 3]` change areas amid corners `[K, P, 2]`: float64 `[K]`.

    Example:
        >>> grown(np.diag([2.0, 3.0, 1.0])[None], np.array([[[1.0, 1.0]]])).tolist()
        [6.0]
    """
    return _carried(forward, corners.mean(1, keepdims=True) - 0.5)[:, 0, 2]


def _carried(forward: Array, points: Array) -> Array:
    """The points after the matrices, and the factors by which areas change there: float64 `[..., 3]`."""
    count, number = (len(forward), points.shape[1]) if forward.ndim > 2 else (1, points.size // 2)
    rows = _tensor(points, count, number, 2)
    return np.asarray(
        _move_points(_tensor(forward, count, 3, 3), rows).numpy().reshape(*points.shape[:-1], 3)
    )


def _tensor(values: Array, *shape: int) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(values, np.float64).reshape(shape))


def carried_edges(forward: Array, points: Array) -> Array:
    """Transform corners `[..., 2]` of boxes and polygons by matrices of pixel positions; see `carried`."""
    return carried(forward, points - 0.5) + 0.5


def corners_of(boxes: Array) -> Array:
    """The corners of xyxy boxes `[K, 4]`, clockwise from the top left: `[K, 4, 2]`."""
    result: Array = boxes.take(_CORNERS, 1).reshape(-1, 4, 2)
    return result


def rotated_corners(boxes: Array) -> Array:
    """The corners of cxcywha boxes `[K, 5]`, in the order of the unrotated boxes: `[K, 4, 2]`."""
    angle = np.radians(boxes[:, 4])
    x_axis = np.stack([np.cos(angle), -np.sin(angle)], 1)[:, None]
    y_axis = np.stack([np.sin(angle), np.cos(angle)], 1)[:, None]
    signs = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])
    width, height = boxes[:, 2, None, None], boxes[:, 3, None, None]
    result: Array = boxes[:, None, :2] + signs[:, :1] * width * x_axis + signs[:, 1:] * height * y_axis
    return result


def rotated_boxes(corners: Array) -> Array:
    """The cxcywha boxes `[K, 5]` of corners `[K, 4, 2]`; exact for rectangles.

    Left and right of a mirrored rectangle are swapped. Other shapes give the rectangle whose sides are
    nearest to the means of opposite sides, in the least squares sense, scaled to the area of the shape.
    """
    x_axis = (corners[:, 1] - corners[:, 0] + corners[:, 2] - corners[:, 3]) / 2
    y_axis = (corners[:, 3] - corners[:, 0] + corners[:, 2] - corners[:, 1]) / 2
    area = x_axis[:, 0] * y_axis[:, 1] - x_axis[:, 1] * y_axis[:, 0]
    x_axis = np.where(area[:, None] < 0, -x_axis, x_axis)
    (ax, ay), (dx, dy) = x_axis.T, y_axis.T
    rotation = np.arctan2(2 * (ax * ay - dx * dy), ax**2 - ay**2 + dy**2 - dx**2) / 2
    cosine, sine = np.cos(rotation), np.sin(rotation)
    backwards = ax * cosine + ay * sine < 0
    rotation = np.where(backwards, rotation + np.pi, rotation)
    cosine, sine = np.where(backwards, -cosine, cosine), np.where(backwards, -sine, sine)
    width, height = np.abs(ax * cosine + ay * sine), np.abs(dy * cosine - dx * sine)
    product = width * height
    scale = np.sqrt(np.divide(np.abs(area), product, out=np.ones_like(product), where=product > 0))
    angle = -np.degrees(np.where(rotation > np.pi, rotation - 2 * np.pi, rotation))
    return np.concatenate([corners.mean(1), np.stack([width * scale, height * scale, angle], 1)], 1)


def hulls(corners: Array) -> Array:
    """The bounding boxes xyxy `[K, 4]` of corners `[K, 4, 2]`."""
    return np.concatenate([corners.min(1), corners.max(1)], 1)


def clipped(boxes: Array, size: Any) -> Array:
    """Clip xyxy boxes to a canvas of (height, width), or each to its own `[K, 2]`."""
    return np.asarray(boxes.clip(0, np.asarray(size)[..., [1, 0, 1, 0]]))


def areas(boxes: Array) -> Array:
    """The areas of xyxy boxes."""
    sides = np.maximum(boxes[:, 2:] - boxes[:, :2], 0)
    result: Array = sides[:, 0] * sides[:, 1]
    return result


def without_covered(boxes: Array, region: Array) -> Array:
    """Shrink xyxy boxes `[K, 4]` to what a rectangle (left, top, right, bottom) leaves of them.

    Example:
        >>> boxes = np.array([[0.0, 2.0, 6.0, 4.0], [0.0, 0.0, 6.0, 4.0]])
        >>> without_covered(boxes, np.array([4, 1, 9, 9])).tolist()
        [[0.0, 2.0, 4.0, 4.0], [0.0, 0.0, 6.0, 4.0]]
    """
    result = boxes.copy()
    for axis in (0, 1):
        low, high, across = axis, axis + 2, 1 - axis
        spans = (region[across] <= boxes[:, across]) & (region[across + 2] >= boxes[:, across + 2])
        from_low = spans & (region[low] <= boxes[:, low]) & (region[high] > boxes[:, low])
        from_high = spans & (region[high] >= boxes[:, high]) & (region[low] < boxes[:, high])
        result[from_low, low] = np.minimum(region[high], boxes[from_low, high])
        result[from_high, high] = np.maximum(region[low], result[from_high, low])
    return result


def clip_polygon(points: Array, size: tuple[int, int]) -> Array:
    """Clip a polygon `[P, 2]` to a canvas of (height, width); `[0, 2]` if nothing is left.

    Source:
        Sutherland, Hodgman: Reentrant polygon clipping (1974).

    Example:
        >>> clip_polygon(np.array([[-1.0, 0.0], [1.0, 0.0], [1.0, 1.0], [-1.0, 1.0]]), (4, 4)).tolist()
        [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
    """
    height, width = size
    for axis, limit, sign in ((0, 0.0, 1.0), (0, width, -1.0), (1, 0.0, 1.0), (1, height, -1.0)):
        here = sign * (points[:, axis] - limit)
        is_inside = here >= 0
        if is_inside.all():
            continue
        before, earlier = np.roll(here, 1), np.roll(points, 1, 0)
        crosses = is_inside != np.roll(is_inside, 1)
        fraction = np.divide(before, before - here, out=np.zeros_like(here), where=crosses)
        crossings = earlier + fraction[:, None] * (points - earlier)
        crossings[:, axis] = limit
        points = np.stack([crossings, points], 1)[np.stack([crosses, is_inside], 1)]
    return points


def polygon_area(points: Array) -> float:
    """The area of a polygon `[P, 2]`."""
    x, y = points.T
    return float(abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2)


def through_displacement(points: Array, displacement: Array) -> Array:
    """Move points `[..., 2]` when output pixel p reads p + displacement `[2, H, W]`; found by iteration.

    Coordinates that are not finite stay what they are.
    """
    _, height, width = displacement.shape
    table = np.ascontiguousarray(displacement.reshape(2, -1).T, np.float64)
    last = np.array([width, height]) - 1
    right, below = min(last[0], 1), min(last[1], 1) * width
    unknown = ~np.isfinite(points)
    target = result = np.where(unknown, 0.0, points)
    for _ in range(_MAX_ITERATIONS):
        position = result.clip(0, last)
        first = np.minimum(position.astype(int), np.maximum(last - 1, 0))
        a, b = np.split(position - first, 2, -1)
        index = first[..., 1] * width + first[..., 0]
        upper = table[index] * (1 - a) + table[index + right] * a
        lower = table[index + below] * (1 - a) + table[index + below + right] * a
        previous, result = result, target - (upper * (1 - b) + lower * b)
        if np.abs(result - previous).max(initial=0.0) < _NO_STEP:
            break
    return np.where(unknown, points, result)


def pixels(sizes: Array) -> int:
    """The number of pixels of images of sizes `[N, 2]`.

    Example:
        >>> pixels(np.array([[2, 3], [4, 5]]))
        26
    """
    return int(sizes.prod(1).sum())


def seen_pixels(matrix: Array, outputs: Array, sizes: Array) -> int:
    """The number of pixels in the bounding boxes of the parts of images that a warp reads.

    Args:
        matrix: float64 `[N, 3, 3]`: output pixels to image pixels.
        outputs: int64 `[N, 2]`: sizes of the outputs.
        sizes: int64 `[N, 2]`: sizes of the images.

    Example:
        >>> half = np.diag([2.0, 2.0, 1.0])[None]
        >>> seen_pixels(half, np.array([[2, 2]]), np.array([[9, 9]]))
        16
    """
    return int(areas(seen_regions(matrix, outputs, sizes)).sum())


def seen_regions(matrix: Array, outputs: Array, sizes: Array, margin: int = 0) -> Array:
    """These bounding boxes, with pixels around them: int64 `[N, 4]`, left, top, right, bottom.

    That of a perspective that includes its horizon is the whole image.
    """
    whole, seen = (np.concatenate([np.zeros_like(each), each[:, ::-1]], 1) for each in (sizes, outputs))
    boxes = hulls(carried_edges(matrix, corners_of(seen.astype(float))))
    ends = np.concatenate([np.floor(boxes[:, :2] + _HAIR), np.ceil(boxes[:, 2:] - _HAIR)], 1)
    ends += np.array([-margin, -margin, margin, margin])
    is_finite = np.isfinite(boxes).all(1, keepdims=True)
    return np.where(is_finite, clipped(np.where(is_finite, ends, 0.0), sizes), whole).astype(np.int64)


_inverse_matrices: Callable[[Tensor], Tensor] = operators.inverse_matrices
_move_points: Callable[[Tensor, Tensor], Tensor] = operators.move_points


@register_fake("inverse_matrices", matrices=3)
def _(matrices: Tensor) -> Tensor:
    return torch.empty_like(matrices)


@register_fake("move_points", matrices=3, points=3)
def _(matrices: Tensor, points: Tensor) -> Tensor:
    return points.new_empty((*points.shape[:2], 3))
