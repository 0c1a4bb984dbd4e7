"""Overlaps of rotated boxes."""

from typing import Any

from torch import Tensor

from orbbec._library import operators
from orbbec.bridge.fakes import register_fake
from orbbec.nms.boxes.arguments import batched_pairs, pair_of
from orbbec.nms.detections import Boxes, like


def box_iou_rotated(boxes1: Boxes, boxes2: Boxes) -> Any:
    """The pairwise intersection over union of two sets of rotated boxes.

    Computed in float64 for every dtype, within 4e-15 of the exact ratio, also far from the origin. It is 0
    for boxes that only touch, and for boxes with a side of 0 or less, a NaN or infinite number, or an area
    that overflows float64.

    Args:
        boxes1: `[..., N, 5]` tensor or array of any real dtype: center x and y, width, height, and angle in
            degrees, counter-clockwise on screen (y points down). On the CPU or a CUDA device.
        boxes2: `[..., M, 5]`, on the device of `boxes1`.

    Returns:
        `[..., N, M]`: float64 if one set is float64, otherwise float32. There is no gradient.

    Raises:
        TypeError: not tensors or arrays of real numbers.
        ValueError: a shape or device is invalid.

    Source:
        Compared with shapely's areas: 2e-14 apart, mostly shapely's error.

    Example:
        >>> upright = torch.tensor([[0.0, 0.0, 2.0, 2.0, 0.0]])
        >>> rotated = torch.tensor([[0.0, 0.0, 2.0, 2.0, 45.0], [1.0, 0.0, 2.0, 2.0, 90.0]])
        >>> [round(value, 4) for value in box_iou_rotated(upright, rotated)[0].tolist()]
        [0.7071, 0.3333]
    """
    first, second = pair_of("box_iou_rotated", boxes1, boxes2, 5)
    if not first.is_floating_point():
        first, second = first.float(), second.float()
    rows, columns, shape = batched_pairs(first.detach(), second.detach())
    return like(boxes1, operators.box_iou_rotated(rows, columns).reshape(shape))


@register_fake("box_iou_rotated", boxes1=3, boxes2=3)
def _(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    return boxes1.new_empty((boxes1.shape[0], boxes1.shape[1], boxes2.shape[1]))
