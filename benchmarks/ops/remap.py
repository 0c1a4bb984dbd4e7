"""`remap` compared with a loop of `cv2.remap`."""

from functools import partial

import numpy as np
import torch

import orbbec
from orbbec.bridge.arguments import Array
from tests.support.timing.benchmark import Case, Work, cv2
from tests.support.timing.warp_work import Warp, WarpShape


def random_waves(count: int, source: tuple[int, int], target: tuple[int, int]) -> tuple[Array, Array]:
    """The whole source, displaced by waves of up to 4 % of its side: two float32 `[count, height, width]`."""
    draw = np.random.default_rng(0)
    y, x = np.mgrid[: target[0], : target[1]] / np.reshape(target, (2, 1, 1))
    phase, height = draw.uniform(0, 2 * np.pi, (2, count, 1, 1)), draw.uniform(0, 0.04, (2, count, 1, 1))
    map_x = (x + height[0] * np.sin(4 * np.pi * y + phase[0])) * source[1]
    map_y = (y + height[1] * np.sin(4 * np.pi * x + phase[1])) * source[0]
    return map_x.astype(np.float32), map_y.astype(np.float32)


def prepare(shape: WarpShape, device: str) -> Work:
    """One table of positions per image."""
    map_x, map_y = random_waves(shape.count(device), shape.source, shape.target)

    def by_cv2(image: Array, map_x: Array, map_y: Array, dst: Array | None = None) -> Array:
        flags, border = shape.cv2_options()
        return cv2.remap(image, map_x, map_y, flags, dst=dst, borderMode=border)

    by_orbbec = partial(orbbec.remap, **shape.options())
    positions = zip(map_x, map_y, strict=True)
    return Warp(shape, [map_x, map_y], by_orbbec, by_cv2, positions).work(device)


CASES = [
    Case("uint8 512x512 to 224x224, linear", partial(prepare, WarpShape())),
    Case("float32 512x512 to 224x224, linear", partial(prepare, WarpShape(dtype=torch.float32))),
]
