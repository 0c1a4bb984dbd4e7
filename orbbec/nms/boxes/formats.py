"""Conversion of box formats."""

import math
from typing import Any

import torch
from torch import Tensor

from orbbec.bridge.arguments import dtype_name
from orbbec.nms.boxes.angles import arctangent, sine_cosine, square_root
from orbbec.nms.boxes.arguments import NUMBERS, boxes_of, format_name
from orbbec.nms.detections import Boxes, like


def box_convert(boxes: Boxes, in_fmt: str, out_fmt: str) -> Any:
    """Convert boxes from one format to another.

    "xyxy": top-left and bottom-right corner. "xywh": top-left corner, width, height. "cxcywh": center, width,
    height. "cxcywha": "cxcywh" and an angle in degrees, counter-clockwise on screen (y points down).
    "xywha": the same with the corner that is top left before rotation instead of the center.
    "xyxyxyxy": the corners that are top left, top right, bottom right and bottom left before rotation.

    An upright box becomes a rotated box of angle 0; a rotated box becomes its upright bounding box.
    "xyxyxyxy" is read from its first three corners, and the angle is that of the side between the first two,
    from -180 to 180.

    Args:
        boxes: `[..., 4]`, `[..., 5]` or `[..., 8]` tensor or array, depending on the format; of any real
            dtype if both formats are upright, otherwise float. On any device.
        in_fmt: the format of `boxes`.
        out_fmt: the format of the result; the same format gives a copy.

    Returns:
        `[..., numbers of the format]`, of the dtype of `boxes`; float for "cxcywh" of integers.
        Differentiable.

    Raises:
        TypeError: not a tensor or array of a supported dtype.
        ValueError: a shape or a format is invalid.

    Source:
        `torchvision.ops.box_convert`, with identical results for upright formats. Its names
        "cxcywhr" and "xywhr" for "cxcywha" and "xywha" are accepted. Rotated formats differ from it by the
        rounding of an angle, at most 1e-4 for float32 boxes within 300 pixels: its sine and cosine depend on
        the device.

    Example:
        >>> box_convert(torch.tensor([[1.0, 2.0, 4.0, 8.0]]), "xyxy", "cxcywh").tolist()
        [[2.5, 5.0, 3.0, 6.0]]
        >>> corners = box_convert(torch.tensor([[0.0, 0.0, 4.0, 2.0, 90.0]]), "cxcywha", "xyxyxyxy")
        >>> corners.round().int().tolist()
        [[-1, 2, -1, -2, 1, -2, 1, 2]]
    """
    names = (("in_fmt", in_fmt), ("out_fmt", out_fmt))
    source, target = (format_name("box_convert", name, value, tuple(NUMBERS)) for name, value in names)
    numbers = boxes_of("box_convert", "boxes", boxes, NUMBERS[source])
    if not numbers.is_floating_point() and not {source, target} <= UPRIGHT_FROM.keys():
        dtype = dtype_name(numbers.dtype)
        raise TypeError(f"box_convert: expected boxes of floats for a rotated format, but got {dtype}")
    return like(boxes, converted(numbers, source, target))


def converted(boxes: Tensor, source: str, target: str) -> Tensor:
    """Convert between known formats through a common form for upright, and one for rotated boxes."""
    if source == target:
        return boxes.clone()
    if source in UPRIGHT_FROM:
        corners = UPRIGHT_FROM[source](boxes)
        if target in UPRIGHT_FROM:
            return UPRIGHT_TO[target](corners)
        return ROTATED_TO[target](_with_angle(corners))
    rotated = ROTATED_FROM[source](boxes)
    if target in ROTATED_FROM:
        return ROTATED_TO[target](rotated)
    return UPRIGHT_TO[target](_hull(_to_four_corners(rotated)))


def _same(boxes: Tensor) -> Tensor:
    return boxes


def _from_xywh(boxes: Tensor) -> Tensor:
    x, y, w, h = boxes.unbind(-1)
    return torch.stack((x, y, x + w, y + h), -1)


def _from_cxcywh(boxes: Tensor) -> Tensor:
    cx, cy, w, h = boxes.unbind(-1)
    return torch.stack((cx - 0.5 * w, cy - 0.5 * h, cx + 0.5 * w, cy + 0.5 * h), -1)


def _to_xywh(corners: Tensor) -> Tensor:
    x1, y1, x2, y2 = corners.unbind(-1)
    return torch.stack((x1, y1, x2 - x1, y2 - y1), -1)


def _to_cxcywh(corners: Tensor) -> Tensor:
    x1, y1, x2, y2 = corners.unbind(-1)
    return torch.stack(((x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1), -1)


# Common form of rotated boxes: first corner after rotation, width, height, angle.


def _with_angle(corners: Tensor) -> Tensor:
    return torch.cat((_to_xywh(corners), torch.zeros_like(corners[..., :1])), -1)


def _from_cxcywha(boxes: Tensor) -> Tensor:
    cx, cy, w, h, angle = boxes.unbind(-1)
    sine, cosine = sine_cosine(angle)
    x1 = cx - w / 2 * cosine - h / 2 * sine
    y1 = cy - h / 2 * cosine + w / 2 * sine
    return torch.stack((x1, y1, w, h, angle), -1)


def _to_cxcywha(rotated: Tensor) -> Tensor:
    x1, y1, w, h, angle = rotated.unbind(-1)
    sine, cosine = sine_cosine(angle)
    cx = x1 + w / 2 * cosine + h / 2 * sine
    cy = y1 - w / 2 * sine + h / 2 * cosine
    return torch.stack((cx, cy, w, h, angle), -1)


def _to_four_corners(rotated: Tensor) -> Tensor:
    x1, y1, w, h, angle = rotated.unbind(-1)
    sine, cosine = sine_cosine(angle)
    x2, y2 = x1 + w * cosine, y1 - w * sine
    edge_x, edge_y = h * sine, h * cosine
    return torch.stack((x1, y1, x2, y2, x2 + edge_x, y2 + edge_y, x1 + edge_x, y1 + edge_y), -1)


def _from_four_corners(corners: Tensor) -> Tensor:
    x1, y1, x2, y2, x3, y3, _, _ = corners.unbind(-1)
    angle = arctangent(y1 - y2, x2 - x1) * (180 / math.pi)
    w = square_root((x2 - x1) ** 2 + (y1 - y2) ** 2)
    h = square_root((x3 - x2) ** 2 + (y3 - y2) ** 2)
    return torch.stack((x1, y1, w, h, angle), -1)


def _hull(corners: Tensor) -> Tensor:
    x, y = corners[..., 0::2], corners[..., 1::2]
    return torch.stack((x.amin(-1), y.amin(-1), x.amax(-1), y.amax(-1)), -1)


UPRIGHT_FROM = {"xyxy": _same, "xywh": _from_xywh, "cxcywh": _from_cxcywh}
UPRIGHT_TO = {"xyxy": _same, "xywh": _to_xywh, "cxcywh": _to_cxcywh}
ROTATED_FROM = {"cxcywha": _from_cxcywha, "xywha": _same, "xyxyxyxy": _from_four_corners}
ROTATED_TO = {"cxcywha": _to_cxcywha, "xywha": _same, "xyxyxyxy": _to_four_corners}
