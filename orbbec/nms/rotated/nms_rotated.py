"""Non-maximum suppression of rotated boxes."""

from typing import Any

import torch
from torch import Tensor

from orbbec._library import operators
from orbbec.bridge.arguments import number_value
from orbbec.bridge.fakes import register_fake
from orbbec.nms.detections import (
    Boxes,
    box_tensor,
    check_max_output,
    chosen_indices,
    group_numbers,
    keep_greedily,
    like,
    vector,
)


def nms_rotated(
    boxes: Boxes,
    scores: Boxes,
    iou_threshold: float,
    *,
    idxs: Boxes | None = None,
    max_output: int | None = None,
) -> Any:
    """Non-maximum suppression of rotated boxes.

    In descending order of scores, a box is kept unless its intersection over union with an already kept box
    of its group is greater than the threshold. Ties are broken by input order, on every device. Overlaps are
    computed in float64.

    A box with a side of 0 or less, or with a NaN or infinite number, overlaps nothing and is kept. NaN scores
    rank first.

    Args:
        boxes: float `[N, 5]` tensor or array: center x and y, width, height in any unit, and angle in
            degrees, counter-clockwise on screen. On the CPU or a CUDA device.
        scores: real `[N]`, on the device of `boxes`.
        iou_threshold: a box is suppressed if its intersection over union is greater; from 0 to 1.
        idxs: whole numbers `[N]`: the group of each box, such as a class or an image; see `batched_nms`.
            None: one group.
        max_output: return the first `max_output` kept indices, padded with -1, and their number as a tensor:
            fixed size and no synchronization, for CUDA graphs.

    Returns:
        int64 `[K]`, indices of the kept boxes by descending score; with `max_output`, `([max_output], [])`.
        Arrays if `boxes` is an array.

    Raises:
        TypeError: boxes are not a tensor or array of real numbers.
        ValueError: a shape or device is invalid.

    Source:
        `detectron2.layers.nms_rotated`, with the same angles; mmcv's are radians, clockwise by default.

    Example:
        >>> boxes = torch.tensor([[5.0, 5, 10, 4, 0], [5, 5, 10, 4, 10], [5, 5, 10, 4, 90]])
        >>> nms_rotated(boxes, torch.tensor([0.9, 0.8, 0.7]), 0.5).tolist()
        [0, 2]
    """
    check_max_output("nms_rotated", max_output)
    computed = box_tensor("nms_rotated", "boxes", boxes, 5)
    of_boxes = vector("nms_rotated", "scores", scores, computed)
    groups = group_numbers("nms_rotated", "idxs", idxs, computed)
    threshold = number_value("nms_rotated", "iou_threshold", iou_threshold)

    def keepers_of(ranked: Tensor, groups: Tensor | None) -> Tensor:
        keepers: Tensor = operators.nms_rotated_keepers(ranked, groups, threshold)
        return keepers

    keep, order = keep_greedily("nms_rotated", keepers_of, computed, of_boxes, groups)
    return like(boxes, *chosen_indices("nms_rotated", keep, order, max_output))


@register_fake("nms_rotated_keepers", boxes=2)
def _(boxes: Tensor, groups: Tensor | None, iou_threshold: float) -> Tensor:
    return boxes.new_empty((boxes.shape[0],), dtype=torch.int64)
