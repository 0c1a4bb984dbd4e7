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
from orbbec.plan.points import carried, carried_edges, clipped, corners_of, forward_of, hulls, numbers_of
from orbbec.transforms.targets.masks import Mask, moved_masks
from orbbec.transforms.targets.motion import Motion
from orbbec.transforms.targets.pairs import mirrors, pairs_of, swapped


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
    _check("restore_boxes", "boxes", plan, boxes)
    rows = zip(plan.matrix, plan.sizes.tolist(), boxes, strict=True)
    return [
        _restored(index, boxes_of_image, matrix, (height, width), clip)
        for index, (matrix, (height, width), boxes_of_image) in enumerate(rows)
    ]


def restore_points(
    plan: Plan, points: Sequence[Any], *, keypoint_pairs: Sequence[Sequence[int]] | str = ()
) -> list[Any]:
    """Move predicted points from the outputs of a plan back to its images; see `restore_boxes`.

    Args:
        plan: the plan of the batch. It must not mix images or displace pixels.
        points: for each image, `[..., P, D]`: pixel positions (x, y) of the output and D - 2 other numbers,
            which are kept, such as scores.
        keypoint_pairs: see `TargetOptions`: they are exchanged where the plan mirrors the image.

    Returns:
        For each image, `[..., P, D]` in pixels of the image, with the type, dtype and device of `points`.

    Raises:
        ValueError: the number or a shape of `points` is wrong, or the plan has no inverse.

    Example:
        >>> from orbbec.transforms import Compose, RandomHorizontalFlip
        >>> plan = Compose([RandomHorizontalFlip(1.0)]).plan([(4, 10)])
        >>> restore_points(plan, [np.array([[1.0, 2.0], [7.0, 2.0]])], keypoint_pairs=[(0, 1)])[0].tolist()
        [[2.0, 2.0], [8.0, 2.0]]
    """
    _check("restore_points", "points", plan, points)
    pairs, results = pairs_of("restore_points", "keypoint_pairs", keypoint_pairs), []
    for index, (points_of_image, matrix, size) in enumerate(
        zip(points, plan.matrix, plan.output_sizes, strict=True)
    ):
        values = numbers_of(points_of_image).copy()
        if values.ndim < 2 or values.shape[-1] < 2:
            raise ValueError(
                f"restore_points: expected points of shape [..., P, 2 or more], but image {index} has "
                f"{list(values.shape)}"
            )
        values[..., :2] = carried(matrix, values[..., :2])
        if mirrors(matrix, size.tolist()):
            values = swapped(values, pairs, f"those of image {index}")
        results.append(_like(values, points_of_image))
    return results


def restore_masks(plan: Plan, masks: Sequence[Tensor], *, fill: float = 0.0) -> list[Tensor]:
    """Move predicted masks from the outputs of a plan back to its images; see `restore_boxes`.

    Args:
        plan: the plan of the batch. It must not mix images or displace pixels.
        masks: for each image, `[..., H, W]` of the size of its output, of any dtype.
        fill: value of pixels that the output does not show.

    Returns:
        For each image, `[..., H, W]` of the size of the image, read at the nearest pixel.

    Raises:
        ValueError: the number or a shape of `masks` is wrong, or the plan has no inverse.

    Example:
        >>> from orbbec.transforms import Compose, Pad
        >>> plan = Compose([Pad((2, 0, 0, 0))]).plan([(1, 3)])
        >>> restore_masks(plan, [torch.tensor([[9, 8, 1, 2, 3]])])[0].tolist()
        [[1, 2, 3]]
    """
    _check("restore_masks", "masks", plan, masks)
    for index, (mask, size) in enumerate(zip(masks, plan.output_sizes.tolist(), strict=True)):
        if list(mask.shape[-2:]) != size:
            raise ValueError(
                f"restore_masks: expected masks of shape [..., {size[0]}, {size[1]}], but image {index} has "
                f"{list(mask.shape)}"
            )
    motion = Motion(forward_of(plan.matrix), plan.sizes, "constant")
    return moved_masks(motion, [Mask(index, mask) for index, mask in enumerate(masks)], fill)


def _check(op: str, name: str, plan: Plan, values: Sequence[Any]) -> None:
    """Refuse values of another number of images, and plans without an inverse."""
    if len(values) != len(plan):
        raise ValueError(f"{op}: expected {name} of {len(plan)} images, but got {len(values)}")
    for step in plan.passes:
        if isinstance(step, OperatorPass) and step.spec.moves_pixels:
            raise ValueError(f"{op}: expected a plan without {step.name}, which has no matrix")


def _restored(index: int, boxes: Any, matrix: Array, size: tuple[int, int], clip: bool) -> Any:
    corners = numbers_of(boxes)
    if corners.ndim != 2 or corners.shape[1] != 4:
        raise ValueError(
            f"restore_boxes: expected boxes of shape [K, 4], but image {index} has {list(corners.shape)}"
        )
    result = hulls(carried_edges(matrix, corners_of(corners)))
    result = clipped(result, size) if clip else result
    return _like(result, boxes)


def _like(values: Array, example: Any) -> Any:
    """Values with the type, dtype and device of `example`."""
    if isinstance(example, Tensor):
        return torch.from_numpy(values).to(example)
    return values.astype(np.asarray(example).dtype)
