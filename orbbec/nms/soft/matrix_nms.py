"""Matrix non-maximum suppression."""

from typing import Any

import torch
from torch import Tensor

from orbbec._library import operators
from orbbec.bridge.arguments import name_value, number_value
from orbbec.bridge.fakes import register_fake
from orbbec.nms.detections import Boxes, best_first, box_tensor, group_numbers, like, real_tensor, vector


def matrix_nms(
    boxes: Boxes,
    scores: Boxes,
    labels: Boxes | None = None,
    *,
    method: str = "gaussian",
    sigma: float = 2.0,
    score_threshold: float | None = None,
) -> tuple[Any, Any]:
    """Lower the scores of overlapping boxes, all at once.

    Boxes are in descending order of scores. `iou[i, j]` is the overlap of boxes i and j of one label, and
    `own[i]` the largest `iou[k, i]` over `k < i`. The score of box j is multiplied by the minimum of 1 and
    the following factor over all `i < j`, depending on `method`:

    - "linear": `(1 - iou[i, j]) / (1 - own[i])`;
    - "gaussian": `exp(sigma * (own[i]**2 - iou[i, j]**2))`.

    No `N * N` memory is needed. Boxes without intersection do not affect each other; neither do invalid
    boxes, with zero area, x2 < x1, y2 < y1, a NaN or an infinite area. Ties keep their order; NaN scores rank
    first.

    Args:
        boxes: float `[N, 4]` tensor or array: x1, y1, x2, y2 in any unit. float16 and bfloat16 are computed
            in float32. On the CPU or a CUDA device.
        scores: float `[N]`, on the device of `boxes`.
        labels: whole numbers `[N]`, as `idxs` of `batched_nms`, on the device of `boxes`; only boxes of one
            label affect each other. None: one label.
        method: "gaussian" or "linear".
        sigma: parameter of "gaussian", above 0.
        score_threshold: drops boxes with a lower final score; synchronizes on CUDA. None keeps all.

    Returns:
        `(dets [K, 5], int64 [K])`: the boxes with their final scores, in descending order of these, and their
        indices in the input. Arrays if the input is an array. Without gradients.

    Raises:
        TypeError: boxes or scores are not a tensor or array of floats.
        ValueError: a shape, device, name or number is invalid.

    Source:
        Wang et al., SOLOv2, and `mask_matrix_nms` of mmdetection, with boxes instead of masks. An `own` of 1
        has no effect, whereas mmdetection divides 0 by 0.

    Example:
        >>> boxes = torch.tensor([[0.0, 0, 10, 10], [0, 0, 10, 5], [20, 20, 30, 30]])
        >>> rows, indices = matrix_nms(boxes, torch.tensor([0.9, 0.8, 0.7]), method="linear")
        >>> indices.tolist(), [round(score, 2) for score in rows[:, 4].tolist()]
        ([0, 2, 1], [0.9, 0.7, 0.4])
    """
    computed = box_tensor("matrix_nms", "boxes", boxes, 4)
    values = vector("matrix_nms", "scores", scores, computed).to(computed.dtype)
    order = best_first("matrix_nms", values)
    ranked = computed[order]
    groups = group_numbers("matrix_nms", "labels", labels, computed)
    decays = operators.matrix_nms_decays(
        ranked,
        None if groups is None else groups[order],
        name_value("matrix_nms", "method", method),
        number_value("matrix_nms", "sigma", sigma),
    )
    lowered = values[order] * decays
    again = best_first("matrix_nms", lowered)
    rows, indices = torch.cat((ranked, lowered[:, None]), 1)[again], order[again]
    if score_threshold is not None:
        keep = rows[:, 4] >= number_value("matrix_nms", "score_threshold", score_threshold)
        rows, indices = rows[keep], indices[keep]
    dtype = real_tensor("matrix_nms", "boxes", boxes).dtype
    return like(boxes, rows.to(dtype), indices)  # type: ignore[no-any-return]


@register_fake("matrix_nms_decays", boxes=2)
def _(boxes: Tensor, labels: Tensor | None, method: str, sigma: float) -> Tensor:
    return boxes.new_empty((boxes.shape[0],))
