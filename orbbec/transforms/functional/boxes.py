"""Conversion, clamping and sanitizing of boxes and points, as `tv_tensors` or plain tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from orbbec.nms.boxes import box_convert, clip_boxes_to_image
from orbbec.transforms.base.checks import choice, flag, number
from orbbec.transforms.base.tv_tensors import format_of, is_tv_tensor, plain, wrapped

_UPRIGHT = ("xyxy", "xywh", "cxcywh")


def convert_bounding_box_format(
    inpt: Any, old_format: Any = None, new_format: Any = None, inplace: bool = False
) -> Any:
    """Convert boxes `[..., 4]` to another format. Integer boxes are truncated. `inplace` must be False.

    Args:
        inpt: `tv_tensors.BoundingBoxes`, or a tensor with its `old_format`.
        old_format: "XYXY", "XYWH", "CXCYWH", "CXCYWHR", "XYWHR", "XYXYXYXY", or torchvision's enumeration.
        new_format: as `old_format`.
        inplace: must be False.

    Example:
        >>> convert_bounding_box_format(torch.tensor([[1, 2, 4, 8]]), "XYXY", "XYWH").tolist()
        [[1, 2, 3, 6]]
    """
    op = "convert_bounding_box_format"
    if new_format is None:
        raise TypeError(f"{op}: expected new_format")
    if flag(op, "inplace", inplace):
        raise ValueError(f"{op}: expected inplace=False")
    boxes, source = _boxes_of(op, inpt, "old_format", old_format)
    result = _converted(boxes, source, format_of(op, new_format))
    if boxes is inpt:
        return result
    name = str(getattr(new_format, "name", new_format)).upper()
    return wrapped(result, inpt, format=type(inpt.format)[name])


def clamp_bounding_boxes(
    inpt: Any,
    format: Any = None,
    canvas_size: Sequence[int] | None = None,
    clamping_mode: str | None = "auto",
) -> Any:
    """Clip upright boxes to their image; `clamping_mode` None leaves them unchanged.

    Args:
        inpt: `tv_tensors.BoundingBoxes`, or a tensor `[..., 4]` with its `format` and `canvas_size`.
        format: as in `convert_bounding_box_format`.
        canvas_size: (height, width) of the image in pixels.
        clamping_mode: "auto", "soft" or "hard", which are equivalent for upright boxes, or None.
    """
    op = "clamp_bounding_boxes"
    boxes, source = _boxes_of(op, inpt, "format", format)
    size = _canvas(op, inpt, canvas_size)
    if clamping_mode is None:
        return inpt
    choice(op, "clamping_mode", clamping_mode, ("auto", "soft", "hard"))
    if source not in _UPRIGHT:
        raise ValueError(f"{op}: expected boxes of {', '.join(_UPRIGHT)}, but got {source}")
    exact = boxes if boxes.is_floating_point() else boxes.double()
    clipped = clip_boxes_to_image(box_convert(exact, source, "xyxy"), size)
    result = box_convert(clipped, "xyxy", source).to(boxes.dtype)
    return wrapped(result, inpt) if boxes is not inpt else result


def sanitize_bounding_boxes(
    bounding_boxes: Any,
    format: Any = None,
    canvas_size: Sequence[int] | None = None,
    min_size: float = 1.0,
    min_area: float = 1.0,
) -> tuple[Any, Tensor]:
    """Drop upright boxes that are too small or extend beyond their image.

    Args:
        bounding_boxes: `tv_tensors.BoundingBoxes`, or a tensor `[N, 4]` with its `format` and `canvas_size`.
        format: as in `convert_bounding_box_format`.
        canvas_size: (height, width) of the image in pixels.
        min_size: smallest side in pixels.
        min_area: smallest area in square pixels.

    Returns:
        The remaining boxes, and a mask of the rows kept: bool `[N]`.

    Example:
        >>> boxes = torch.tensor([[1, 2, 4, 8], [3, 3, 3, 9], [5, 5, 21, 9]])
        >>> sanitize_bounding_boxes(boxes, "XYXY", (10, 20))[1].tolist()
        [True, False, False]
    """
    op = "sanitize_bounding_boxes"
    boxes, source = _boxes_of(op, bounding_boxes, "format", format)
    if source not in _UPRIGHT:
        raise ValueError(f"{op}: expected boxes of {', '.join(_UPRIGHT)}, but got {source}")
    height, width = _canvas(op, bounding_boxes, canvas_size)
    least, area = number(op, "min_size", min_size), number(op, "min_area", min_area)
    corners = _converted(boxes, source, "xyxy")
    sides = corners[:, 2:] - corners[:, :2]
    inside = (corners >= 0) & (corners <= corners.new_tensor([width, height, width, height]))
    valid = (sides >= least).all(1) & inside.all(1) & (sides.prod(1) >= area)
    return _rows(bounding_boxes, boxes, valid), valid


def clamp_keypoints(inpt: Any, canvas_size: Sequence[int] | None = None) -> Any:
    """Move points `[..., 2]` (x, y) to the nearest pixel of their image.

    Args:
        inpt: `tv_tensors.KeyPoints`, or a tensor with its `canvas_size`.
        canvas_size: (height, width) of the image in pixels.
    """
    points = _tensor_of("clamp_keypoints", "KeyPoints", inpt)
    height, width = _canvas("clamp_keypoints", inpt, canvas_size)
    x, y = points[..., 0].clamp(0, width - 1), points[..., 1].clamp(0, height - 1)
    result = torch.stack((x, y), -1)
    return wrapped(result, inpt) if points is not inpt else result


def sanitize_keypoints(key_points: Any, canvas_size: Sequence[int] | None = None) -> tuple[Any, Tensor]:
    """Drop points `[N, 2]` outside their image, or groups `[N, ..., 2]` with a point outside.

    Args:
        key_points: `tv_tensors.KeyPoints`, or a tensor with its `canvas_size`.
        canvas_size: (height, width) of the image in pixels.

    Returns:
        The remaining points, and a mask of the rows kept: bool `[N]`.
    """
    points = _tensor_of("sanitize_keypoints", "KeyPoints", key_points)
    height, width = _canvas("sanitize_keypoints", key_points, canvas_size)
    inside = (points >= 0) & (points < points.new_tensor([width, height]))
    valid = inside.flatten(1).all(1)
    return _rows(key_points, points, valid), valid


def _boxes_of(op: str, value: Any, argument: str, format: Any) -> tuple[Tensor, str]:
    """Boxes as a tensor, and their format."""
    boxes = _tensor_of(op, "BoundingBoxes", value)
    has_format = boxes is not value
    if has_format != (format is None):
        raise ValueError(f"{op}: expected {argument} for a tensor, and only for a tensor, but got {format!r}")
    return boxes, format_of(op, value.format if has_format else format)


def _tensor_of(op: str, kind: str, value: Any) -> Tensor:
    if not isinstance(value, Tensor) or (is_tv_tensor(value) and type(value).__name__ != kind):
        raise TypeError(f"{op}: expected {kind} or a tensor, but got {type(value)}")
    tensor: Tensor = plain(value)
    return tensor


def _canvas(op: str, value: Any, canvas_size: Sequence[int] | None) -> tuple[int, int]:
    sizes = [size for size in (getattr(value, "canvas_size", None), canvas_size) if size is not None]
    if len(sizes) != 1:
        raise ValueError(
            f"{op}: expected canvas_size for a tensor, and only for a tensor, but got {canvas_size!r}"
        )
    height, width = sizes[0]
    return int(height), int(width)


def _converted(boxes: Tensor, source: str, target: str) -> Tensor:
    """Convert boxes, keeping their dtype; integer boxes go through integer corners."""
    if boxes.is_floating_point() or source == target or not {source, target} <= set(_UPRIGHT):
        exact: Tensor = box_convert(boxes, source, target)
        return exact
    corners = box_convert(boxes.double(), source, "xyxy").trunc()
    whole: Tensor = box_convert(corners, "xyxy", target).floor().to(boxes.dtype)
    return whole


def _rows(value: Any, values: Tensor, valid: Tensor) -> Any:
    return wrapped(values[valid], value) if values is not value else values[valid]
