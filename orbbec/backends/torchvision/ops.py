"""torchvision's detection operators, pointed at ours."""

from __future__ import annotations

import sys
from typing import Any

from torch import Tensor

from orbbec.backends.torchvision.patches import REFUSALS, is_recorded, is_stand_in, stand_in
from orbbec.nms import batched_nms, nms
from orbbec.roi_align import roi_align
from orbbec.roi_pool import roi_pool
from orbbec.transforms.optional import optional


class OpsInUse:
    """torchvision's operators while they are ours: `undo()`, or the end of `with`, puts them back."""

    def __init__(self, pairs: list[tuple[Any, Any]]) -> None:
        self._pairs = pairs  # torchvision's, ours

    def undo(self) -> None:
        """Put torchvision's own operators back; a second time does nothing."""
        for original, ours in self._pairs:
            _swap(ours, original)
        self._pairs = []

    def __enter__(self) -> OpsInUse:
        return self

    def __exit__(self, *_: object) -> None:
        self.undo()


def use_ops() -> OpsInUse:
    """Point `torchvision.ops` `nms`, `batched_nms`, `roi_align` and `roi_pool` at orbbec's.

    They are replaced in every module of torchvision that holds them, so that its detectors use them too. Your
    own modules keep what they took by `from torchvision.ops import nms` before. What orbbec refuses, and what
    is traced, compiled or exported, is torchvision's own.

    Returns:
        What undoes it, by `undo()` or as a context manager.

    Raises:
        ImportError: torchvision is not installed.
    """
    ops = optional("use_ops", "torchvision.ops")
    found = {name: getattr(ops, name) for name in OURS}
    pairs = [(each, _taken_over(each, OURS[name])) for name, each in found.items() if not is_stand_in(each)]
    for original, ours in pairs:
        _swap(original, ours)
    return OpsInUse(pairs)


def _taken_over(original: Any, ours: Any) -> Any:
    """Ours; torchvision's where ours refuses, and in graphs that others are to run."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if is_recorded():
            return original(*args, **kwargs)
        try:
            return ours(*args, **kwargs)
        except REFUSALS:
            return original(*args, **kwargs)

    return stand_in(call, original)


def _swap(before: Any, after: Any) -> None:
    """Replace an object in every module of torchvision that holds it."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "torchvision":
            for key in [key for key, value in vars(module).items() if value is before]:
                setattr(module, key, after)


def _nms(boxes: Tensor, scores: Tensor, iou_threshold: float) -> Any:
    return nms(boxes, scores, iou_threshold)


def _batched_nms(boxes: Tensor, scores: Tensor, idxs: Tensor, iou_threshold: float) -> Any:
    return batched_nms(boxes, scores, idxs, iou_threshold)


def _roi_align(
    input: Tensor,
    boxes: Any,
    output_size: Any,
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
    aligned: bool = False,
) -> Tensor:
    return roi_align(input, boxes, output_size, spatial_scale, sampling_ratio, aligned)


def _roi_pool(input: Tensor, boxes: Any, output_size: Any, spatial_scale: float = 1.0) -> Tensor:
    return roi_pool(input, boxes, output_size, spatial_scale)


OURS: dict[str, Any] = {
    "nms": _nms,
    "batched_nms": _batched_nms,
    "roi_align": _roi_align,
    "roi_pool": _roi_pool,
}
