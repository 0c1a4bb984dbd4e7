"""Resizes, crops, flips and warps of images, and of boxes, masks and points as `tv_tensors`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec.bridge.arguments import Array
from orbbec.bridge.plain import listed
from orbbec.matrices import get_perspective_matrix
from orbbec.plan.build import Build
from orbbec.plan.passes import ALIKE
from orbbec.plan.points import shifts
from orbbec.transforms import geometry
from orbbec.transforms.affine import add_affine
from orbbec.transforms.base.checks import (
    FillValue,
    entries,
    flag,
    interpolation_of,
    number,
    numbers,
    pair,
    resizing_of,
    size_pair,
    whole,
)
from orbbec.transforms.base.transform import Transform
from orbbec.transforms.base.tv_tensors import images_like, is_mask, plain
from orbbec.transforms.functional.calls import apply, changed, fill_of
from orbbec.transforms.functional.sizes import get_size
from orbbec.transforms.targets.masks import displaced_masks
from orbbec.transforms.warps import warp
from orbbec.warpaffine.remap import remap


def resize(
    inpt: Any,
    size: int | Sequence[int] | None,
    interpolation: Any = "bilinear",
    max_size: int | None = None,
    antialias: bool = True,
) -> Any:
    """Resize an image; a single number is the length of its shorter side. See `orbbec.transforms.Resize`.

    If `size` is None, `max_size` is the length of the longer side.
    """
    return apply("resize", inpt, [geometry.Resize(size, _of_kind(inpt, interpolation), max_size, antialias)])


def crop(inpt: Any, top: int, left: int, height: int, width: int) -> Any:
    """Crop a region; pixels outside the image are 0."""
    return apply("crop", inpt, [_cut("crop", top, left, height, width)])


@dataclass(frozen=True)
class _Cut(Transform):
    first: tuple[int, int]  # top and left
    size: tuple[int, int]

    def rules(self, build: Build) -> None:
        how: dict[str, Any] = {"border": "constant", "lossless": True, "region": True}
        first, size = map(float, self.first), self.size
        build.warp("crop_fixed", *first, *size, 1, size=size, least=size, **how)


def _cut(op: str, top: int, left: int, height: int, width: int) -> Transform:
    size = size_pair(op, "height and width", (height, width))
    return _Cut((whole(op, "top", top, -(2**31), 2**31), whole(op, "left", left, -(2**31), 2**31)), size)


def center_crop(inpt: Any, output_size: int | Sequence[int]) -> Any:
    """Crop the center. See `orbbec.transforms.CenterCrop`."""
    return apply("center_crop", inpt, [geometry.CenterCrop(output_size)])


def resized_crop(
    inpt: Any,
    top: int,
    left: int,
    height: int,
    width: int,
    size: int | Sequence[int],
    interpolation: Any = "bilinear",
    antialias: bool = True,
) -> Any:
    """Crop a region and resize it; pixels outside the image are 0. A single `size` is the shorter side.

    As in torchvision, filters do not read beyond the region. `orbbec.transforms.RandomResizedCrop` and
    `orbbec.resized_crop` do, as in Pillow.
    """
    size_pair("resized_crop", "size", size)
    resized = geometry.Resize(size, _of_kind(inpt, interpolation), None, antialias)
    return apply("resized_crop", inpt, [_cut("resized_crop", top, left, height, width), resized])


def horizontal_flip(inpt: Any) -> Any:
    """Flip images left to right."""
    return apply("horizontal_flip", inpt, [geometry.RandomHorizontalFlip(1.0)])


def vertical_flip(inpt: Any) -> Any:
    """Flip images upside down."""
    return apply("vertical_flip", inpt, [geometry.RandomVerticalFlip(1.0)])


def pad(
    inpt: Any, padding: int | Sequence[int], fill: FillValue | None = None, padding_mode: str = "constant"
) -> Any:
    """Pad an image on all sides. See `orbbec.transforms.Pad`."""
    filled = fill_of("pad", fill)
    return apply("pad", inpt, [geometry.Pad(padding, filled, padding_mode)], filled)


def affine(
    inpt: Any,
    angle: float,
    translate: Sequence[float],
    scale: float,
    shear: float | Sequence[float],
    interpolation: Any = "nearest",
    fill: FillValue | None = None,
    center: Sequence[float] | None = None,
) -> Any:
    """Rotate by `angle` degrees clockwise, translate, scale and shear about the image center or `center`."""
    shears = numbers("affine", "shear", shear, (1, 2))
    both = shears[0], 0.0 if listed(shear) is None else shears[-1]  # as in torchvision
    moves, factor = pair("affine", "translate", translate), number("affine", "scale", scale)
    if factor <= 0:
        raise ValueError(f"affine: expected a scale above 0, but got {scale}")
    parameters = number("affine", "angle", angle), moves, factor, both
    return _warped(inpt, "affine", parameters, interpolation, fill, center)


def rotate(
    inpt: Any,
    angle: float,
    interpolation: Any = "nearest",
    expand: bool = False,
    center: Sequence[float] | None = None,
    fill: FillValue | None = None,
) -> Any:
    """Rotate by `angle` degrees counter-clockwise about the image center or `center`."""
    parameters = -number("rotate", "angle", angle), (0.0, 0.0), 1.0, (0.0, 0.0)
    expands = flag("rotate", "expand", expand)
    return _warped(inpt, "rotate", parameters, interpolation, fill, center, expands)


@dataclass(frozen=True)
class _Affine(Transform):
    numbers: tuple[float, ...]  # angle, shifts, scales, shears
    reading: tuple[str, str, tuple[float, ...]]  # interpolation, border, fill
    center: tuple[float, float] | None
    expands: bool

    def rules(self, build: Build) -> None:
        numbers = build.constants(self.numbers)
        add_affine(build, numbers, self.reading, self.center, ALIKE if self.expands else None)


def _warped(
    image: Any,
    name: str,
    parameters: tuple[float, tuple[float, float], float, tuple[float, float]],
    interpolation: Any,
    fill: FillValue | None,
    center: Sequence[float] | None,
    expand: bool = False,
) -> Any:
    method, filled = interpolation_of(name, interpolation), fill_of(name, fill)
    middle = None if center is None else pair(name, "center", center)
    angle, moves, factor, shears = parameters
    warp = _Affine((angle, *moves, factor, factor, *shears), (method, "constant", filled), middle, expand)
    return apply(name, image, [warp], filled)


@dataclass(frozen=True)
class _Perspective(Transform):
    matrix: tuple[float, ...]
    reading: tuple[str, str, tuple[float, ...]]  # interpolation, border, fill

    def rules(self, build: Build) -> None:
        warp(build, "matrix_warp", self.matrix, reading=self.reading, operator="warp_perspective")


def perspective(
    inpt: Any,
    startpoints: Sequence[Sequence[float]] | None,
    endpoints: Sequence[Sequence[float]] | None,
    interpolation: Any = "bilinear",
    fill: FillValue | None = None,
    coefficients: Sequence[float] | None = None,
) -> Any:
    """Move four points `startpoints` (x, y) of the image to `endpoints`.

    Alternatively, `coefficients` are eight numbers a to h: the corner (x, y) of an output pixel reads
    `((a x + b y + c) / (g x + h y + 1), (d x + e y + f) / (g x + h y + 1))`.
    """
    method, filled = interpolation_of("perspective", interpolation), fill_of("perspective", fill)
    matrix = _perspective_matrix(startpoints, endpoints, coefficients)
    if not np.isfinite(matrix).all() or abs(np.linalg.det(matrix[0])) < 1e-12:
        raise ValueError("perspective: expected four points, no three of them on a line")
    by_matrix = _Perspective(tuple(matrix.ravel().tolist()), (method, "constant", filled))
    return apply("perspective", inpt, [by_matrix], filled)


def _perspective_matrix(startpoints: Any, endpoints: Any, coefficients: Any) -> Array:
    if coefficients is not None:
        if startpoints is not None or endpoints is not None:
            raise ValueError("perspective: expected startpoints and endpoints, or coefficients, but got both")
        several = entries("perspective", "coefficients", coefficients)
        elements = *numbers("perspective", "coefficients", several, (8,)), 1.0
        return _between_centers(np.reshape(elements, (1, 3, 3)))
    if startpoints is None or endpoints is None:
        raise ValueError("perspective: expected startpoints and endpoints, or coefficients")
    ends, starts = _corners("endpoints", endpoints), _corners("startpoints", startpoints)
    return _between_centers(get_perspective_matrix(ends, starts))


def _corners(name: str, points: Any) -> Array:
    corners = [pair("perspective", name, point) for point in entries("perspective", name, points)]
    if len(corners) != 4:
        raise ValueError(f"perspective: expected {name} as 4 points (x, y), but got {len(corners)}")
    return np.array([corners], np.float64)


def _between_centers(matrices: Array) -> Array:
    """Converts matrices `[N, 3, 3]` between pixel corners into matrices between pixel centers."""
    half = shifts(0.5, 0.5, 1)  # from a pixel's corner to its center
    result: Array = np.linalg.inv(half) @ matrices @ half
    return result


def elastic(
    inpt: Any, displacement: Tensor, interpolation: Any = "bilinear", fill: FillValue | None = None
) -> Any:
    """Displace each pixel by its own offset.

    Args:
        inpt: images of one size, or `tv_tensors.Mask`.
        displacement: float `[1, H, W, 2]`: offset (x, y) of the position that a pixel reads, in units of half
            the width and half the height.
        interpolation: "nearest" or "bilinear"; masks always use nearest.
        fill: value outside the image, in pixel units: a number or one per channel; None: 0.

    Source:
        `cv2.remap`; see `orbbec.elastic_transform`.

    Example:
        >>> image = torch.tensor([[[1, 2, 3, 4]]], dtype=torch.uint8)
        >>> to_the_right = torch.tensor([0.5, 0.0]).expand(1, 1, 4, 2)  # by a quarter of the width
        >>> elastic(image, to_the_right).tolist()
        [[[2, 3, 4, 0]]]
    """
    method, filled = interpolation_of("elastic", interpolation), list(fill_of("elastic", fill))
    if not isinstance(displacement, Tensor):
        raise TypeError(f"elastic: expected displacement as a tensor, but got {type(displacement)}")
    height, width = get_size(inpt)
    if displacement.shape != (1, height, width, 2):
        raise ValueError(
            f"elastic: expected displacement of shape {[1, height, width, 2]}, "
            f"but got {list(displacement.shape)}"
        )
    offsets = displacement[0].to(torch.float32)
    x = offsets[..., 0] * (width / 2) + torch.arange(width, device=offsets.device)
    y = offsets[..., 1] * (height / 2) + torch.arange(height, device=offsets.device)[:, None]
    if is_mask(inpt):
        return images_like(displaced_masks(plain(inpt), x, y, filled[0]), inpt)
    return changed("elastic", inpt, remap, x, y, interpolation=method, fill=filled)


def five_crop(inpt: Any, size: int | Sequence[int]) -> tuple[Any, ...]:
    """Crop the four corners and the center: top left, top right, bottom left, bottom right, center."""
    return _five("five_crop", inpt, size)


def _five(op: str, inpt: Any, size: int | Sequence[int]) -> tuple[Any, ...]:
    high, wide = size_pair(op, "size", size)
    height, width = get_size(inpt)
    if high > height or wide > width:
        raise ValueError(f"{op}: expected size of at most {[height, width]}, but got {[high, wide]}")
    corners = ((top, left) for top in (0, height - high) for left in (0, width - wide))
    parts = (crop(inpt, top, left, high, wide) for top, left in corners)
    return *parts, center_crop(inpt, (high, wide))


def ten_crop(inpt: Any, size: int | Sequence[int], vertical_flip: bool = False) -> tuple[Any, ...]:
    """The crops of `five_crop` and those of the image flipped horizontally or vertically."""
    is_vertical = flag("ten_crop", "vertical_flip", vertical_flip)
    flipped = (geometry.RandomVerticalFlip if is_vertical else geometry.RandomHorizontalFlip)(1.0)
    return *_five("ten_crop", inpt, size), *_five("ten_crop", apply("ten_crop", inpt, [flipped]), size)


def _of_kind(inpt: Any, interpolation: Any) -> Any:
    """The interpolation for a kind of input: nearest for masks."""
    exact = resizing_of("resize", interpolation, antialias=True) == "nearest_exact"
    return ("nearest_exact" if exact else "nearest") if is_mask(inpt) else interpolation


hflip, vflip, elastic_transform = horizontal_flip, vertical_flip, elastic
