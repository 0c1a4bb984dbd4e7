"""Image augmentation operators for PyTorch: OpenCV's numbers, the same bits on the CPU and on CUDA."""

from orbbec._library import default_arithmetic, load_library, set_default_arithmetic

load_library()

from orbbec.batch import ImageBatch
from orbbec.boxes import (
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
from orbbec.matrices import (
    get_affine_matrix,
    get_perspective_matrix,
    get_rotation_matrix,
    get_similarity_matrix,
    invert_affine,
    invert_perspective,
)
from orbbec.nms import batched_nms, nms, nms_match
from orbbec.nms_rotated import nms_rotated
from orbbec.remap import remap
from orbbec.roi_align import RoIAlign, roi_align
from orbbec.roi_align_rotated import RoIAlignRotated, roi_align_rotated
from orbbec.roi_pool import RoIPool, roi_pool
from orbbec.soft_nms import matrix_nms, soft_nms
from orbbec.warpaffine import affine_torch, warp_affine
from orbbec.warpperspective import warp_perspective

__version__ = "0.1.0"

__all__ = [
    "ImageBatch",
    "RoIAlign",
    "RoIAlignRotated",
    "RoIPool",
    "affine_torch",
    "batched_nms",
    "box_area",
    "box_convert",
    "box_iou",
    "box_iou_rotated",
    "clip_boxes_to_image",
    "complete_box_iou",
    "default_arithmetic",
    "distance_box_iou",
    "generalized_box_iou",
    "get_affine_matrix",
    "get_perspective_matrix",
    "get_rotation_matrix",
    "get_similarity_matrix",
    "invert_affine",
    "invert_perspective",
    "masks_to_boxes",
    "matrix_nms",
    "nms",
    "nms_match",
    "nms_rotated",
    "remap",
    "remove_small_boxes",
    "roi_align",
    "roi_align_rotated",
    "roi_pool",
    "set_default_arithmetic",
    "soft_nms",
    "warp_affine",
    "warp_perspective",
]
