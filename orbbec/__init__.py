"""Image augmentation operators for PyTorch with OpenCV's results, bit-identical on CPU and CUDA."""

from orbbec._library import default_arithmetic, load_library, set_default_arithmetic

load_library()

from orbbec import transforms
from orbbec.augment import augment
from orbbec.batch import ImageBatch, PlaneBatch
from orbbec.binding.recycle import keep_free_memory
from orbbec.blur import box_blur, filter2d, gaussian_blur, median_blur, motion_blur, sharpen
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
from orbbec.cli.profile import profile
from orbbec.color import (
    ChannelStatistics,
    adjust_brightness,
    adjust_contrast,
    adjust_gamma,
    adjust_hue,
    adjust_saturation,
    adjust_sharpness,
    autocontrast,
    channel_statistics,
    clahe,
    cvt_color,
    equalize,
    equalize_hist,
    invert,
    lut,
    normalize,
    posterize,
    solarize,
    to_float,
)
from orbbec.elastic import elastic_displacement, elastic_transform
from orbbec.erase import erase
from orbbec.jpeg import jpeg_compression
from orbbec.matrices import (
    get_affine_matrix,
    get_perspective_matrix,
    get_rotation_matrix,
    get_similarity_matrix,
    invert_affine,
    invert_perspective,
)
from orbbec.mix import copy_paste, cutmix, mixup, mosaic, mosaic_offsets
from orbbec.nms import batched_nms, nms, nms_match
from orbbec.nms_rotated import nms_rotated
from orbbec.noise import gaussian_noise
from orbbec.remap import remap
from orbbec.resize import resize, resized_crop
from orbbec.roi_align import RoIAlign, roi_align
from orbbec.roi_align_rotated import RoIAlignRotated, roi_align_rotated
from orbbec.roi_pool import RoIPool, roi_pool
from orbbec.soft_nms import matrix_nms, soft_nms
from orbbec.transforms import Compose
from orbbec.warpaffine import affine_torch, warp_affine
from orbbec.warpperspective import warp_perspective
from orbbec.ycbcr import ycbcr_to_rgb

__version__ = "0.1.0"

__all__ = [
    "ChannelStatistics",
    "Compose",
    "ImageBatch",
    "PlaneBatch",
    "RoIAlign",
    "RoIAlignRotated",
    "RoIPool",
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_saturation",
    "adjust_sharpness",
    "affine_torch",
    "augment",
    "autocontrast",
    "batched_nms",
    "box_area",
    "box_blur",
    "box_convert",
    "box_iou",
    "box_iou_rotated",
    "channel_statistics",
    "clahe",
    "clip_boxes_to_image",
    "complete_box_iou",
    "copy_paste",
    "cutmix",
    "cvt_color",
    "default_arithmetic",
    "distance_box_iou",
    "elastic_displacement",
    "elastic_transform",
    "equalize",
    "equalize_hist",
    "erase",
    "filter2d",
    "gaussian_blur",
    "gaussian_noise",
    "generalized_box_iou",
    "get_affine_matrix",
    "get_perspective_matrix",
    "get_rotation_matrix",
    "get_similarity_matrix",
    "invert",
    "invert_affine",
    "invert_perspective",
    "jpeg_compression",
    "keep_free_memory",
    "lut",
    "masks_to_boxes",
    "matrix_nms",
    "median_blur",
    "mixup",
    "mosaic",
    "mosaic_offsets",
    "motion_blur",
    "nms",
    "nms_match",
    "nms_rotated",
    "normalize",
    "posterize",
    "profile",
    "remap",
    "remove_small_boxes",
    "resize",
    "resized_crop",
    "roi_align",
    "roi_align_rotated",
    "roi_pool",
    "set_default_arithmetic",
    "sharpen",
    "soft_nms",
    "solarize",
    "to_float",
    "transforms",
    "warp_affine",
    "warp_perspective",
    "ycbcr_to_rgb",
]
