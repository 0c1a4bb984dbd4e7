"""`warp_affine` compared with a loop of `cv2.warpAffine` and torch's `grid_sample`."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import affine_grid, grid_sample

import orbbec
from orbbec.bridge.arguments import Array
from tests.support.timing.benchmark import Case, Contender, Work, cv2, source_positions
from tests.support.timing.warp_work import Warp, WarpShape


def random_similarities(count: int, source: tuple[int, int], target: tuple[int, int]) -> Array:
    """Rotations by any angle, scaled so that most of the source is visible: `[count, 2, 3]`."""
    draw = np.random.default_rng(0)
    scale = min(target[0] / source[0], target[1] / source[1]) * draw.uniform(0.8, 1.25, count)
    middle = np.array(source[::-1]) / 2 + draw.uniform(-0.05, 0.05, (count, 2)) * min(source)
    matrices = orbbec.get_rotation_matrix(middle, draw.uniform(-180, 180, count), scale)
    matrices[:, :, 2] += np.array(target[::-1]) / 2 - middle
    return matrices


def prepare(shape: WarpShape, device: str, beside_grid_sample: bool = False) -> Work:
    """One random similarity per image."""
    matrices = random_similarities(shape.count(device), shape.source, shape.target)
    inverses = orbbec.invert_affine(matrices)

    def by_cv2(image: Array, matrix: Array, dst: Array | None = None) -> Array:
        flags, border = shape.cv2_options()
        return cv2.warpAffine(image, matrix, shape.target[::-1], dst=dst, flags=flags, borderMode=border)

    by_orbbec = partial(orbbec.warp_affine, size=shape.target, **shape.options())
    positions = (source_positions(inverse, shape.target) for inverse in inverses)
    rivals = [by_grid_sample(shape, inverses, device)] if beside_grid_sample else []
    return Warp(shape, [matrices], by_orbbec, by_cv2, positions).work(device, *rivals)


def by_grid_sample(shape: WarpShape, inverses: Array, device: str) -> Contender:
    """The same in torch, which computes in float32 and does not support uint8."""
    square = np.pad(inverses, ((0, 0), (0, 1), (0, 0)))
    square[:, 2, 2] = 1
    theta = np.linalg.inv(to_pixels(shape.source)) @ square @ to_pixels(shape.target)
    images, maps = shape.planar_images(device).to(device), torch.from_numpy(theta[:, :2]).float().to(device)

    def run() -> Tensor:
        grid = affine_grid(maps, [*images.shape[:2], *shape.target], align_corners=True)
        warped = grid_sample(images.float(), grid, align_corners=True)
        return warped.round().to(torch.uint8) if images.dtype == torch.uint8 else warped

    return Contender("torch grid_sample, NCHW tensor", run, exact=False)


def to_pixels(size: tuple[int, int]) -> Array:
    """The matrix from coordinates in -1 to 1 to the pixels of an image of `(height, width)`."""
    half_y, half_x = (size[0] - 1) / 2, (size[1] - 1) / 2
    return np.array([[half_x, 0, half_x], [0, half_y, half_y], [0, 0, 1]])


def case(name: str, beside_grid_sample: bool = False, **shape: Any) -> Case:
    prepare_case: Callable[[str], Work] = partial(
        prepare, WarpShape(**shape), beside_grid_sample=beside_grid_sample
    )
    return Case(name, prepare_case)


FULL_HD = (1080, 1920)
CASES = [
    case("uint8 512x512 to 224x224, linear", beside_grid_sample=True),
    case("float32 512x512 to 224x224, linear", beside_grid_sample=True, dtype=torch.float32),
    case("uint8 512x512 to 224x224, nearest", interpolation="nearest"),
    case("uint8 512x512 to 224x224, cubic", interpolation="cubic"),
    case("uint8 512x512 to 224x224, linear, replicate", border="replicate"),
    case("uint8 512x512 to 224x224, linear, reflect101", border="reflect101"),
    case("uint8 1080x1920, linear", images=4, images_on_cuda=32, source=FULL_HD, target=FULL_HD),
    case("uint8 224x224, linear, an image a call", images=1, images_on_cuda=1, source=(224, 224)),
]
