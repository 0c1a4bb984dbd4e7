"""`warp_perspective` compared with a loop of `cv2.warpPerspective`."""

from functools import partial

import numpy as np
import torch

import orbbec
from orbbec.bridge.arguments import Array
from tests.support.timing.benchmark import Case, Work, cv2, source_positions
from tests.support.timing.warp_work import Warp, WarpShape


def random_perspectives(count: int, source: tuple[int, int], target: tuple[int, int]) -> Array:
    """Matrices whose source quadrilaterals have each corner up to a quarter inwards: `[count, 3, 3]`."""
    draw = np.random.default_rng(0)
    corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float64)
    inward = (0.5 - corners) * draw.uniform(0, 0.5, (count, 4, 2))
    last_source, last_target = np.array(source[::-1]) - 1, np.array(target[::-1]) - 1
    return orbbec.get_perspective_matrix((corners + inward) * last_source, corners * last_target)


def prepare(shape: WarpShape, device: str) -> Work:
    """One random perspective per image."""
    matrices = random_perspectives(shape.count(device), shape.source, shape.target)

    def by_cv2(image: Array, matrix: Array, dst: Array | None = None) -> Array:
        flags, border = shape.cv2_options()
        return cv2.warpPerspective(image, matrix, shape.target[::-1], dst=dst, flags=flags, borderMode=border)

    by_orbbec = partial(orbbec.warp_perspective, size=shape.target, **shape.options())
    positions = (source_positions(inverse, shape.target) for inverse in np.linalg.inv(matrices))
    return Warp(shape, [matrices], by_orbbec, by_cv2, positions).work(device)


CASES = [
    Case("uint8 512x512 to 224x224, linear", partial(prepare, WarpShape())),
    Case("float32 512x512 to 224x224, linear", partial(prepare, WarpShape(dtype=torch.float32))),
]
