"""Matrix non-maximum suppression: all scores are lowered at once."""

from typing import Any

import torch
from torch import Tensor

from orbbec.binding.arguments import name_value
from orbbec.binding.detections import Boxes, best_first, box_tensor, like, real_tensor, vector
from orbbec.binding.fakes import register_fake


def matrix_nms(
    boxes: Boxes,
    scores: Boxes,
    labels: Boxes | None = None,
    *,
    method: str = "gaussian",
    sigma: float = 2.0,
    score_threshold: float | None = None,
) -> tuple[Any, Any]:
    """Lower the scores of boxes that overlap better ones, all at once.

    With the boxes in descending order of their scores, `iou[i, j]` of two of one label, and `own[i]`, the
    highest `iou[k, i]` of the boxes before `i`, the score of `j` is multiplied by the least over the boxes
    `i` before it, and 1, of, by `method`:

    - "linear": `(1 - iou[i, j]) / (1 - own[i])`;
    - "gaussian": `exp(sigma * (own[i]**2 - iou[i, j]**2))`.

    Needs no memory of `N * N`. Boxes that share no area do not lower each other; nor does what is no ordinary
    box: one without area, with x2 < x1 or y2 < y1, with a NaN, or with an infinite area. Equal scores keep
        their order, a
    NaN score ranks before all.

    Args:
        boxes: float `[N, 4]` tensor or array: x1, y1, x2, y2 in any unit. float16 and bfloat16 are computed
            in float32. On the CPU or a CUDA device.
        scores: float `[N]`, on the device of `boxes`.
        labels: integer `[N]`, on the device of `boxes`; only boxes of one label lower each other. None: all
            do.
        method: "gaussian" or "linear".
        sigma: of "gaussian", above 0.
        score_threshold: drops boxes whose lowered score is below; that costs a synchronisation on CUDA. None
            keeps all.

    Returns:
        `(dets [K, 5], int64 [K])`: the boxes with their lowered scores, in descending order of these, and
        their places in the input. Arrays where the input is an array. Without gradients.

    Raises:
        TypeError: boxes or scores are neither a tensor nor an array of floats.
        ValueError: a shape, device, name or number does not fit.

    Source:
        Wang et al., SOLOv2, and `mask_matrix_nms` of mmdetection, with boxes for masks. An `own` of 1 lowers
        nothing, where mmdetection divides 0 by 0.

    Example:
        >>> boxes = torch.tensor([[0.0, 0, 10, 10], [0, 0, 10, 5], [20, 20, 30, 30]])
        >>> rows, places = matrix_nms(boxes, torch.tensor([0.9, 0.8, 0.7]), method="linear")
        >>> places.tolist(), [round(score, 2) for score in rows[:, 4].tolist()]
        ([0, 2, 1], [0.9, 0.7, 0.4])
    """
    computed = box_tensor("matrix_nms", "boxes", boxes, 4)
    given = vector("matrix_nms", "scores", scores, computed).to(computed.dtype)
    order = best_first(given)
    ranked = computed[order]
    groups = None if labels is None else vector("matrix_nms", "labels", labels, computed).long()[order]
    decays = torch.ops.orbbec.matrix_nms_decays(
        ranked, groups, name_value("matrix_nms", "method", method), float(sigma)
    )
    lowered = given[order] * decays
    again = best_first(lowered)
    rows, places = torch.cat((ranked, lowered[:, None]), 1)[again], order[again]
    if score_threshold is not None:
        kept = rows[:, 4] >= score_threshold
        rows, places = rows[kept], places[kept]
    dtype = real_tensor("matrix_nms", "boxes", boxes).dtype
    return like(boxes, rows.to(dtype), places)  # type: ignore[no-any-return]


@register_fake("matrix_nms_decays", boxes=2)
def _(boxes: Tensor, labels: Tensor | None, method: str, sigma: float) -> Tensor:
    return boxes.new_empty((boxes.shape[0],))
