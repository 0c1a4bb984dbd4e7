"""Soft non-maximum suppression."""

from typing import Any, overload

import torch
from torch import Tensor

from orbbec._library import operators
from orbbec.bridge.arguments import name_value, number_value, whole_value
from orbbec.bridge.fakes import register_fake
from orbbec.nms.detections import Boxes, box_tensor, detection_rows, is_number, like, real_tensor, vector


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
    """Soft non-maximum suppression; two signatures, distinguished by the second argument.

    Takes the box with the highest score, multiplies the scores of all others by a weight that depends on
    their intersection over union with it, drops boxes below `min_score`, and repeats with the remaining
    boxes. The weight depends on `method`:

    - "naive": 0 if `iou >= iou_threshold`, otherwise 1;
    - "linear": `1 - iou` if `iou >= iou_threshold`, otherwise 1;
    - "gaussian": `exp(-iou**2 / sigma)`.

    `soft_nms(boxes, scores, iou_threshold, ...)` is mmcv's signature; `soft_nms(dets, iou_thr, method, ...)`
    is the older one of mmdetection, with boxes and scores in one tensor.

    The best box is always kept, even below `min_score`. Ties are broken by input order, on every device.
    Boxes without intersection have weight 1, as have invalid boxes, with zero area, x2 < x1, y2 < y1, a NaN
    or an infinite area. NaN and -inf scores are dropped.

    Args:
        boxes: float `[N, 4]` tensor or array: x1, y1, x2, y2 in any unit. float16 and bfloat16 are computed
            in float32. On the CPU or a CUDA device.
        scores: float `[N]`, on the device of `boxes`.
        iou_threshold: intersection over union from which scores are lowered; unused by "gaussian".
        sigma: parameter of "gaussian", above 0.
        min_score: boxes with a lower score are dropped.
        method: "naive", "linear" or "gaussian".
        offset: added to the width and height of boxes and intersections: 0, or 1 for boxes with inclusive
            pixel corners.
        max_output: return the first `max_output` boxes, padded with zeros and indices of -1, and their number
            as a tensor: fixed size and no synchronization, for CUDA graphs.
        dets: float `[N, 5]` tensor or array: x1, y1, x2, y2, score.
        iou_thr: see `iou_threshold`.

    Returns:
        `(dets [K, 5], int64 [K])`: the boxes with their final scores in the order of selection, and their
        indices in the input; with `max_output`, `([max_output, 5], [max_output], [])`. Arrays if the input is
        an array. Without gradients.

    Raises:
        TypeError: boxes or scores are not a tensor or array of floats.
        ValueError: a shape, device, name or number is invalid.

    Source:
        `mmcv.ops.soft_nms`, except for the order of ties. The intersection over union is identical to
        torchvision's; the exponential is within 0.83 ulp and identical on every device.

    Example:
        >>> boxes = torch.tensor([[0.0, 0, 10, 10], [0, 0, 10, 5], [20, 20, 30, 30]])
        >>> rows, indices = soft_nms(boxes, torch.tensor([0.9, 0.8, 0.7]), 0.3)
        >>> indices.tolist(), [round(score, 2) for score in rows[:, 4].tolist()]
        ([0, 2, 1], [0.9, 0.7, 0.4])
        >>> dets = torch.cat((boxes, torch.tensor([[0.9], [0.8], [0.7]])), 1)
        >>> soft_nms(dets, 0.3, "naive")[1].tolist()
        [0, 2]
    """
    if dets is not None or iou_thr is not None or is_number(scores):
        boxes = boxes if dets is None else dets
        rows = detection_rows("soft_nms", boxes)
        threshold = scores if iou_thr is None else iou_thr
        method = iou_threshold if isinstance(iou_threshold, str) else method
        corners, ranks = rows[:, :4], rows[:, 4]
    else:
        corners, ranks, threshold = boxes, scores, iou_threshold
    taken = _taken(corners, ranks, threshold, sigma, min_score, method, offset, max_output)
    return like(boxes, *taken)


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
    options = {"iou_threshold": iou_threshold, "sigma": sigma, "min_score": min_score, "offset": offset}
    numbers = [number_value("soft_nms", name, value) for name, value in options.items()]
    indices, lowered, count = operators.soft_nms(
        computed,
        ranks.to(computed.dtype),
        name_value("soft_nms", "method", method),
        *numbers,
        computed.shape[0] if max_output is None else whole_value("soft_nms", "max_output", max_output),
    )
    dtype = real_tensor("soft_nms", "boxes", boxes).dtype
    if max_output is None:
        indices, lowered = indices[:count], lowered[:count]
        return torch.cat((computed[indices], lowered[:, None]), 1).to(dtype), indices
    chosen = computed[indices.clamp(min=0)] if len(computed) else computed.new_zeros(max_output, 4)
    rows = torch.cat((torch.where(indices[:, None] >= 0, chosen, 0.0), lowered[:, None]), 1)
    return rows.to(dtype), indices, count


@register_fake("soft_nms", boxes=2)
def _(boxes: Tensor, *options: Any) -> tuple[Tensor, Tensor, Tensor]:
    max_output = options[-1]
    indices = boxes.new_empty((max_output,), dtype=torch.int64)
    return indices, boxes.new_empty((max_output,)), boxes.new_empty((), dtype=torch.int64)
