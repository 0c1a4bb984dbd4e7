"""Losses of optics and resolution, and local contrast: passes over existing operators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from orbbec.bridge.arguments import copied_to
from orbbec.bridge.spec import composite
from orbbec.color import clahe, cvt_color
from orbbec.filters import filter2d, gaussian_blur
from orbbec.plan.build import Build
from orbbec.plan.passes import VARIES
from orbbec.plan.rules import IMAGE_HEIGHT, IMAGE_WIDTH
from orbbec.transforms.base.arguments import at_least, checks, odd_sides, resizing
from orbbec.transforms.base.checks import MAX_WINDOW, Range, checked_numbers, interval, size_pair, span
from orbbec.transforms.base.transform import Transform
from orbbec.transforms.cuts import Resizing, resize
from orbbec.transforms.operators import Row, _RowTransform


@composite("clahe", ("uint8",), channels=(1, 3))
def _equalized_luminance(images: Tensor, clip_limit: Tensor, tiles: tuple[int, int]) -> Tensor:
    """CLAHE of the lightness, by CIE's L*a*b*; of gray images, of their values."""
    is_gray = images.shape[1] == 1
    lab = images if is_gray else cvt_color(images, "RGB", "LAB")
    lightness: Tensor = clahe(lab[:, :1], clip_limit, tiles)
    if is_gray:
        return lightness
    result: Tensor = cvt_color(torch.cat([lightness, lab[:, 1:]], 1), "LAB", "RGB")
    return result


@composite("unsharp_mask", host_columns=("kernel_size",))
def _unsharp(images: Tensor, kernel_size: Tensor, sigma: Tensor, alpha: Tensor, threshold: float) -> Tensor:
    """Add the difference from a blur where it exceeds a threshold, through a blurred mask."""
    maximum = 255.0 if images.dtype == torch.uint8 else 1.0
    # By a tensor: CUDA would multiply by the reciprocal of a number.
    values = images.float() / torch.full((), maximum, dtype=torch.float32, device=images.device)
    blurred = gaussian_blur(values, kernel_size, sigma)
    residual = values - blurred
    mask = ((residual.abs() * 255) > threshold).float()
    sharp = (values + alpha.to(values).view(-1, 1, 1, 1) * residual).clamp(0, 1)
    weight = gaussian_blur(mask, kernel_size, sigma)
    mixed: Tensor = (sharp * weight + values * (1 - weight)) * maximum
    return mixed.round().clamp(0, 255).byte() if images.dtype == torch.uint8 else mixed.to(images.dtype)


_MIN_DISK = 8  # sides of kernels are at least 17


def disk_kernels(radius: int, alias_blur: Tensor) -> Tensor:
    """Disks of one radius in pixels with blurred edges: float32 `[N, side, side]`, with sums of about 1."""
    reach = max(_MIN_DISK, radius)
    steps = torch.arange(-reach, reach + 1, device="cpu")
    disk = (steps[:, None] ** 2 + steps**2 <= radius**2).float()
    side = 3 if radius <= _MIN_DISK else 5
    disks = (disk / disk.sum()).expand(len(alias_blur), 1, -1, -1)
    blurred: Tensor = gaussian_blur(disks, side, alias_blur)
    return blurred[:, 0]


@composite("defocus", host_columns=("radius", "alias_blur"))
def _defocus(images: Tensor, radius: Tensor, alias_blur: Tensor, reach: int) -> Tensor:
    """Average over a disk per image; the kernels are padded to one size."""
    kernels = torch.zeros(len(radius), 2 * reach + 1, 2 * reach + 1, dtype=torch.float32, device="cpu")
    for size in sorted(set(radius.tolist())):
        rows = radius == size
        disks = disk_kernels(size, alias_blur[rows])
        margin = reach - disks.shape[1] // 2
        kernels[rows, margin : margin + disks.shape[1], margin : margin + disks.shape[1]] = disks
    result: Tensor = filter2d(images, copied_to(images.device, kernels))
    return result


@dataclass(frozen=True)
class CLAHE(_RowTransform):
    """Equalize the histograms of tiles with a limited contrast; uint8 only.

    Of color images, the lightness.

    Args:
        clip_limit: largest count of a level in a tile, relative to the mean count: one number, or a range; at
            least 1.
        tile_grid_size: (rows, columns) of tiles, or one number for both.
        p: probability, from 0 to 1.

    Source:
        `CLAHE` of Albumentations, by `cv2.createCLAHE` and L*a*b*; its grid is (columns, rows).

    Example:
        >>> CLAHE(p=1.0)(torch.full((3, 16, 16), 99, dtype=torch.uint8)).shape
        torch.Size([3, 16, 16])
    """

    clip_limit: float | Range = (1.0, 4.0)
    tile_grid_size: int | Sequence[int] = (8, 8)
    p: float = 0.5

    _checks = checks(clip_limit=at_least(1.0), tile_grid_size=size_pair)

    _row = Row("clahe", ("clip_limit", "p"), why="takes a histogram of each tile")

    def _options(self) -> dict[str, Any]:
        return {"tiles": self.tile_grid_size}


def _part(op: str, name: str, value: Any) -> Range:
    return interval(op, name, span(op, name, value), 0.0, 1.0)


@dataclass(frozen=True)
class UnsharpMask(_RowTransform):
    """Sharpen images by their difference from a Gaussian blur, where it is large.

    Args:
        kernel_size: odd, in pixels: one number, or a range of odd numbers to draw from.
        sigma: in pixels: one number, or a range; 0: derived from the size of the kernel.
        alpha: how much of the difference is added, from 0 to 1: one number, or a range.
        threshold: least difference in bytes that is sharpened, from 0 to 255.
        p: probability, from 0 to 1.

    Source:
        `UnsharpMask` of Albumentations, by `cv2.GaussianBlur` of floats.

    Example:
        >>> image = torch.tensor([[[0, 0, 200, 200]]], dtype=torch.uint8)
        >>> UnsharpMask(3, 0.0, 0.5, threshold=10, p=1.0)(image).tolist()
        [[[0, 0, 219, 200]]]
    """

    kernel_size: int | Sequence[int] = (3, 7)
    sigma: float | Range = 0.0
    alpha: float | Range = (0.2, 0.5)
    threshold: float = 10.0
    p: float = 0.5

    _checks = checks(
        kernel_size=partial(odd_sides, high=MAX_WINDOW),
        sigma=at_least(0.0),
        alpha=_part,
        threshold=(0.0, 255.0),
    )

    _row = Row("unsharp_mask", ("kernel_size", "sigma", "alpha", "p"), ("threshold",))


@dataclass(frozen=True)
class Defocus(_RowTransform):
    """Average each pixel over a disk with a blurred edge, as a lens out of focus does.

    Args:
        radius: of the disk in whole pixels, from 1 to 100: one number, or a range.
        alias_blur: sigma of the blur of the disk's edge, above 0: one number, or a range.
        p: probability, from 0 to 1.

    Source:
        `Defocus` of Albumentations, by `cv2.GaussianBlur` of the disk and `cv2.filter2D`.

    Example:
        >>> Defocus((3, 10), p=1.0)(torch.full((1, 20, 20), 9, dtype=torch.uint8)).unique().tolist()
        [9]
    """

    radius: int | Sequence[int] = (3, 10)
    alias_blur: float | Range = (0.1, 0.5)
    p: float = 0.5

    _checks = checks(radius=(1, 100), alias_blur=at_least(1e-6))

    _row = Row("defocus", ("radius", "alias_blur", "p"))

    def _options(self) -> dict[str, Any]:
        return {"reach": max(_MIN_DISK, *checked_numbers(self.radius))}


@dataclass(frozen=True)
class Downscale(Transform):
    """Reduce each image by a drawn factor and enlarge it again, in two passes.

    Args:
        scale_range: a range of factors, above 0 and at most 1; sides are rounded half to even.
        down_interpolation: see `Resize`, without antialias.
        up_interpolation: see `Resize`, without antialias.
        p: probability, from 0 to 1.

    Source:
        `Downscale` of Albumentations, by `cv2.resize`.

    Example:
        >>> image = torch.tensor([[[1, 2, 3, 4]]], dtype=torch.uint8)
        >>> Downscale((0.5, 0.5), p=1.0)(image).tolist()
        [[[1, 1, 3, 3]]]
    """

    scale_range: Range = (0.25, 0.25)
    down_interpolation: str = "nearest"
    up_interpolation: str = "nearest"
    p: float = 0.5

    _checks = checks(scale_range=(1e-6, 1.0), down_interpolation=resizing, up_interpolation=resizing)

    def rules(self, build: Build) -> None:
        chosen, size = build.chance(self.p), build.size
        scale = build.select(chosen, build.uniform(*self.scale_range), 1.0)
        sides = [build.compute("copy", side) for side in (IMAGE_HEIGHT, IMAGE_WIDTH)]
        smaller = [build.compute("round", build.compute("times", side, scale)) for side in sides]
        for pair, name, size_after in (
            (smaller, self.down_interpolation, VARIES),
            (sides, self.up_interpolation, size),
        ):
            resize(build, "resize_to", *pair, how=Resizing(name, antialias=False), size=size_after)
            build.split(f"{self.name} loses what is between the pixels that it reads")
