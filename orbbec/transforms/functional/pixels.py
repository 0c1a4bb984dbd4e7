"""Blur, noise, erasing, JPEG artifacts and normalization."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from orbbec import filters, noise
from orbbec.augment.codes import ERASE_WIDTH
from orbbec.bridge.plain import listed, plain, shown
from orbbec.jpeg import jpeg_compression
from orbbec.plan.build import Build
from orbbec.transforms import output
from orbbec.transforms.base.checks import flag, whole
from orbbec.transforms.base.module import outside_graphs
from orbbec.transforms.base.seeds import new_seed
from orbbec.transforms.base.transform import Transform
from orbbec.transforms.functional.calls import apply_to_images, changed


def gaussian_blur(
    inpt: Any, kernel_size: int | Sequence[int], sigma: float | Sequence[float] | None = None
) -> Any:
    """Blur with a kernel of (width, height) and sigmas along (x, y). See `orbbec.gaussian_blur`."""
    sides = both("kernel_size", kernel_size)
    deviations = [0.15 * side + 0.35 for side in sides] if sigma is None else both("sigma", sigma)
    return changed("gaussian_blur", inpt, filters.gaussian_blur, sides[::-1], deviations[::-1])


def both(name: str, value: Any) -> list[Any]:
    """Expand one number, or two, to values along x and y."""
    several = listed(value)
    sides = [plain(value)] if several is None else list(several)
    if len(sides) not in (1, 2):
        raise ValueError(f"gaussian_blur: expected {name} as 1 or 2 numbers, but got {shown(value)}")
    return sides * 2 if len(sides) == 1 else sides


def erase(inpt: Any, i: int, j: int, h: int, w: int, v: Any, inplace: bool = False) -> Any:
    """Fill the rectangle of height `h` and width `w` at row `i` and column `j`.

    `v` is a number, or one per channel, also as a tensor `[C, 1, 1]`. `inplace` must be False.
    """
    if flag("erase", "inplace", inplace):
        raise ValueError("erase: expected inplace=False")
    values = np.ravel(plain(v))
    if values.dtype.kind not in "iuf":
        raise TypeError(f"erase: expected v as a number or one per channel, but got {shown(v)}")
    top, left = (whole("erase", name, value, -(2**31), 2**31) for name, value in (("i", i), ("j", j)))
    height, width = (whole("erase", name, value, 0, 2**31) for name, value in (("h", h), ("w", w)))
    box = left, top, left + width, top + height
    return apply_to_images("erase", inpt, _Erase(box, tuple(values.tolist())))


@dataclass(frozen=True)
class _Erase(Transform):
    box: tuple[int, int, int, int]  # left, top, right, bottom
    values: tuple[float, ...]

    def rules(self, build: Build) -> None:
        values = self.values
        if len(values) not in (1, build.channels):
            raise ValueError(f"erase: expected 1 or {build.channels} numbers as v, but got {len(values)}")
        factors, summands = build.erase_units()
        fill = zip(np.resize(values, len(factors)).tolist(), factors, summands, strict=True)
        stored = [value * factor + summand for value, factor, summand in fill]
        build.erase(build.constants([*self.box, *stored, 0.0, 0.0, 0.0, 0.0][:ERASE_WIDTH]))


def jpeg(image: Any, quality: int) -> Any:
    """Apply JPEG compression artifacts. See `orbbec.jpeg_compression`."""
    return changed("jpeg", image, jpeg_compression, quality)


def normalize(inpt: Any, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> Any:
    """Subtract the mean and divide by the standard deviation; floats only. `inplace` must be False."""
    if flag("normalize", "inplace", inplace):
        raise ValueError("normalize: expected inplace=False")
    return apply_to_images("normalize", inpt, output.Normalize(mean, std))


@outside_graphs
def gaussian_noise(inpt: Any, mean: float = 0.0, sigma: float = 0.1, clip: bool = True) -> Any:
    """Add normal noise from torch's generator, new in each call. See `orbbec.gaussian_noise`."""
    return changed("gaussian_noise", inpt, noise.gaussian_noise, mean, sigma, clip, seed=new_seed())
