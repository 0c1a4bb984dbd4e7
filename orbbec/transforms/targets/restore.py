"""From the output of a pipeline back to the images: the inverse of a letterbox, for predictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec.bridge.arguments import Array
from orbbec.plan.passes import OperatorPass
from orbbec.plan.plan import Plan
from orbbec.plan.points import carried_edges, clipped, corners_of, hulls, numbers_of


def restore_boxes(plan: Plan, boxes: Sequence[Any], *, clip: bool = True) -> list[Any]:
    """Move predicted boxes from the outputs of a plan back to its images.

    A pipeline without randomness has the same plan for the same sizes: `evaluate.plan(sizes)`, with the
    (height, width) of the images before the pipeline. After a rotation or a perspective, a box becomes the
    bounding box of its corners.

    Args:
        plan: the plan of the batch. It must not mix images or displace pixels.
        boxes: for each image, `[K, 4]` xyxy in pixels of the output, as a tensor or an array.
        clip: clip boxes to their image.

    Returns:
        For each image, `[K, 4]` xyxy in pixels of the image, with the type, dtype and device of `boxes`.

    Raises:
        ValueError: the number or a shape of `boxes` is wrong, or the plan has no inverse.

    Example:
        >>> from orbbec.transforms import Compose, Letterbox
        >>> plan = Compose([Letterbox(100)]).plan([(200, 400)])
        >>> restore_boxes(plan, [np.array([[0.0, 25.0, 50.0, 75.0]])])[0].tolist()
        [[0.0, 0.0, 200.0, 200.0]]
    """
    if len(boxes) != len(plan):
        raise ValueError(f"restore_boxes: expected boxes of {len(plan)} images, but got {len(boxes)}")
    for step in plan.passes:
        if isinstance(step, OperatorPass) and step.spec.displacement is not None:
            raise ValueError(f"restore_boxes: expected a plan without {step.name}, which has no matrix")
    rows = zip(plan.matrix, plan.sizes.tolist(), boxes, strict=True)
    return [
        _restored(index, given, matrix, (height, width), clip)
        for index, (matrix, (height, width), given) in enumerate(rows)
    ]


def _restored(index: int, given: Any, matrix: Array, size: tuple[int, int], clip: bool) -> Any:
    corners = numbers_of(given)
    if corners.ndim != 2 or corners.shape[1] != 4:
        raise ValueError(
            f"restore_boxes: expected boxes of shape [K, 4], but image {index} has {list(corners.shape)}"
        )
    moved = hulls(carried_edges(matrix, corners_of(corners)))
    moved = clipped(moved, size) if clip else moved
    if isinstance(given, Tensor):
        return torch.from_numpy(moved).to(given)
    return moved.astype(np.asarray(given).dtype)
