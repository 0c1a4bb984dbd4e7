"""The sharpness of a pipeline of warps that resamples once, or at every step.

The images are samples of a known function, so the ideal result is known too: the function at the source
positions of the pipeline.
"""

from typing import NamedTuple

import numpy as np

from orbbec import transforms as T
from orbbec.bridge.arguments import Array

SIDE, OUTPUT, BORDER = 160, 96, 24
PIPELINE = (
    T.RandomResizedCrop(OUTPUT, scale=(0.4, 0.8), antialias=False),
    T.RandomRotation(20, "linear"),
    T.RandomAffine(10, (0.05, 0.05), (0.9, 1.1), 5, "linear"),
)


class Sharpness(NamedTuple):
    """The sharpness of the fused pipeline and of the exact one.

    PSNR in dB relative to the ideal, and the variance of the Laplacian as a fraction of the ideal's.
    """

    fused_psnr: float
    exact_psnr: float
    fused_detail: float
    exact_detail: float


def scene(x: Array, y: Array, seed: int) -> Array:
    """Waves of 3 to 40 pixels at positions (x, y), as float64 levels from 0 to 255."""
    rng = np.random.default_rng(seed)
    total = np.zeros(np.broadcast_shapes(x.shape, y.shape))
    for _ in range(24):
        length, angle, phase = rng.uniform(3, 40), rng.uniform(0, np.pi), rng.uniform(0, 2 * np.pi)
        total += np.sin(2 * np.pi / length * (x * np.cos(angle) + y * np.sin(angle)) + phase)
    return np.asarray(np.clip(128 + 20 * total, 0, 255))


def measure(count: int = 8) -> Sharpness:
    """Means over `count` scenes, without the border, which may read outside."""
    y, x = np.mgrid[:SIDE, :SIDE].astype(np.float64)
    images = np.stack([np.repeat(np.rint(scene(x, y, n))[..., None], 3, -1) for n in range(count)])
    results = {}
    for exact in (False, True):
        pipeline = T.Compose(PIPELINE, seed=5, exact=exact)
        results[exact] = pipeline(images.astype(np.uint8), epoch=0)[..., 0].astype(np.float64)
    matrix = T.Compose(PIPELINE, seed=5).plan([(SIDE, SIDE)] * count, epoch=0).matrix
    v, u = np.mgrid[:OUTPUT, :OUTPUT].astype(np.float64)
    inner = (slice(BORDER, -BORDER), slice(BORDER, -BORDER))
    rows = []
    for n in range(count):
        at_x, at_y = (m[0] * u + m[1] * v + m[2] for m in matrix[n, :2])
        ideal = scene(at_x, at_y, n)[inner]
        fused, stepwise = (results[exact][n][inner] for exact in (False, True))
        detail = _detail(ideal)
        rows.append(
            (_psnr(fused, ideal), _psnr(stepwise, ideal), _detail(fused) / detail, _detail(stepwise) / detail)
        )
    return Sharpness(*np.mean(rows, axis=0).tolist())


def _psnr(image: Array, ideal: Array) -> float:
    return float(10 * np.log10(255**2 / np.square(image - ideal).mean()))


def _detail(image: Array) -> float:
    middle = image[1:-1, 1:-1]
    around = image[:-2, 1:-1] + image[2:, 1:-1] + image[1:-1, :-2] + image[1:-1, 2:]
    return float((around - 4 * middle).var())


class Border(NamedTuple):
    """The width of the blend of image and fill in output pixels, in the fused and in the exact pipeline."""

    fused_border: float
    exact_border: float


def measure_border(factor: int = 4, side: int = 40) -> Border:
    """The same for white images that are enlarged by a factor and rotated on black."""
    pipeline = [
        T.Resize((side * factor, side * factor), antialias=False),
        T.RandomRotation((20, 20), "linear", expand=True),
    ]
    image = np.full((side, side, 3), 255, np.uint8)
    widths = []
    for exact in (False, True):
        result = T.Compose(pipeline, exact=exact)(image, epoch=0)[..., 0]
        mixed = int(((result > 0) & (result < 255)).sum())
        widths.append(mixed / (4 * side * factor))
    return Border(*widths)
