"""Non-maximum suppression within groups: classes, or images."""

from collections.abc import Mapping
from typing import Any, overload

import torch
from torch import Tensor

from orbbec.nms.detections import (
    Boxes,
    best_first,
    box_tensor,
    group_numbers,
    like,
    real_tensor,
    select_indices,
    vector,
)
from orbbec.nms.nms import kept_boxes

# Entries of mmcv's nms_cfg and their defaults.
DEFAULTS: Mapping[str, Any] = {
    "type": "nms",
    "iou_threshold": None,
    "iou_thr": None,
    "offset": 0,
    "score_threshold": None,
    "max_num": -1,
    "class_agnostic": False,
    "split_thr": None,
    "method": "linear",
    "sigma": 0.5,
    "min_score": 1e-3,
}
TYPES = ("nms", "soft_nms")


@overload
def batched_nms(boxes: Boxes, scores: Boxes, idxs: Boxes, iou_threshold: float) -> Any: ...
@overload
def batched_nms(
    boxes: Boxes, scores: Boxes, idxs: Boxes, nms_cfg: Mapping[str, Any], class_agnostic: bool = False
) -> tuple[Any, Any]: ...


def batched_nms(  # type: ignore[misc]  # the forms name their fourth argument differently
    boxes: Any,
    scores: Any,
    idxs: Any,
    iou_threshold: Any = None,
    class_agnostic: bool = False,
    *,
    nms_cfg: Mapping[str, Any] | None = None,
) -> Any:
    """Non-maximum suppression within groups, such as classes or images; two signatures.

    Boxes of different groups are never compared. Coordinates are not offset to separate groups, so negative,
    huge and half-precision boxes are handled exactly.

    `batched_nms(boxes, scores, idxs, iou_threshold)`, as in torchvision, returns the indices of the kept
    boxes. `batched_nms(boxes, scores, idxs, nms_cfg, class_agnostic=False)`, as in mmcv, returns rows and
    indices.

    Args:
        boxes: see `nms`.
        scores: see `nms`.
        idxs: integer `[N]`: the group of each box, on the device of `boxes`.
        iou_threshold: see `nms`.
        class_agnostic: treat all boxes as one group.
        nms_cfg: `iou_threshold` or `iou_thr`; `offset`; `score_threshold`, which kept scores must exceed;
            `max_num`, the largest number kept, -1 for all; `class_agnostic`; `type`: "nms", or "soft_nms"
            with its `method`, `sigma` and `min_score`; `split_thr`, which is ignored.

    Returns:
        int64 `[K]`, by descending score over all groups; with `nms_cfg`: `(rows [K, 5], int64 [K])`. Arrays
        if `boxes` is an array.

    Raises:
        TypeError: see `nms`.
        ValueError: a shape or device is invalid, or an entry of `nms_cfg` is unknown.

    Source:
        `torchvision.ops.batched_nms`, `mmcv.ops.batched_nms`, without the offset of coordinates.

    Example:
        >>> boxes = torch.tensor([[0.0, 0, 10, 10], [0, 0, 10, 9], [0, 0, 10, 10]])
        >>> batched_nms(boxes, torch.tensor([0.5, 0.9, 0.3]), torch.tensor([0, 0, 1]), 0.5).tolist()
        [1, 2]
    """
    config = iou_threshold if nms_cfg is None else nms_cfg
    if not isinstance(config, Mapping):
        return like(boxes, _indices(boxes, scores, None if class_agnostic else idxs, config, 0))
    options = _options(config)
    groups = None if class_agnostic or options["class_agnostic"] else idxs
    table = real_tensor("batched_nms", "boxes", boxes)
    if options["type"] == "soft_nms":
        indices, ranks = _softly(boxes, scores, groups, options)
    else:
        indices = _indices(boxes, scores, groups, options["iou_threshold"], options["offset"])
        ranks = vector("batched_nms", "scores", scores, table)[indices]
    if options["score_threshold"] is not None:
        indices, ranks = (values[ranks > options["score_threshold"]] for values in (indices, ranks))
    if options["max_num"] >= 0:
        indices, ranks = indices[: options["max_num"]], ranks[: options["max_num"]]
    return like(boxes, torch.cat((table[indices], ranks[:, None].to(table.dtype)), dim=1), indices)


def _softly(boxes: Any, scores: Any, idxs: Any, options: Mapping[str, Any]) -> tuple[Tensor, Tensor]:
    """Soft suppression group by group: the remaining indices and their new scores, best first."""
    computed = box_tensor("batched_nms", "boxes", boxes, 4)
    ranks = vector("batched_nms", "scores", scores, computed).to(computed.dtype)
    groups = group_numbers("batched_nms", "idxs", idxs, computed)
    everything = torch.arange(len(computed), device=computed.device)
    members = (
        [everything] if groups is None else [everything[groups == group] for group in torch.unique(groups)]
    )
    settings = [float(options[name]) for name in ("iou_threshold", "sigma", "min_score", "offset")]
    indices, lowered = [everything[:0]], [ranks[:0]]
    for own in members:
        taken, left, count = torch.ops.orbbec.soft_nms(
            computed[own], ranks[own], options["method"], *settings, len(own)
        )
        indices.append(own[taken[:count]])
        lowered.append(left[:count])
    order = best_first(torch.cat(lowered))
    return torch.cat(indices)[order], torch.cat(lowered)[order]


def _indices(boxes: Any, scores: Any, idxs: Any, iou_threshold: float, offset: float) -> Tensor:
    kept, order = kept_boxes("batched_nms", boxes, scores, idxs, iou_threshold, offset)
    return select_indices(order, kept)


def _options(config: Mapping[str, Any]) -> dict[str, Any]:
    unknown = sorted(set(config) - set(DEFAULTS))
    if unknown:
        raise ValueError(f"batched_nms: expected nms_cfg of {', '.join(DEFAULTS)}, but got {unknown[0]}")
    options = {**DEFAULTS, **config}
    if options["type"] not in TYPES:
        raise ValueError(f"batched_nms: expected a type of {', '.join(TYPES)}, but got '{options['type']}'")
    if options["iou_threshold"] is None:
        options["iou_threshold"] = options["iou_thr"]
    if options["iou_threshold"] is None:
        raise ValueError("batched_nms: expected nms_cfg with iou_threshold")
    return options
