"""Random boxes for tests and benchmarks, and a reference for their overlaps."""

import numpy as np
import torch
from torch import Tensor

from orbbec.bridge.arguments import Array


def random_boxes(count: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
    """Boxes `[count, 4]` with corners in 0 to 1200 and sides up to 200, and scores `[count]` from 0 to 1.

    Example:
        >>> boxes, scores = random_boxes(3)
        >>> boxes.shape, scores.shape
        (torch.Size([3, 4]), torch.Size([3]))
    """
    generator = torch.Generator().manual_seed(seed)
    corner = torch.rand(count, 2, generator=generator) * 1000
    side = torch.rand(count, 2, generator=generator) * 200
    scores = torch.rand(count, generator=generator)
    return torch.cat((corner, corner + side), dim=1).to(dtype), scores.to(dtype)


def random_rotated_boxes(
    count: int, seed: int = 0, dtype: torch.dtype = torch.float32
) -> tuple[Tensor, Tensor]:
    """Boxes `[count, 5]` with centers in 0 to 1000, sides up to 200 and any angle, and scores `[count]`.

    Example:
        >>> boxes, scores = random_rotated_boxes(3)
        >>> boxes.shape, scores.shape
        (torch.Size([3, 5]), torch.Size([3]))
    """
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.rand(count, 6, generator=generator)
    boxes = drawn[:, :5] * torch.tensor([1000.0, 1000, 200, 200, 360])
    return boxes.to(dtype), drawn[:, 5].to(dtype)


def iou_matrix(boxes: Array, offset: float = 0.0) -> Array:
    """Intersection over union of all pairs of boxes, in their precision; NaN where it is undefined.

    Example:
        >>> iou_matrix(np.array([[0.0, 0, 2, 2], [0, 0, 2, 1]])).tolist()
        [[1.0, 0.5], [0.5, 1.0]]
    """
    with np.errstate(all="ignore"):
        sides = boxes[:, 2:] - boxes[:, :2] + boxes.dtype.type(offset)
        area = sides[:, 0] * sides[:, 1]
        first = np.maximum(boxes[:, None, :2], boxes[None, :, :2])
        last = np.minimum(boxes[:, None, 2:], boxes[None, :, 2:])
        shared = np.maximum(last - first + boxes.dtype.type(offset), 0).prod(axis=2)
        ratio: Array = shared / (area[:, None] + area[None, :] - shared)
        return ratio
