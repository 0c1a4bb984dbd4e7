"""Non-maximum suppression of boxes, and functions of boxes.

Begin with nms.py and nms.h. greedy.h has the decisions that `nms` and `nms_rotated` share, box.h and
rotated_box.h the overlap of two boxes. `soft` has soft_nms and matrix_nms, `rotated` rotated boxes, `boxes`
overlaps, formats and areas. detections.py checks the boxes and scores of all these operators.
"""

from orbbec.nms.batched_nms import batched_nms
from orbbec.nms.boxes import (
    box_area,
    box_convert,
    box_iou,
    box_iou_rotated,
    clip_boxes_to_image,
    complete_box_iou,
    distance_box_iou,
    generalized_box_iou,
    masks_to_boxes,
    remove_small_boxes,
)
from orbbec.nms.nms import nms
from orbbec.nms.nms_match import nms_match
from orbbec.nms.rotated import nms_rotated
from orbbec.nms.soft import matrix_nms, soft_nms

__all__ = [
    "batched_nms",
    "box_area",
    "box_convert",
    "box_iou",
    "box_iou_rotated",
    "clip_boxes_to_image",
    "complete_box_iou",
    "distance_box_iou",
    "generalized_box_iou",
    "masks_to_boxes",
    "matrix_nms",
    "nms",
    "nms_match",
    "nms_rotated",
    "remove_small_boxes",
    "soft_nms",
]
