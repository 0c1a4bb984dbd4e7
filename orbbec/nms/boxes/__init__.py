"""Boxes: overlaps, formats, areas and clipping."""

from orbbec.nms.boxes.boxes import box_area, clip_boxes_to_image, masks_to_boxes, remove_small_boxes
from orbbec.nms.boxes.formats import box_convert
from orbbec.nms.boxes.overlaps import box_iou, complete_box_iou, distance_box_iou, generalized_box_iou
from orbbec.nms.boxes.rotated import box_iou_rotated

__all__ = [
    "box_area",
    "box_convert",
    "box_iou",
    "box_iou_rotated",
    "clip_boxes_to_image",
    "complete_box_iou",
    "distance_box_iou",
    "generalized_box_iou",
    "masks_to_boxes",
    "remove_small_boxes",
]
