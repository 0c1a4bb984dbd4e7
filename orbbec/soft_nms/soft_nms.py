"""Soft non-maximum suppression: one box after the other lowers the scores of those it overlaps."""

from typing import Any, overload

import torch
from torch import Tensor

from orbbec.binding.arguments import name_value
from orbbec.binding.detections import Boxes, box_tensor, detection_rows, is_number, like, real_tensor, vector
from orbbec.binding.fakes import register_fake


@overload
def soft_nms(
    boxes: Boxes,
    scores: Boxes,
    iou_threshold: float = 0.3,
    sigma: float = 0.5,
    min_score: float = 1e-3,
    method: str = "linear",
    offset: float = 0,
) -> tuple[Any, Any]: ...
@overload
def soft_nms(
    boxes: Boxes,
    scores: Boxes,
    iou_threshold: float = 0.3,
    sigma: float = 0.5,
    min_score: float = 1e-3,
    method: str = "linear",
    offset: float = 0,
    *,
    max_output: int,
) -> tuple[Any, Any, Any]: ...
@overload
def soft_nms(
    dets: Boxes,
    iou_thr: float,
    method: str = "linear",
    sigma: float = 0.5,
    min_score: float = 1e-3,
    *,
    offset: float = 0,
) -> tuple[Any, Any]: ...


def soft_nms(  # type: ignore[misc]  # the third argument is of both forms
    boxes: Any = None,
    scores: Any = None,
    iou_threshold: Any = 0.3,
    sigma: float = 0.5,
    min_score: float = 1e-3,
    method: str = "linear",
    offset: float = 0,
    *,
    max_output: int | None = None,
    dets: Any = None,
    iou_thr: float | None = None,
) -> Any:
    """Lower the scores of boxes that overlap better ones; two forms, told apart by the second argument.

    Takes the box of the highest score, multiplies the scores of all others by a weight of their intersection
    over union with it, drops those below `min_score`, and goes on with what is left. The weight is, by
    `method`:

    - "naive": 0 from `iou_threshold` on, else 1;
    - "linear": `1 - iou` from `iou_threshold` on, else 1;
    - "gaussian": `exp(-iou**2 / sigma)`.

    `soft_nms(boxes, scores, iou_threshold, ...)` is mmcv's form; `soft_nms(dets, iou_thr, method, ...)` the
    older one of mmdetection, with boxes and scores in one.

    The best box always stays, even below `min_score`. Of equal scores the first in the input is taken first,
    on every device. Boxes that share no area have weight 1; so has what is no ordinary box: one without area,
    with x2 < x1 or y2 < y1, with a NaN, or with an infinite area. A score that is NaN or -inf is dropped.

    Args:
        boxes: float `[N, 4]` tensor or array: x1, y1, x2, y2 in any unit. float16 and bfloat16 are computed
            in float32. On the CPU or a CUDA device.
        scores: float `[N]`, on the device of `boxes`.
        iou_threshold: from which intersection over union on a score is lowered; not used by "gaussian".
        sigma: of "gaussian", above 0.
        min_score: boxes whose score falls below it are dropped.
        method: "naive", "linear" or "gaussian".
        offset: added to the width and the height of boxes and intersections: 0, or 1 for boxes whose corners
            are their first and their last pixel.
        max_output: gives the first `max_output` boxes, filled up with zeros and places of -1, and their
            number as a tensor: of fixed size, without a synchronisation, so that a CUDA graph can hold it.
        dets: float `[N, 5]` tensor or array: x1, y1, x2, y2, score.
        iou_thr: as `iou_threshold`.

    Returns:
        `(dets [K, 5], int64 [K])`: the boxes with their lowered scores in the order in which they were taken,
        and their places in the input; with `max_output`, `([max_output, 5], [max_output], [])`. Arrays where
        the input is an array. Without gradients.

    Raises:
        TypeError: boxes or scores are neither a tensor nor an array of floats.
        ValueError: a shape, device, name or number does not fit.

    Source:
        `mmcv.ops.soft_nms`, but for the order of equal scores. The intersection over union has torchvision's
        bits; the exponential is within 0.83 ulp, the same on every device.

    Example:
        >>> boxes = torch.tensor([[0.0, 0, 10, 10], [0, 0, 10, 5], [20, 20, 30, 30]])
        >>> rows, places = soft_nms(boxes, torch.tensor([0.9, 0.8, 0.7]), 0.3)
        >>> places.tolist(), [round(score, 2) for score in rows[:, 4].tolist()]
        ([0, 2, 1], [0.9, 0.7, 0.4])
        >>> dets = torch.cat((boxes, torch.tensor([[0.9], [0.8], [0.7]])), 1)
        >>> soft_nms(dets, 0.3, "naive")[1].tolist()
        [0, 2]
    """
    if dets is not None or iou_thr is not None or is_number(scores):
        given = boxes if dets is None else dets
        rows = detection_rows("soft_nms", given)
        threshold = scores if iou_thr is None else iou_thr
        method = iou_threshold if isinstance(iou_threshold, str) else method
        corners, ranks = rows[:, :4], rows[:, 4]
    else:
        given, corners, ranks, threshold = boxes, boxes, scores, iou_threshold
    taken = _taken(corners, ranks, threshold, sigma, min_score, method, offset, max_output)
    return like(given, *taken)


def _taken(
    boxes: Any,
    scores: Any,
    iou_threshold: float,
    sigma: float,
    min_score: float,
    method: str,
    offset: float,
    max_output: int | None,
) -> tuple[Tensor, ...]:
    computed = box_tensor("soft_nms", "boxes", boxes, 4)
    ranks = vector("soft_nms", "scores", scores, computed)
    places, lowered, count = torch.ops.orbbec.soft_nms(
        computed,
        ranks.to(computed.dtype),
        name_value("soft_nms", "method", method),
        float(iou_threshold),
        float(sigma),
        float(min_score),
        float(offset),
        computed.shape[0] if max_output is None else max_output,
    )
    dtype = real_tensor("soft_nms", "boxes", boxes).dtype
    if max_output is None:
        places, lowered = places[:count], lowered[:count]
        return torch.cat((computed[places], lowered[:, None]), 1).to(dtype), places
    chosen = computed[places.clamp(min=0)] if len(computed) else computed.new_zeros(max_output, 4)
    rows = torch.cat((torch.where(places[:, None] >= 0, chosen, 0.0), lowered[:, None]), 1)
    return rows.to(dtype), places, count


@register_fake("soft_nms", boxes=2)
def _(
    boxes: Tensor,
    scores: Tensor,
    method: str,
    iou_threshold: float,
    sigma: float,
    min_score: float,
    offset: float,
    max_output: int,
) -> tuple[Tensor, Tensor, Tensor]:
    places = boxes.new_empty((max_output,), dtype=torch.int64)
    return places, boxes.new_empty((max_output,)), boxes.new_empty((), dtype=torch.int64)
