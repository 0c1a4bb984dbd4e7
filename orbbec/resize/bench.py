"""`resize` beside loops of `cv2.resize` and of Pillow's, and torch's `interpolate`."""

from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import interpolate

import orbbec
from orbbec.binding.arguments import Array
from orbbec.testing import photographs
from orbbec.testing.benchmark import Case, Contender, Work, as_array, cv2

IMAGES = 16
CV2 = {"linear": 1, "area": 3, "cubic": 2}
PILLOW = {"linear": 2, "bicubic": 3, "lanczos": 1}


def pixels(source: tuple[int, int]) -> Tensor:
    """uint8 images whose channels are last in memory, as decoders give them."""
    return photographs(IMAGES, 3, *source).contiguous(memory_format=torch.channels_last)


def prepare(
    device: str, source: tuple[int, int], target: tuple[int, int], interpolation: str, antialias: bool
) -> Work:
    images = pixels(source)
    options: dict[str, Any] = {"interpolation": interpolation, "antialias": antialias}
    expected = as_array(orbbec.resize(images, target, **options))
    arrays = [np.ascontiguousarray(array) for array in images.permute(0, 2, 3, 1).numpy()]
    moved = images.to(device)

    def by_cv2() -> Array:
        flag = CV2[interpolation]
        return np.stack([cv2.resize(array, target[::-1], interpolation=flag) for array in arrays])

    def by_torch() -> Tensor:
        mode = "bicubic" if interpolation == "bicubic" else "bilinear"
        return interpolate(moved, target, mode=mode, antialias=True)

    contenders = [Contender("orbbec", lambda: orbbec.resize(moved, target, **options))]
    if not antialias:
        contenders.insert(0, Contender("cv2 loop", by_cv2))
    elif interpolation != "lanczos":
        contenders.insert(0, Contender("torch interpolate", by_torch, exact=False))
    moved_bytes = images.numel() + IMAGES * 3 * target[0] * target[1]
    return Work(contenders, expected, images=IMAGES, moved_bytes=moved_bytes)


def case(source: tuple[int, int], interpolation: str, antialias: bool = False) -> Case:
    kind = f"antialiased {interpolation}" if antialias else interpolation
    name = f"uint8 {source[0]}x{source[1]} to 224x224, {kind}"
    return Case(
        name,
        partial(prepare, source=source, target=(224, 224), interpolation=interpolation, antialias=antialias),
    )


CASES = [
    case((512, 512), "linear"),
    case((512, 512), "area"),
    case((1080, 1920), "linear"),
    case((1080, 1920), "area"),
    *(case((375, 500), name, antialias=True) for name in PILLOW),
]
