"""Non-maximum suppression of boxes: of all, of groups, and who fell to whom."""

from orbbec.nms.batched_nms import batched_nms
from orbbec.nms.nms import nms
from orbbec.nms.nms_match import nms_match

__all__ = ["batched_nms", "nms", "nms_match"]
