"""W8: one photograph with five boxes per call, as a Dataset of a detector calls a transform; also with masks.

The images and the transforms are those of W7, and the images are checked. Boxes are clipped, and dropped if
nothing is left of them, with their labels and masks.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.ops.transforms import SIDE
from benchmarks.peers import w7_single
from benchmarks.peers.contest import Rival, Workload
from benchmarks.peers.w7_single import HEIGHT, WIDTH, one_by_one
from orbbec.bridge.arguments import Array
from orbbec.cli.bench_data import random_crop
from orbbec.transforms import Compose, ToImage
from tests.support.timing.by_hand import MEAN, STD, in_place, resized

BOXES = 5


@dataclass(frozen=True)
class Scene(w7_single.Scene):
    has_masks: bool = False

    @cached_property
    def target(self) -> Mapping[str, Array]:
        rng = np.random.default_rng(1)
        corners = rng.uniform(0, 0.5, (BOXES, 2)), rng.uniform(0.5, 1, (BOXES, 2))
        boxes = np.float32(np.concatenate(corners, 1) * (WIDTH, HEIGHT, WIDTH, HEIGHT))
        target = {"boxes": boxes, "labels": np.arange(BOXES)}
        masks = rng.integers(0, 2, (BOXES, HEIGHT, WIDTH), dtype=np.uint8)
        return {**target, "masks": masks} if self.has_masks else target


def by_orbbec(scene: Scene) -> Callable[[], Tensor]:
    pipeline, target = Compose([ToImage(), *scene.transforms]), dict(scene.target)
    return one_by_one(scene.arrays, lambda image: pipeline(image, target)[0])


def by_cv2(scene: Scene) -> Callable[[], Tensor]:
    chance, target = random.Random(0), scene.target

    def call(image: Array) -> Tensor:
        top, left, h, w = random_crop(*image.shape[:2], chance)
        flips = chance.random() < 0.5
        out = np.empty((3, SIDE, SIDE), np.float32)
        in_place(resized(image[top : top + h, left : left + w], flips, SIDE), out)
        moved_targets(target, (top, left, h, w), flips)
        return torch.from_numpy(out)

    return one_by_one(scene.arrays, call)


def moved_targets(
    target: Mapping[str, Array], crop: tuple[int, int, int, int], flips: bool
) -> dict[str, Array]:
    import cv2

    top, left, h, w = crop
    boxes = (target["boxes"] - (left, top, left, top)) * (SIDE / w, SIDE / h, SIDE / w, SIDE / h)
    boxes = boxes.clip(0, SIDE).astype(np.float32)
    if flips:
        boxes[:, [0, 2]] = SIDE - boxes[:, [2, 0]]
    keep = (boxes[:, 2:] > boxes[:, :2]).all(1)
    result = {"boxes": boxes[keep], "labels": target["labels"][keep]}
    if "masks" in target:
        parts = target["masks"][keep, top : top + h, left : left + w]
        result["masks"] = np.empty((len(parts), SIDE, SIDE), np.uint8)
        for part, mask in zip(parts, result["masks"], strict=True):
            small = cv2.resize(part, (SIDE, SIDE), interpolation=cv2.INTER_NEAREST)
            mask[:] = small[:, ::-1] if flips else small
    return result


def by_albumentations(scene: Scene) -> Callable[[], Tensor]:
    import albumentations as A

    geometry = [A.RandomResizedCrop((SIDE, SIDE)), A.HorizontalFlip()]
    transforms = [*geometry, A.Normalize(MEAN, STD), A.ToTensorV2()]
    boxes = A.BboxParams(coord_format="pascal_voc", label_fields=["labels"])
    pipeline, target = A.Compose(transforms, bbox_params=boxes), dict(scene.target)
    target["bboxes"] = target.pop("boxes")
    return one_by_one(scene.arrays, lambda image: pipeline(image=image, **target)["image"])


def by_torchvision(scene: Scene) -> Callable[[], Tensor]:
    from torchvision import tv_tensors
    from torchvision.transforms import v2

    pipeline = v2.Compose(
        [
            v2.RandomResizedCrop(SIDE, antialias=False),
            v2.RandomHorizontalFlip(),
            v2.ClampBoundingBoxes(),
            v2.SanitizeBoundingBoxes(),
            v2.ToDtype({tv_tensors.Image: torch.float32, "others": None}, scale=True),
            v2.Normalize(MEAN, STD),
        ]
    )
    size = (HEIGHT, WIDTH)
    boxes = tv_tensors.BoundingBoxes(scene.target["boxes"], format="XYXY", canvas_size=size)
    target: dict[str, Any] = {"boxes": boxes, "labels": torch.from_numpy(scene.target["labels"])}
    if scene.has_masks:
        target["masks"] = tv_tensors.Mask(torch.from_numpy(scene.target["masks"]))
    images = [tv_tensors.Image(image) for image in scene.tensors]
    return one_by_one(images, lambda image: pipeline(image, target)[0])


CONTENDERS = [
    Rival("orbbec", "orbbec", by_orbbec, 100),
    Rival("cv2 and NumPy in place", "cv2", by_cv2, 100),
    Rival("AlbumentationsX", "albumentations", by_albumentations, 100),
    Rival("torchvision v2", "torchvision", by_torchvision, 100),
]
WORKLOADS = [
    Workload("W8 one image with 5 boxes", Scene, CONTENDERS),
    Workload("W8 one image with 5 masks", lambda device: Scene(device, has_masks=True), CONTENDERS),
]
