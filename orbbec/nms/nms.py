"""Non-maximum suppression: keep the best of boxes that overlap."""

from typing import Any, overload

import torch
from torch import Tensor

from orbbec.binding.detections import (
    Boxes,
    at_most,
    box_tensor,
    check_max_output,
    chosen_places,
    detection_rows,
    group_numbers,
    is_number,
    keep_greedily,
    like,
    vector,
)
from orbbec.binding.fakes import register_fake


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
    """Keep the best of boxes that overlap; two forms, told apart by the second argument.

    Going down the scores, a box is kept unless its intersection over union with a box kept before it is
    greater than the threshold. Equal scores rank in the order of the input, on every device.

    `nms(boxes, scores, iou_threshold)`, as in torchvision, gives the places of the kept boxes.
    `nms(dets, iou_thr, device_id=None)`, as in mmcv, takes boxes and scores in one and gives the kept rows
    and their places.

    A box without area, or with x2 < x1 or y2 < y1, overlaps nothing and is kept; so is one with a number that
    is NaN, or whose area is infinite or overflows. A NaN score ranks before all others.

    Args:
        boxes: float `[N, 4]` tensor or array: x1, y1, x2, y2 in any unit, on the CPU or a CUDA device.
            float16 and bfloat16 are computed in float32.
        scores: real `[N]`, on the device of `boxes`.
        iou_threshold: a box falls if its intersection over union is greater than this; from 0 to 1.
        offset: added to the width and the height of boxes and intersections: 0, or 1 for boxes whose corners
            are their first and their last pixel.
        max_output: gives the first `max_output` (at least 0) of the kept places, filled up with -1, and their
            number as a tensor: of fixed size, without a synchronisation, so that a CUDA graph can hold it.
        dets: float `[N, 5]` tensor or array: x1, y1, x2, y2, score.
        iou_thr: as `iou_threshold`.
        device_id: the CUDA device on which an array is computed; None for the CPU.

    Returns:
        Of `boxes` and `scores`: int64 `[K]`, by descending score; with `max_output`, `([max_output], [])`.
        Of `dets`: `(dets[K, 5], int64 [K])`. Arrays where the input is an array.

    Raises:
        TypeError: boxes are neither a tensor nor an array of real numbers.
        ValueError: a shape or device does not fit.

    Source:
        `torchvision.ops.nms`: the same decisions, box by box, as its CPU operator in float32 and float64.

    Example:
        >>> boxes = torch.tensor([[0.0, 0, 10, 10], [0, 0, 10, 9], [20, 20, 30, 30]])
        >>> nms(boxes, torch.tensor([0.5, 0.9, 0.3]), 0.5).tolist()
        [1, 2]
        >>> rows, places = nms(torch.cat((boxes, torch.tensor([[0.5], [0.9], [0.3]])), dim=1), 0.5)
        >>> places.tolist()
        [1, 2]
    """
    if dets is not None or iou_thr is not None or is_number(scores):
        given = boxes if dets is None else dets
        threshold = scores if iou_thr is None else iou_thr
        return _nms_dets(given, threshold, iou_threshold if device_id is None else device_id, offset)
    check_max_output("nms", max_output)
    kept, order = kept_boxes("nms", boxes, scores, None, iou_threshold, offset)
    if max_output is not None:
        return like(boxes, *at_most(kept, order, max_output))
    return like(boxes, chosen_places(order, kept))


def _nms_dets(dets: Any, iou_thr: float, device_id: int | None, offset: float) -> Any:
    rows = detection_rows("nms", dets)
    if device_id is not None and not isinstance(dets, Tensor):
        rows = rows.to(f"cuda:{device_id}")
    kept, order = kept_boxes("nms", rows[:, :4], rows[:, 4], None, iou_thr, offset)
    places = chosen_places(order, kept)
    return like(dets, rows[places], places)


def kept_boxes(
    op: str, boxes: Any, scores: Any, groups: Any, iou_threshold: float, offset: float
) -> tuple[Tensor, Tensor]:
    """Whether each box is kept, and its place in the input, by descending score."""
    computed = box_tensor(op, "boxes", boxes, 4)
    of_boxes = vector(op, "scores", scores, computed)

    def keepers_of(ranked: Tensor, groups: Tensor | None) -> Tensor:
        return nms_keepers(ranked, groups, iou_threshold, offset)

    return keep_greedily(keepers_of, computed, of_boxes, group_numbers(op, "idxs", groups, computed))


def nms_keepers(ranked: Tensor, groups: Tensor | None, iou_threshold: float, offset: float) -> Tensor:
    """For each of the boxes, best first within a group, the place of the one that it falls to, or its own."""
    keepers: Tensor = torch.ops.orbbec.nms_keepers(ranked, groups, float(iou_threshold), float(offset))
    return keepers


@register_fake("nms_keepers", boxes=2)
def _(boxes: Tensor, groups: Tensor | None, iou_threshold: float, offset: float) -> Tensor:
    return boxes.new_empty((boxes.shape[0],), dtype=torch.int64)
