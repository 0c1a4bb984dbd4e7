"""Random blurs by OpenCV and orbbec. Needs `cv2`."""

from collections.abc import Callable
from typing import Any

import numpy as np

import orbbec
from orbbec.bridge.arguments import Array
from orbbec.filters.filter import motion_kernels
from tests.support.peers.peers import Line, Random, draw_image

BORDERS = ("constant", "replicate", "reflect", "reflect101")
# The kernel sides that OpenCV supports for each dtype.
MEDIAN_SIDES = {"uint8": (3, 5, 7, 9, 21, 45), "uint16": (3, 5), "float32": (3, 5)}


def _opencv(name: str, image: Array, *arguments: Any, border: str | None = None, **options: Any) -> Array:
    import cv2

    from tests.support.peers import opencv

    if border is not None:
        options["borderType"] = opencv.BORDERS[border]
    return np.asarray(getattr(cv2, name)(image, *arguments, **options)).reshape(image.shape)


def _draw_side(rng: Random) -> int:
    return int(rng.integers(1, rng.choice((4, 16, 60))))


def gaussian(rng: Random, image: Array, border: str) -> tuple[Array, Array]:
    height, width = _draw_side(rng) | 1, _draw_side(rng) | 1
    sigma_x = float(rng.choice((0.0, rng.uniform(0.05, 8), rng.uniform(0.05, 40))))
    sigma_y = sigma_x if rng.random() < 0.6 else float(rng.uniform(0.1, 8))
    actual = orbbec.gaussian_blur(image, (height, width), (sigma_y, sigma_x), border=border)
    return actual, _opencv("GaussianBlur", image, (width, height), sigma_x, sigmaY=sigma_y, border=border)


def box(rng: Random, image: Array, border: str) -> tuple[Array, Array]:
    height, width = _draw_side(rng), _draw_side(rng)
    actual = orbbec.box_blur(image, (height, width), border=border)
    return actual, _opencv("blur", image, (width, height), border=border)


def _filtered(image: Array, kernel: Array, border: str) -> Array:
    return _opencv("filter2D", image, -1, kernel.astype(np.float32), border=border)


def filter_small(rng: Random, image: Array, border: str) -> tuple[Array, Array]:
    sides = rng.integers(1, 12, 2)
    kernel = rng.standard_normal(sides).astype(np.float32)
    kernel[rng.random(sides) < 0.2] = 0
    kernel[0, 0] = 0.5
    return orbbec.filter2d(image, kernel, border=border), _filtered(image, kernel, border)


def filter_large(rng: Random, image: Array, border: str) -> tuple[Array, Array]:
    kernel = rng.standard_normal(rng.integers(12, 30, 2)).astype(np.float32) / 10
    return orbbec.filter2d(image, kernel, border=border), _filtered(image, kernel, border)


def sharpen(rng: Random, image: Array, border: str) -> tuple[Array, Array]:
    amount = float(rng.uniform(-1, 3))
    kernel = np.full((3, 3), -amount / 8)
    kernel[1, 1] = 1 + amount
    return orbbec.sharpen(image, amount, border=border), _filtered(image, kernel, border)


def motion(rng: Random, image: Array, border: str) -> tuple[Array, Array]:
    length = int(rng.integers(1, 12))
    angle = float(rng.uniform(-400, 400) if rng.random() < 0.5 else rng.integers(-8, 9) * 45)
    kernel = motion_kernels([length], [angle])[0].numpy()
    return orbbec.motion_blur(image, length, angle, border=border), _filtered(image, kernel, border)


def median(rng: Random, image: Array, border: str) -> tuple[Array, Array]:
    side = int(rng.choice(MEDIAN_SIDES[image.dtype.name]))
    return orbbec.median_blur(image, side), _opencv("medianBlur", image, side)


def _line(
    op: str, dtype: str, promised: bool, case: Callable[..., tuple[Array, Array]], form: str = ""
) -> Line:
    def answers(rng: Random) -> tuple[Array, Array]:
        return case(rng, draw_image(rng, dtype=dtype), str(rng.choice(BORDERS)))

    return Line(op, f"{dtype}{form}", "OpenCV", promised, answers)


ANY = ("uint8", "uint16", "float32")
LINES = [
    *(_line("gaussian_blur", dtype, dtype != "float32", gaussian) for dtype in ANY),
    *(_line("box_blur", dtype, dtype != "float32", box) for dtype in ANY),
    *(_line("median_blur", dtype, True, median) for dtype in ANY),
    *(_line("filter2d", dtype, False, filter_small) for dtype in ANY),
    _line("filter2d", "uint8", False, filter_large, ", 144 taps and more"),
    _line("sharpen", "uint8", False, sharpen),
    _line("motion_blur", "uint8", False, motion),
]
