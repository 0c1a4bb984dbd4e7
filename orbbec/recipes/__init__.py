"""Published augmentation pipelines, each a function of a few lines with the source of its numbers.

A recipe returns a `Compose` or, for several views, a `MultiView`. Copy its lines to change them.
"""

from orbbec.recipes.classification import clip_train, deit3, imagenet_eval, imagenet_train, mae
from orbbec.recipes.dense import depth, segmentation
from orbbec.recipes.detection import (
    coco_keypoints,
    lsj,
    lsj_copy_paste,
    ssd_train,
    yolo_train,
    yolo_val,
)
from orbbec.recipes.robots import drq_shift, face_recognition, lerobot
from orbbec.recipes.views import dino_v2, simclr

__all__ = [
    "clip_train",
    "coco_keypoints",
    "deit3",
    "depth",
    "dino_v2",
    "drq_shift",
    "face_recognition",
    "imagenet_eval",
    "imagenet_train",
    "lerobot",
    "lsj",
    "lsj_copy_paste",
    "mae",
    "segmentation",
    "simclr",
    "ssd_train",
    "yolo_train",
    "yolo_val",
]
