"""Overlaps of boxes, with torchvision's results."""

import math
from typing import Any

import torch
from torch import Tensor

from orbbec._library import operators
from orbbec.bridge.arguments import number_value
from orbbec.bridge.fakes import register_fake
from orbbec.nms.boxes.angles import arctangent
from orbbec.nms.boxes.arguments import batched_pairs, format_name, needs_gradient, pair_of
from orbbec.nms.boxes.boxes import area_of
from orbbec.nms.boxes.formats import converted
from orbbec.nms.detections import Boxes, like

AXIS_ALIGNED = ("xyxy", "xywh", "cxcywh")


def box_iou(boxes1: Boxes, boxes2: Boxes, fmt: str = "xyxy") -> Any:
    """The pairwise intersection over union of two sets of boxes.

    `shared / (area1 + area2 - shared)`, each operation rounded. NaN if both areas are 0 or a number is NaN. A
    box with x2 < x1 or y2 < y1 overlaps nothing, and its area is negative if only one of the two holds.

    Args:
        boxes1: `[..., N, 4]` tensor or array of any real dtype; on the CPU or a CUDA device.
        boxes2: `[..., M, 4]`, on the device of `boxes1`.
        fmt: format of both: "xyxy", "xywh" or "cxcywh".

    Returns:
        `[..., N, M]`: float64 if one set is float64, otherwise float32; differentiable.

    Raises:
        TypeError: not tensors or arrays of real numbers.
        ValueError: a shape, device or format is invalid.

    Source:
        `torchvision.ops.box_iou`: identical for float32 and float64 in "xyxy". Half types are computed in
        float32 throughout, whereas torchvision rounds the sides of the intersection to half.

    Example:
        >>> box = torch.tensor([[0.0, 0.0, 2.0, 2.0]])
        >>> box_iou(box, torch.tensor([[0.0, 0.0, 2.0, 1.0], [1.0, 1.0, 3.0, 2.0]])).tolist()
        [[0.5, 0.20000000298023224]]
    """
    fmt = format_name("box_iou", "fmt", fmt, AXIS_ALIGNED)
    first, second = pair_of("box_iou", boxes1, boxes2)
    if fmt == "xyxy":
        return like(boxes1, _measured("iou", first, second))
    shared = _shared_area(converted(first, fmt, "xyxy"), converted(second, fmt, "xyxy"))
    return like(boxes1, shared / _all_area(area_of(first, fmt), area_of(second, fmt), shared))


def generalized_box_iou(boxes1: Boxes, boxes2: Boxes) -> Any:
    """The pairwise generalized intersection over union of two sets of boxes.

    `iou - (hull - union) / hull`, where hull is the area of the smallest enclosing box: from -1 to 1.

    Args:
        boxes1: x1, y1, x2, y2; see `box_iou`.
        boxes2: see `box_iou`.

    Returns:
        See `box_iou`, which also lists the errors; NaN as there.

    Source:
        `torchvision.ops.generalized_box_iou`: identical for float32 and float64.

    Example:
        >>> box = torch.tensor([[0.0, 0.0, 1.0, 1.0]])
        >>> generalized_box_iou(box, torch.tensor([[3.0, 0.0, 4.0, 1.0]])).tolist()
        [[-0.5]]
    """
    first, second = pair_of("generalized_box_iou", boxes1, boxes2)
    return like(boxes1, _measured("generalized_iou", first, second))


def distance_box_iou(boxes1: Boxes, boxes2: Boxes, eps: float = 1e-7) -> Any:
    """The pairwise distance intersection over union of two sets of boxes.

    `iou - d2 / (c2 + eps)`, where d2 is the squared distance of the centers and c2 the squared diagonal of
    the smallest enclosing box.

    Args:
        boxes1: x1, y1, x2, y2; see `box_iou`.
        boxes2: see `box_iou`.
        eps: avoids division by 0.

    Returns:
        See `box_iou`, which also lists the errors; NaN as there.

    Source:
        `torchvision.ops.distance_box_iou`: identical for float32 and float64.

    Example:
        >>> box = torch.tensor([[0.0, 0.0, 1.0, 1.0]])
        >>> round(distance_box_iou(box, torch.tensor([[3.0, 0.0, 4.0, 1.0]])).item(), 4)
        -0.5294
    """
    eps = number_value("distance_box_iou", "eps", eps)
    first, second = pair_of("distance_box_iou", boxes1, boxes2)
    return like(boxes1, _measured("distance_iou", _floats(first), _floats(second), eps))


def complete_box_iou(boxes1: Boxes, boxes2: Boxes, eps: float = 1e-7) -> Any:
    """The pairwise complete intersection over union of two sets of boxes.

    `distance_iou - v**2 / (1 - iou + v + eps)`, with `v` the squared difference of the angles of the
    diagonals, times `4 / pi**2`; the gradient treats `v / (1 - iou + v + eps)` as constant.

    Args:
        boxes1: x1, y1, x2, y2; see `box_iou`.
        boxes2: see `box_iou`.
        eps: avoids division by 0.

    Returns:
        See `box_iou`, which also lists the errors; NaN as there.

    Source:
        `torchvision.ops.complete_box_iou`, within 1e-6 for float32 and 2e-15 for float64: the last bit of
        torch's arctangent depends on the device.

    Example:
        >>> box = torch.tensor([[0.0, 0.0, 1.0, 1.0]])
        >>> round(complete_box_iou(box, torch.tensor([[0.0, 0.0, 2.0, 1.0]])).item(), 4)
        0.4468
    """
    eps = number_value("complete_box_iou", "eps", eps)
    first, second = pair_of("complete_box_iou", boxes1, boxes2)
    first, second = _floats(first), _floats(second)
    distance_iou = _measured("distance_iou", first, second, eps)
    angles1, angles2 = _diagonal_angle(first), _diagonal_angle(second)
    v = (4 / (math.pi**2)) * torch.pow(angles1[..., None] - angles2[..., None, :], 2)
    with torch.no_grad():
        alpha = v / (1 - _measured("iou", first, second) + v + eps)
    return like(boxes1, distance_iou - alpha * v)


def _floats(boxes: Tensor) -> Tensor:
    return boxes if boxes.is_floating_point() else boxes.float()


def _diagonal_angle(boxes: Tensor) -> Tensor:
    slope = (boxes[..., 2] - boxes[..., 0]) / (boxes[..., 3] - boxes[..., 1])
    return arctangent(slope, torch.ones_like(slope))


def _measured(measure: str, first: Tensor, second: Tensor, eps: float = 0.0) -> Tensor:
    """One fused pass without gradients; with gradients or integers, the same results from torch."""
    if needs_gradient(first, second) or not first.is_floating_point():
        return _composed(measure, first, second, eps)
    rows, columns, shape = batched_pairs(first, second)
    result: Tensor = operators.box_overlaps(rows, columns, measure, eps)
    return result.reshape(shape)


def _shared_area(first: Tensor, second: Tensor) -> Tensor:
    left_top = torch.max(first[..., None, :2], second[..., None, :, :2])
    right_bottom = torch.min(first[..., None, 2:], second[..., None, :, 2:])
    sides = (right_bottom - left_top).clamp(min=0)
    return sides[..., 0] * sides[..., 1]


def _all_area(area1: Tensor, area2: Tensor, shared: Tensor) -> Tensor:
    return area1[..., None] + area2[..., None, :] - shared


def _composed(measure: str, first: Tensor, second: Tensor, eps: float) -> Tensor:
    shared = _shared_area(first, second)
    union = _all_area(area_of(first, "xyxy"), area_of(second, "xyxy"), shared)
    iou = shared / union
    if measure == "iou":
        return iou
    left_top = torch.min(first[..., None, :2], second[..., None, :, :2])
    right_bottom = torch.max(first[..., None, 2:], second[..., None, :, 2:])
    hull_sides = (right_bottom - left_top).clamp(min=0)
    if measure == "generalized_iou":
        hull = hull_sides[..., 0] * hull_sides[..., 1]
        return iou - (hull - union) / hull
    centers1, centers2 = ((boxes[..., :2] + boxes[..., 2:]) / 2 for boxes in (first, second))
    between = centers1[..., None, :] - centers2[..., None, :, :]
    distance = between[..., 0] ** 2 + between[..., 1] ** 2
    return iou - distance / (hull_sides[..., 0] ** 2 + hull_sides[..., 1] ** 2 + eps)


@register_fake("box_overlaps", boxes1=3, boxes2=3)
def _(boxes1: Tensor, boxes2: Tensor, measure: str, epsilon: float) -> Tensor:
    return boxes1.new_empty((boxes1.shape[0], boxes1.shape[1], boxes2.shape[1]))
