"""W7: one photograph per call, as a Dataset calls a transform: random crop to 224x224, flip, normalize.

Also antialiased, and with ColorJitter. The libraries draw different parameters; each photograph has a single
color, so that all crops are equal, and the factors of ColorJitter are fixed. A result is dropped before the
next call; the last one is checked.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.ops.transforms import FLIP, SIDE, crop_of, recolored_by_cv2
from benchmarks.peers.contest import Rival, Workload
from orbbec.bridge.arguments import Array
from orbbec.cli.bench_data import random_crop
from orbbec.transforms import ColorJitter, Compose, ToImage
from orbbec.transforms.output import Normalize, ToDtype
from tests.support.timing.benchmark import cv2
from tests.support.timing.by_hand import (
    FACTOR,
    MEAN,
    OFFSET,
    STD,
    Finish,
    buffer,
    by_weights,
    in_place,
    resized,
)

HEIGHT, WIDTH = 375, 500
FACTORS = (0.9, 0.9, 0.9, 3 / 180)  # brightness, contrast, saturation, hue: whole levels of cv2
JITTER = ColorJitter(*((factor, factor) for factor in FACTORS))


@dataclass(frozen=True)
class Scene:
    device: str
    images: int = 64
    antialias: bool = False
    jitters: bool = False

    @property
    def transforms(self) -> list[Any]:
        colors = [JITTER] if self.jitters else []
        return [
            *(crop_of(self.antialias), FLIP, *colors),
            *(ToDtype(torch.float32, scale=True), Normalize(MEAN, STD)),
        ]

    @cached_property
    def colors(self) -> Array:
        """Of the photographs. The last one, which is compared, has 37 dB in every order of ColorJitter."""
        return np.random.default_rng(8).integers(0, 256, (self.images, 3), dtype=np.uint8)

    @cached_property
    def arrays(self) -> list[Array]:
        return [np.tile(color, (HEIGHT, WIDTH, 1)) for color in self.colors]

    @cached_property
    def tensors(self) -> list[Tensor]:
        return [torch.from_numpy(array).permute(2, 0, 1).contiguous() for array in self.arrays]

    @cached_property
    def expected(self) -> Array:
        color = self.colors[-1:, None]
        for which, factor in enumerate(FACTORS if self.jitters else ()):
            color = recolored_by_cv2(color, which, factor)
        return np.full((1, SIDE, SIDE, 3), color[0, 0] * FACTOR + OFFSET, np.float32)


def one_by_one(images: list[Any], call: Callable[[Any], Tensor]) -> Callable[[], Tensor]:
    def run() -> Tensor:
        for image in images:
            result = call(image)
        return result[None]

    return run


def by_orbbec(scene: Scene) -> Callable[[], Tensor]:
    return one_by_one(scene.tensors, Compose(scene.transforms))


def by_orbbec_from_arrays(scene: Scene) -> Callable[[], Tensor]:
    return one_by_one(scene.arrays, Compose([ToImage(), *scene.transforms]))


def by_cv2(
    scene: Scene, finish: Finish = in_place, interpolation: str = "INTER_LINEAR"
) -> Callable[[], Tensor]:
    chance, kind = random.Random(0), getattr(cv2, interpolation)

    def call(image: Array) -> Tensor:
        top, left, h, w = random_crop(*image.shape[:2], chance)
        out = np.empty((3, SIDE, SIDE), np.float32)
        pixels = resized(image[top : top + h, left : left + w], chance.random() < 0.5, SIDE, kind)
        for which in chance.sample(range(4), 4) if scene.jitters else ():
            pixels = recolored_by_cv2(pixels, which, FACTORS[which])
        finish(pixels, out)
        return torch.from_numpy(out)

    return one_by_one(scene.arrays, call)


def by_pillow(scene: Scene) -> Callable[[], Tensor]:
    from PIL import Image

    chance = random.Random(0)

    def call(picture: Any) -> Tensor:
        top, left, h, w = random_crop(HEIGHT, WIDTH, chance)
        box = (left, top, left + w, top + h)
        pixels = np.asarray(picture.resize((SIDE, SIDE), Image.Resampling.BILINEAR, box=box))
        if chance.random() < 0.5:
            pixels = np.asarray(cv2.flip(pixels, 1, dst=buffer("flipped", pixels.shape)))
        out = np.empty((3, SIDE, SIDE), np.float32)
        in_place(pixels, out)
        return torch.from_numpy(out)

    return one_by_one([Image.fromarray(array) for array in scene.arrays], call)


def by_albumentations(scene: Scene) -> Callable[[], Tensor]:
    import albumentations as A

    jitter = [A.ColorJitter(*((factor, factor) for factor in FACTORS), p=1)] if scene.jitters else []
    pipeline = A.Compose(
        [
            *(A.RandomResizedCrop((SIDE, SIDE)), A.HorizontalFlip(), *jitter),
            *(A.Normalize(MEAN, STD), A.ToTensorV2()),
        ]
    )
    return one_by_one(scene.arrays, lambda image: pipeline(image=image)["image"])


def by_torchvision(scene: Scene) -> Callable[[], Tensor]:
    from torchvision.transforms import v2

    jitter = [v2.ColorJitter(*((factor, factor) for factor in FACTORS))] if scene.jitters else []
    pipeline = v2.Compose(
        [
            v2.RandomResizedCrop(SIDE, antialias=scene.antialias),
            v2.RandomHorizontalFlip(),
            *jitter,
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(MEAN, STD),
        ]
    )
    return one_by_one(scene.tensors, pipeline)


def rivals(least_psnr: float, *by_hand: Rival) -> list[Rival]:
    """The contenders; outputs of libraries and of the code by hand have at least this PSNR in dB."""
    return [
        Rival("orbbec", "orbbec", by_orbbec, least_psnr),
        Rival("orbbec, arrays", "orbbec", by_orbbec_from_arrays, least_psnr),
        *by_hand,
        Rival("AlbumentationsX", "albumentations", by_albumentations, least_psnr),
        Rival("torchvision v2", "torchvision", by_torchvision, least_psnr),
    ]


def hands(least_psnr: float, interpolation: str = "INTER_LINEAR") -> list[Rival]:
    area = " INTER_AREA" if interpolation == "INTER_AREA" else ""
    return [
        Rival(
            f"cv2{area} and {name}",
            "cv2",
            partial(by_cv2, finish=finish, interpolation=interpolation),
            least_psnr,
        )
        for name, finish in (("NumPy in place", in_place), ("its weights", by_weights))
    ]


PLAIN = rivals(100, *hands(100))
ANTIALIASED = rivals(
    100, *hands(100, "INTER_AREA"), Rival("Pillow and NumPy in place", "PIL", by_pillow, 100)
)
# The order of the adjustments, which libraries draw, changes a color by a few levels.
JITTERED = rivals(30, *hands(30))
WORKLOADS = [
    Workload("W7 one image per call", Scene, PLAIN),
    Workload("W7 one image per call, antialiased", partial(Scene, antialias=True), ANTIALIASED),
    Workload("W7 one image per call, ColorJitter", partial(Scene, jitters=True), JITTERED),
]
