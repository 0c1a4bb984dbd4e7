"""Published augmentation pipelines, each a function of a few lines with the source of its numbers.

A recipe returns a `Compose` or, for several views, a `MultiView`. Copy its lines to change them.
"""

from orbbec.recipes.classification import (
    clip_train,
    deit3,
    imagenet_eval,
    imagenet_train,
    mae,
    timm_train,
)
from orbbec.recipes.clips import kinetics
from orbbec.recipes.dense import depth, segmentation
from orbbec.recipes.detection import (
    coco_keypoints,
    detr_train,
    lsj,
    lsj_copy_paste,
    ssd_train,
    yolo_train,
    yolo_val,
)
from orbbec.recipes.robots import drq_shift, face_recognition, lerobot
from orbbec.recipes.text import ocr_line
from orbbec.recipes.views import dino_v2, simclr

__all__ = [
    "clip_train",
    "coco_keypoints",
    "deit3",
    "depth",
    "detr_train",
    "dino_v2",
    "drq_shift",
    "face_recognition",
    "imagenet_eval",
    "imagenet_train",
    "kinetics",
    "lerobot",
    "lsj",
    "lsj_copy_paste",
    "mae",
    "ocr_line",
    "segmentation",
    "simclr",
    "ssd_train",
    "timm_train",
    "yolo_train",
    "yolo_val",
]
