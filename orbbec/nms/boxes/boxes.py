"""Areas and clipping of boxes, and boxes of masks, with torchvision's results."""

from typing import Any

import torch
from torch import Tensor

from orbbec.bridge.arguments import as_tensor, number_value, sides_of
from orbbec.nms.boxes.arguments import NUMBERS, boxes_of, computed_dtype, format_name
from orbbec.nms.detections import Boxes, like

WITH_AREA = ("xyxy", "xywh", "cxcywh", "cxcywha", "xywha")


def box_area(boxes: Boxes, fmt: str = "xyxy") -> Any:
    """The areas of boxes: width times height.

    The area is negative if one of the two is negative, positive if both are.

    Args:
        boxes: tensor or array `[..., 4]`, rotated ones `[..., 5]`, of any real dtype; on any device.
        fmt: "xyxy", "xywh", "cxcywh", "cxcywha" or "xywha".

    Returns:
        `[...]`: float64 for float64, float32 for other floats, int64 for integers; differentiable.

    Raises:
        TypeError: not a tensor or array of real numbers.
        ValueError: the shape or the format is invalid.

    Source:
        `torchvision.ops.box_area`.

    Example:
        >>> box_area(torch.tensor([[1.0, 2.0, 4.0, 8.0]])).tolist()
        [18.0]
    """
    fmt = format_name("box_area", "fmt", fmt, WITH_AREA)
    corners = boxes_of("box_area", "boxes", boxes, NUMBERS[fmt])
    return like(boxes, area_of(corners.to(computed_dtype(corners)), fmt))


def area_of(boxes: Tensor, fmt: str) -> Tensor:
    """The areas of boxes of a known format, in their dtype."""
    if fmt == "xyxy":
        return (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])
    return boxes[..., 2] * boxes[..., 3]


def clip_boxes_to_image(boxes: Boxes, size: tuple[int, int]) -> Any:
    """Clip boxes to an image: x from 0 to the width, y from 0 to the height.

    NaN stays NaN; infinities are clipped. A box outside the image becomes an empty box on its border.

    Args:
        boxes: `[..., 4]` tensor or array of any real dtype: x1, y1, x2, y2. On any device.
        size: `(height, width)` of the image in pixels.

    Returns:
        Boxes of the shape and dtype of `boxes`; differentiable.

    Raises:
        TypeError: not a tensor or array of real numbers.
        ValueError: the shape or the size is invalid.

    Source:
        `torchvision.ops.clip_boxes_to_image`.

    Example:
        >>> clip_boxes_to_image(torch.tensor([[-5.0, 2.0, 30.0, 8.0]]), (6, 20)).tolist()
        [[0.0, 2.0, 20.0, 6.0]]
    """
    op = "clip_boxes_to_image"
    corners = boxes_of(op, "boxes", boxes)
    try:
        height, width = sides_of(size)
        if height is None or width is None:
            raise TypeError("None is no side")
        x, y = corners[..., 0::2].clamp(min=0, max=width), corners[..., 1::2].clamp(min=0, max=height)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{op}: expected size as (height, width), but got {size!r}") from error
    return like(boxes, torch.stack((x, y), -1).reshape(corners.shape))


def remove_small_boxes(boxes: Boxes, min_size: float) -> Any:
    """The indices of the boxes whose sides are both at least `min_size`; boxes with NaN sides are removed.

    Args:
        boxes: `[N, 4]` tensor or array of any real dtype: x1, y1, x2, y2. On any device.
        min_size: smallest side, in the units of the boxes.

    Returns:
        int64 `[K]`, ascending.

    Raises:
        TypeError: not a tensor or array of real numbers.
        ValueError: the shape is invalid.

    Source:
        `torchvision.ops.remove_small_boxes`.

    Example:
        >>> remove_small_boxes(torch.tensor([[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 9.0, 1.0]]), 2).tolist()
        [0]
    """
    corners = boxes_of("remove_small_boxes", "boxes", boxes)
    least = number_value("remove_small_boxes", "min_size", min_size)
    large = (corners[..., 2:] - corners[..., :2] >= least).all(-1)
    return like(boxes, torch.where(large)[0])


def masks_to_boxes(masks: Boxes) -> Any:
    """The bounding box of the nonzero pixels of each mask: first and last column and row.

    Args:
        masks: `[N, H, W]` tensor or array of any dtype; on any device.

    Returns:
        float32 `[N, 4]`: x1, y1, x2, y2 in pixels, x2 and y2 inclusive. Zeros for an empty mask.

    Raises:
        TypeError: not a tensor or array.
        ValueError: the shape is invalid.

    Source:
        `torchvision.ops.masks_to_boxes`, which refuses empty masks.

    Example:
        >>> mask = torch.zeros(1, 4, 5, dtype=torch.bool)
        >>> mask[0, 1:3, 2] = True
        >>> masks_to_boxes(mask).tolist()
        [[2.0, 1.0, 2.0, 2.0]]
    """
    values = as_tensor("masks_to_boxes", "masks", masks)
    if values.dim() != 3:
        raise ValueError(f"masks_to_boxes: expected masks of shape [N, H, W], but got {list(values.shape)}")
    inside = values if values.dtype == torch.bool else values != 0
    (x1, x2), (y1, y2) = _first_and_last(inside.any(1)), _first_and_last(inside.any(2))
    return like(masks, torch.stack((x1, y1, x2, y2), -1))


def _first_and_last(used: Tensor) -> tuple[Tensor, Tensor]:
    """The first and last true index of each row of bool `[N, K]`; 0 if there is none."""
    indices = torch.arange(used.shape[1], device=used.device, dtype=torch.float32)
    if used.shape[1] == 0:
        return (used.new_zeros(used.shape[0], dtype=torch.float32),) * 2
    first = torch.where(used, indices, torch.inf).amin(1)
    last = torch.where(used, indices, -torch.inf).amax(1)
    found = used.any(1)
    return torch.where(found, first, 0.0), torch.where(found, last, 0.0)
