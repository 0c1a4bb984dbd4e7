"""Non-maximum suppression within groups: classes, or images."""

from collections.abc import Mapping
from typing import Any, overload

import torch
from torch import Tensor

from orbbec._library import operators
from orbbec.bridge.arguments import flag_value
from orbbec.bridge.fakes import register_fake
from orbbec.nms.detections import (
    Boxes,
    at_most,
    best_first,
    box_tensor,
    check_max_output,
    chosen_indices,
    group_numbers,
    like,
    real_tensor,
    select_indices,
    stable_argsort,
    vector,
)
from orbbec.nms.nms import keep_mask

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
    boxes: Boxes, scores: Boxes, idxs: Boxes, iou_threshold: float, *, max_output: int
) -> tuple[Any, Any]: ...
@overload
def batched_nms(
    boxes: Boxes, scores: Boxes, idxs: Boxes, nms_cfg: Mapping[str, Any], class_agnostic: bool = False
) -> tuple[Any, Any]: ...
@overload
def batched_nms(
    boxes: Boxes,
    scores: Boxes,
    idxs: Boxes,
    nms_cfg: Mapping[str, Any],
    class_agnostic: bool = False,
    *,
    max_output: int,
) -> tuple[Any, Any, Any]: ...


def batched_nms(  # type: ignore[misc]  # the forms name their fourth argument differently
    boxes: Any,
    scores: Any,
    idxs: Any,
    iou_threshold: Any = None,
    class_agnostic: bool = False,
    *,
    nms_cfg: Mapping[str, Any] | None = None,
    max_output: int | None = None,
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
        idxs: whole numbers `[N]`, integers or floats: the group of each box, on the device of `boxes`. Floats
            are checked, which synchronizes, and are refused under `torch.compile`.
        iou_threshold: see `nms`.
        class_agnostic: treat all boxes as one group.
        nms_cfg: `iou_threshold` or `iou_thr`; `offset`; `score_threshold`, which kept scores must exceed;
            `max_num`, the largest number kept, -1 for all; `class_agnostic`; `type`: "nms", or "soft_nms"
            with its `method`, `sigma` and `min_score`; `split_thr`, which is ignored.
        max_output: return the first `max_output` (at least 0) boxes, padded with zeros and indices of -1, and
            their number as a tensor: fixed size and no synchronization, for CUDA graphs.

    Returns:
        int64 `[K]`, by descending score over all groups; with `nms_cfg`: `(rows [K, 5], int64 [K])`. With
        `max_output`: `([max_output], [])` or `([max_output, 5], [max_output], [])`. Arrays if `boxes` is an
        array.

    Raises:
        TypeError: see `nms`.
        ValueError: a shape or device is invalid, a group is not a whole number, or an entry of `nms_cfg` is
            unknown.

    Source:
        `torchvision.ops.batched_nms`, `mmcv.ops.batched_nms`, without the offset of coordinates.

    Example:
        >>> boxes = torch.tensor([[0.0, 0, 10, 10], [0, 0, 10, 9], [0, 0, 10, 10]])
        >>> batched_nms(boxes, torch.tensor([0.5, 0.9, 0.3]), torch.tensor([0, 0, 1]), 0.5).tolist()
        [1, 2]
    """
    check_max_output("batched_nms", max_output)
    config = iou_threshold if nms_cfg is None else nms_cfg
    class_agnostic = flag_value("batched_nms", "class_agnostic", class_agnostic)
    if not isinstance(config, Mapping):
        groups = None if class_agnostic else idxs
        keep, order = keep_mask("batched_nms", boxes, scores, groups, config, 0)
        return like(boxes, *chosen_indices("batched_nms", keep, order, max_output))
    options = _options(config)
    groups = None if class_agnostic or options["class_agnostic"] else idxs
    table = real_tensor("batched_nms", "boxes", boxes)
    if options["type"] == "soft_nms":
        keep, order, ranks = _softly(boxes, scores, groups, options)
    else:
        keep, order = keep_mask(
            "batched_nms", boxes, scores, groups, options["iou_threshold"], options["offset"]
        )
        ranks = vector("batched_nms", "scores", scores, table)[order]
    if options["score_threshold"] is not None:
        keep = keep & (ranks > options["score_threshold"])
    if options["max_num"] >= 0:
        keep = keep & (keep.cumsum(0) <= options["max_num"])
    positions = torch.arange(len(table), device=table.device)
    rows = torch.cat((table[order], ranks[:, None].to(table.dtype)), dim=1)
    if max_output is None:
        chosen = select_indices("batched_nms", positions, keep)
        return like(boxes, rows[chosen], order[chosen])
    first, count = at_most(keep, positions, max_output)
    # The last row is what padding selects.
    padded = torch.cat((rows, rows.new_zeros(1, 5))), torch.cat((order, order.new_full((1,), -1)))
    return like(boxes, *(values[first] for values in padded), count)


def _softly(boxes: Any, scores: Any, idxs: Any, options: Mapping[str, Any]) -> tuple[Tensor, Tensor, Tensor]:
    """Soft suppression within groups, best first: whether a place is taken, by which box, its new score."""
    computed = box_tensor("batched_nms", "boxes", boxes, 4)
    ranks = vector("batched_nms", "scores", scores, computed).to(computed.dtype)
    groups = group_numbers("batched_nms", "idxs", idxs, computed)
    settings = [float(options[name]) for name in ("iou_threshold", "sigma", "min_score", "offset")]
    if groups is None:
        groups = torch.zeros(len(computed), dtype=torch.int64, device=computed.device)
    by_group = stable_argsort("batched_nms", groups)
    members = (values.index_select(0, by_group) for values in (computed, ranks, groups))
    taken, lowered = operators.grouped_soft_nms(*members, options["method"], *settings)
    order = best_first("batched_nms", lowered)
    taken = taken[order]
    indices = taken.clamp(min=0)
    return taken >= 0, by_group[indices], lowered[order]


@register_fake("grouped_soft_nms", boxes=2)
def _(boxes: Tensor, *_: object) -> tuple[Tensor, Tensor]:
    return boxes.new_empty((boxes.shape[0],), dtype=torch.int64), boxes.new_empty((boxes.shape[0],))


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
