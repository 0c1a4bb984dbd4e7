"""Matching of suppressed boxes to kept boxes."""

from typing import Any

import torch

from orbbec.nms.detections import Boxes, best_first, box_tensor, detection_rows, like, stable_argsort
from orbbec.nms.nms import nms_keepers


def nms_match(dets: Boxes, iou_threshold: float, *, offset: float = 0) -> list[Any]:
    """Group suppressed boxes with the kept box that suppresses them.

    A suppressed box belongs to the first kept box, by score, that it overlaps by more than the threshold.

    Args:
        dets: float `[N, 5]` tensor or array: x1, y1, x2, y2, score; on the CPU or a CUDA device.
        iou_threshold: see `nms`.
        offset: see `nms`.

    Returns:
        One int64 tensor, or array if `dets` is an array, for each kept box by descending score: its index in
        `dets`, then the indices of the boxes that it suppresses, by descending score.

    Raises:
        TypeError: `dets` is not a tensor or array of real numbers.
        ValueError: a shape is invalid.

    Source:
        `mmcv.ops.nms_match`.

    Example:
        >>> dets = torch.tensor([[0.0, 0, 10, 10, 0.5], [0, 0, 10, 9, 0.9], [20, 20, 30, 30, 0.3]])
        >>> [group.tolist() for group in nms_match(dets, 0.5)]
        [[1, 0], [2]]
    """
    rows = detection_rows("nms_match", dets)
    order = best_first("nms_match", rows[:, 4])
    boxes = box_tensor("nms_match", "dets", rows[:, :4], 4)
    keepers = nms_keepers("nms_match", boxes.index_select(0, order), None, iou_threshold, offset)
    by_keeper = stable_argsort("nms_match", keepers)
    sizes = torch.unique_consecutive(keepers[by_keeper], return_counts=True)[1]
    groups = torch.split(order[by_keeper], sizes.tolist())
    return [like(dets, group) for group in groups]
