"""Non-maximum suppression of boxes: over all boxes, within groups, and matching."""

from orbbec.nms.batched_nms import batched_nms
from orbbec.nms.nms import nms
from orbbec.nms.nms_match import nms_match

__all__ = ["batched_nms", "nms", "nms_match"]
