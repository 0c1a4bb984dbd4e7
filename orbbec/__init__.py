"""Image augmentation operators for PyTorch with OpenCV's results, bit-identical on CPU and CUDA.

Where a function and a folder share a name, the name is the function, here and in the folders below:
``orbbec.nms(...)``. An import reaches the folder all the same: ``from orbbec.nms import soft_nms``.
"""

from orbbec._library import default_arithmetic, load_library, set_default_arithmetic

load_library()

from orbbec import transforms
from orbbec.augment import augment
from orbbec.batch import ClipBatch, ImageBatch, YCbCrBatch
from orbbec.bridge.buffer_pool import keep_free_memory
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
    ycbcr_to_rgb,
)
from orbbec.filters import (
    box_blur,
    filter2d,
    gaussian_blur,
    median_blur,
    motion_blur,
    pillow_blur,
    sharpen,
)
from orbbec.jpeg import jpeg_compression
from orbbec.matrices import (
    get_affine_matrix,
    get_perspective_matrix,
    get_rotation_matrix,
    get_similarity_matrix,
    invert_affine,
    invert_perspective,
)
from orbbec.mix import copy_paste, cutmix, erase, mixup, mosaic, mosaic_offsets
from orbbec.nms import (
    batched_nms,
    box_area,
    box_convert,
    box_iou,
    box_iou_rotated,
    clip_boxes_to_image,
    complete_box_iou,
    distance_box_iou,
    generalized_box_iou,
    masks_to_boxes,
    matrix_nms,
    nms,
    nms_match,
    nms_rotated,
    remove_small_boxes,
    soft_nms,
)
from orbbec.noise import gaussian_noise, salt_and_pepper, shot_noise
from orbbec.resize import resize, resized_crop
from orbbec.roi_align import RoIAlign, RoIAlignRotated, RoIPool, roi_align, roi_align_rotated, roi_pool
from orbbec.transforms import Compose
from orbbec.transforms.loops import on_device
from orbbec.warpaffine import (
    affine_torch,
    elastic_displacement,
    elastic_transform,
    remap,
    warp_affine,
    warp_perspective,
)

__version__ = "0.1.0"

__all__ = [
    "ChannelStatistics",
    "ClipBatch",
    "Compose",
    "ImageBatch",
    "RoIAlign",
    "RoIAlignRotated",
    "RoIPool",
    "YCbCrBatch",
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
    "on_device",
    "pillow_blur",
    "posterize",
    "profile",
    "remap",
    "remove_small_boxes",
    "resize",
    "resized_crop",
    "roi_align",
    "roi_align_rotated",
    "roi_pool",
    "salt_and_pepper",
    "set_default_arithmetic",
    "sharpen",
    "shot_noise",
    "soft_nms",
    "solarize",
    "to_float",
    "transforms",
    "warp_affine",
    "warp_perspective",
    "ycbcr_to_rgb",
]
