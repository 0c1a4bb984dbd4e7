"""Non-maximum suppression."""

from typing import Any, overload

import torch
from torch import Tensor

from orbbec._library import operators
from orbbec.bridge.arguments import number_value, whole_value
from orbbec.bridge.fakes import register_fake
from orbbec.nms.detections import (
    Boxes,
    box_tensor,
    check_max_output,
    chosen_indices,
    detection_rows,
    group_numbers,
    is_number,
    keep_greedily,
    like,
    select_indices,
    vector,
)


@overload
def nms(boxes: Boxes, scores: Boxes, iou_threshold: float, *, offset: float = 0) -> Any: ...
@overload
def nms(
    boxes: Boxes, scores: Boxes, iou_threshold: float, *, offset: float = 0, max_output: int
) -> tuple[Any, Any]: ...
@overload
def nms(
    dets: Boxes, iou_thr: float, device_id: int | None = None, *, offset: float = 0
) -> tuple[Any, Any]: ...


def nms(  # type: ignore[misc]  # the forms name their arguments differently
    boxes: Any = None,
    scores: Any = None,
    iou_threshold: Any = None,
    *,
    offset: float = 0,
    max_output: int | None = None,
    dets: Any = None,
    iou_thr: Any = None,
    device_id: int | None = None,
) -> Any:
    """Non-maximum suppression; two signatures, distinguished by the second argument.

    In descending order of scores, a box is kept unless its intersection over union with an already kept box
    is greater than the threshold. Ties are broken by input order, on every device.

    `nms(boxes, scores, iou_threshold)`, as in torchvision, returns the indices of the kept boxes.
    `nms(dets, iou_thr, device_id=None)`, as in mmcv, takes boxes and scores in one tensor and returns the
    kept rows and their indices.

    A box with zero area, x2 < x1, y2 < y1, a NaN, or an infinite or overflowing area overlaps nothing and is
    kept. NaN scores rank first.

    Args:
        boxes: float `[N, 4]` tensor or array: x1, y1, x2, y2 in any unit, on the CPU or a CUDA device.
            float16 and bfloat16 are computed in float32.
        scores: real `[N]`, on the device of `boxes`.
        iou_threshold: a box is suppressed if its intersection over union is greater; from 0 to 1.
        offset: added to the width and height of boxes and intersections: 0, or 1 for boxes with inclusive
            pixel corners.
        max_output: return the first `max_output` (at least 0) kept indices, padded with -1, and their number
            as a tensor: fixed size and no synchronization, for CUDA graphs.
        dets: float `[N, 5]` tensor or array: x1, y1, x2, y2, score.
        iou_thr: see `iou_threshold`.
        device_id: the CUDA device that processes an array; None for the CPU.

    Returns:
        For `boxes` and `scores`: int64 `[K]`, by descending score; with `max_output`, `([max_output], [])`.
        For `dets`: `(dets[K, 5], int64 [K])`. Arrays if the input is an array.

    Raises:
        TypeError: boxes are not a tensor or array of real numbers.
        ValueError: a shape or device is invalid.

    Source:
        `torchvision.ops.nms`: identical to its CPU operator in float32 and float64.

    Example:
        >>> boxes = torch.tensor([[0.0, 0, 10, 10], [0, 0, 10, 9], [20, 20, 30, 30]])
        >>> nms(boxes, torch.tensor([0.5, 0.9, 0.3]), 0.5).tolist()
        [1, 2]
        >>> rows, indices = nms(torch.cat((boxes, torch.tensor([[0.5], [0.9], [0.3]])), dim=1), 0.5)
        >>> indices.tolist()
        [1, 2]
    """
    if dets is not None or iou_thr is not None or is_number(scores):
        rows = boxes if dets is None else dets
        threshold = scores if iou_thr is None else iou_thr
        if max_output is not None:
            raise ValueError("nms: expected max_output with boxes and scores, but got dets")
        return _nms_dets(rows, threshold, iou_threshold if device_id is None else device_id, offset)
    check_max_output("nms", max_output)
    keep, order = keep_mask("nms", boxes, scores, None, iou_threshold, offset)
    return like(boxes, *chosen_indices("nms", keep, order, max_output))


def _nms_dets(dets: Any, iou_thr: float, device_id: int | None, offset: float) -> Any:
    rows = detection_rows("nms", dets)
    device = None if device_id is None else whole_value("nms", "device_id", device_id)
    if device is not None and not isinstance(dets, Tensor):
        rows = rows.to(f"cuda:{device}")
    keep, order = keep_mask("nms", rows[:, :4], rows[:, 4], None, iou_thr, offset)
    indices = select_indices("nms", order, keep)
    return like(dets, rows[indices], indices)


def keep_mask(
    op: str, boxes: Any, scores: Any, groups: Any, iou_threshold: float, offset: float
) -> tuple[Tensor, Tensor]:
    """Whether each box is kept, and its index in the input, by descending score."""
    computed = box_tensor(op, "boxes", boxes, 4)
    of_boxes = vector(op, "scores", scores, computed)

    def keepers_of(ranked: Tensor, groups: Tensor | None) -> Tensor:
        return nms_keepers(op, ranked, groups, iou_threshold, offset)

    return keep_greedily(op, keepers_of, computed, of_boxes, group_numbers(op, "idxs", groups, computed))


def nms_keepers(
    op: str, ranked: Tensor, groups: Tensor | None, iou_threshold: float, offset: float
) -> Tensor:
    """For each box, best first within a group, the index of the box that suppresses it, or its own."""
    numbers = number_value(op, "iou_threshold", iou_threshold), number_value(op, "offset", offset)
    keepers: Tensor = operators.nms_keepers(ranked, groups, *numbers, op)
    return keepers


@register_fake("nms_keepers", boxes=2)
def _(boxes: Tensor, *_: object) -> Tensor:
    return boxes.new_empty((boxes.shape[0],), dtype=torch.int64)
