"""Replacement of torchvision's detection operators."""

from __future__ import annotations

import sys
from typing import Any

from torch import Tensor

from orbbec.backends.torchvision.patches import REFUSALS, is_recorded, is_stand_in, stand_in
from orbbec.nms import batched_nms, nms
from orbbec.roi_align import roi_align
from orbbec.roi_align.pool import roi_pool
from orbbec.transforms.base.optional import optional


class OpsInUse:
    """Replaced torchvision operators; `undo()` or the end of a `with` block restores them."""

    def __init__(self, pairs: list[tuple[Any, Any]]) -> None:
        self._pairs = pairs  # torchvision's, ours

    def undo(self) -> None:
        """Restore torchvision's operators; later calls do nothing."""
        for original, ours in self._pairs:
            _swap(ours, original)
        self._pairs = []

    def __enter__(self) -> OpsInUse:
        return self

    def __exit__(self, *_: object) -> None:
        self.undo()


def use_ops() -> OpsInUse:
    """Replace `nms`, `batched_nms`, `roi_align` and `roi_pool` of `torchvision.ops` by orbbec's.

    They are replaced in every torchvision module that refers to them, so that its detectors use them too.
    Names that your modules imported before, by `from torchvision.ops import nms`, are not replaced. Calls
    that orbbec refuses, and calls that are traced, compiled or exported, use torchvision's operators.

    Returns:
        An object that restores the operators, by `undo()` or as a context manager.

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
    """Orbbec's function; falls back to torchvision's if it refuses, and while a graph is recorded."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if is_recorded():
            return original(*args, **kwargs)
        try:
            return ours(*args, **kwargs)
        except REFUSALS:
            return original(*args, **kwargs)

    return stand_in(call, original)


def _swap(before: Any, after: Any) -> None:
    """Replace an object in every torchvision module that refers to it."""
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
