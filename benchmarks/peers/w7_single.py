"""W7: one photograph per call, as a Dataset calls a transform: random crop to 224x224, flip, normalize.

Each library draws its own parameters; each photograph has a single color, so that all crops are equal. A
result is dropped before the next call; the last one is checked.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.ops.transforms import FLIP, SIDE, crop_of
from benchmarks.peers.contest import Rival, Workload
from orbbec.bridge.arguments import Array
from orbbec.cli.bench_data import random_crop
from orbbec.transforms import Compose, ToImage
from orbbec.transforms.output import Normalize, ToDtype
from tests.support.timing.by_hand import FACTOR, MEAN, OFFSET, STD, in_place, resized

HEIGHT, WIDTH = 375, 500
TRANSFORMS = [crop_of(False), FLIP, ToDtype(torch.float32, scale=True), Normalize(MEAN, STD)]


@dataclass(frozen=True)
class Scene:
    device: str
    images: int = 64

    @cached_property
    def colors(self) -> Array:
        return np.random.default_rng(0).integers(0, 256, (self.images, 3), dtype=np.uint8)

    @cached_property
    def arrays(self) -> list[Array]:
        return [np.tile(color, (HEIGHT, WIDTH, 1)) for color in self.colors]

    @cached_property
    def tensors(self) -> list[Tensor]:
        return [torch.from_numpy(array).permute(2, 0, 1).contiguous() for array in self.arrays]

    @cached_property
    def expected(self) -> Array:
        return np.full((1, SIDE, SIDE, 3), self.colors[-1] * FACTOR + OFFSET, np.float32)


def one_by_one(images: list[Any], call: Callable[[Any], Tensor]) -> Callable[[], Tensor]:
    def run() -> Tensor:
        for image in images:
            result = call(image)
        return result[None]

    return run


def by_orbbec(scene: Scene) -> Callable[[], Tensor]:
    return one_by_one(scene.tensors, Compose(TRANSFORMS))


def by_orbbec_from_arrays(scene: Scene) -> Callable[[], Tensor]:
    return one_by_one(scene.arrays, Compose([ToImage(), *TRANSFORMS]))


def by_cv2(scene: Scene) -> Callable[[], Tensor]:
    chance = random.Random(0)

    def call(image: Array) -> Tensor:
        top, left, h, w = random_crop(*image.shape[:2], chance)
        out = np.empty((3, SIDE, SIDE), np.float32)
        in_place(resized(image[top : top + h, left : left + w], chance.random() < 0.5, SIDE), out)
        return torch.from_numpy(out)

    return one_by_one(scene.arrays, call)


def by_albumentations(scene: Scene) -> Callable[[], Tensor]:
    import albumentations as A

    pipeline = A.Compose(
        [A.RandomResizedCrop((SIDE, SIDE)), A.HorizontalFlip(), A.Normalize(MEAN, STD), A.ToTensorV2()]
    )
    return one_by_one(scene.arrays, lambda image: pipeline(image=image)["image"])


def by_torchvision(scene: Scene) -> Callable[[], Tensor]:
    from torchvision.transforms import v2

    pipeline = v2.Compose(
        [
            v2.RandomResizedCrop(SIDE, antialias=False),
            v2.RandomHorizontalFlip(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(MEAN, STD),
        ]
    )
    return one_by_one(scene.tensors, pipeline)


CONTENDERS = [
    Rival("orbbec", "orbbec", by_orbbec, 100),
    Rival("orbbec, arrays", "orbbec", by_orbbec_from_arrays, 100),
    Rival("cv2 and NumPy in place", "cv2", by_cv2, 100),
    Rival("AlbumentationsX", "albumentations", by_albumentations, 100),
    Rival("torchvision v2", "torchvision", by_torchvision, 100),
]
WORKLOADS = [Workload("W7 one image per call", Scene, CONTENDERS)]
