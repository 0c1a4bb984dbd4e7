"""What transforms do, with given parameters, by the names and signatures of torchvision's v2.functional.

Images are tensors, arrays, PIL images, `tv_tensors.Image` or an `ImageBatch`, and come back in their kind.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec import blur, color
from orbbec.jpeg import jpeg_compression
from orbbec.plan.steps import ERASE_WIDTH, Erase, Frame, Step, same_rows
from orbbec.transforms import color as colors
from orbbec.transforms import geometry, output, warps
from orbbec.transforms.affine import Affine, corner_maps
from orbbec.transforms.checks import FillValue, interpolation_of, numbers, pair, resizing_of, size_pair
from orbbec.transforms.cuts import Boxes
from orbbec.transforms.inputs import read
from orbbec.transforms.pipeline import Pipeline
from orbbec.transforms.transform import Transform


@dataclass(frozen=True, eq=False)
class _Given(Transform):
    make: Callable[[Frame], list[Step]]

    def steps(self, params: Any, frame: Frame) -> list[Step]:
        return self.make(frame)


def _done(image: Any, transform: Transform) -> Any:
    return Pipeline((transform,), exact=True)(image, epoch=0)


def _moved(image: Any, make: Callable[[Frame], Step]) -> Any:
    return _done(image, _Given(lambda frame: [make(frame)]))


def _changed(image: Any, operator: Callable[..., Any], *arguments: Any) -> Any:
    given = read(image)
    return given.restore(operator(given.work, *arguments))


def _fill(name: str, fill: FillValue | None) -> tuple[float, ...]:
    return (0.0,) if fill is None else numbers(name, "fill", fill)


def resize(
    inpt: Any,
    size: int | Sequence[int],
    interpolation: Any = "bilinear",
    max_size: int | None = None,
    antialias: bool = True,
) -> Any:
    """Resize an image; one number is the length of its shorter side. See `orbbec.transforms.Resize`."""
    return _done(inpt, geometry.Resize(size, interpolation, max_size, antialias))


def crop(inpt: Any, top: int, left: int, height: int, width: int) -> Any:
    """Cut out a part; what lies outside of the image is 0."""
    size = size_pair("crop", "size", (height, width))

    def cut(frame: Frame) -> Step:
        count = len(frame)
        boxes = Boxes.of_size(np.full(count, float(left)), np.full(count, float(top)), same_rows(size, count))
        return boxes.padded(frame)

    return _moved(inpt, cut)


def center_crop(inpt: Any, output_size: int | Sequence[int]) -> Any:
    """Cut out the middle. See `orbbec.transforms.CenterCrop`."""
    return _done(inpt, geometry.CenterCrop(output_size))


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
    """Resize a part that lies inside of the image; as Pillow, filters read what lies beyond it."""
    method = resizing_of("resized_crop", interpolation, antialias)
    outputs = size_pair("resized_crop", "size", size)
    part = size_pair("resized_crop", "height and width", (height, width))

    def resized(frame: Frame) -> Step:
        if top < 0 or left < 0 or (frame.sizes < [top + part[0], left + part[1]]).any():
            raise ValueError("resized_crop: expected a part inside of the image")
        at_x, at_y, wide, high = (np.full(len(frame), float(v)) for v in (left, top, width, height))
        boxes = Boxes(at_x, at_y, wide, high, same_rows(outputs, len(frame)), outputs)
        return boxes.resized(method, antialias, cuts=True, exact=True)

    return _moved(inpt, resized)


def horizontal_flip(inpt: Any) -> Any:
    """Swap left and right."""
    return _done(inpt, geometry.RandomHorizontalFlip(1.0))


def vertical_flip(inpt: Any) -> Any:
    """Swap top and bottom."""
    return _done(inpt, geometry.RandomVerticalFlip(1.0))


def pad(
    inpt: Any, padding: int | Sequence[int], fill: FillValue | None = None, padding_mode: str = "constant"
) -> Any:
    """Put pixels around an image. See `orbbec.transforms.Pad`."""
    sides = padding if isinstance(padding, int) else tuple(padding)
    return _done(inpt, geometry.Pad(sides, _fill("pad", fill), padding_mode))


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
    """Rotate by `angle` degrees clockwise, translate, scale and shear about the middle or `center`."""
    along, down = (*numbers("affine", "shear", shear, (1, 2)), 0.0)[:2]
    moves = pair("affine", "translate", tuple(translate))
    return _warped(inpt, "affine", (angle, moves, scale, (along, down)), interpolation, fill, center)


def rotate(
    inpt: Any,
    angle: float,
    interpolation: Any = "nearest",
    expand: bool = False,
    center: Sequence[float] | None = None,
    fill: FillValue | None = None,
) -> Any:
    """Rotate by `angle` degrees counter-clockwise about the middle or `center`, which `expand` ignores."""
    center = None if expand else center
    return _warped(inpt, "rotate", (-angle, (0.0, 0.0), 1.0, (0.0, 0.0)), interpolation, fill, center, expand)


def _warped(
    image: Any,
    name: str,
    parameters: tuple[float, tuple[float, float], float, tuple[float, float]],
    interpolation: Any,
    fill: FillValue | None,
    center: Sequence[float] | None,
    expand: bool = False,
) -> Any:
    method, filled = interpolation_of(name, interpolation), _fill(name, fill)
    middle = None if center is None else pair(name, "center", tuple(center))
    if not all(map(math.isfinite, (parameters[0], *parameters[1], parameters[2], *parameters[3]))):
        raise ValueError(f"{name}: expected finite numbers, but got {parameters}")
    if parameters[2] <= 0:
        raise ValueError(f"{name}: expected a scale above 0, but got {parameters[2]}")

    def warped(frame: Frame) -> Step:
        columns = (np.array([value] * len(frame), np.float64) for value in parameters)
        return warps.warped(*Affine(*columns).maps(frame, middle, expand), method, "constant", filled)

    return _moved(image, warped)


def perspective(
    inpt: Any,
    startpoints: Sequence[Sequence[float]],
    endpoints: Sequence[Sequence[float]],
    interpolation: Any = "bilinear",
    fill: FillValue | None = None,
) -> Any:
    """Move four points `startpoints` (x, y) of the image to `endpoints`."""
    method, filled = interpolation_of("perspective", interpolation), _fill("perspective", fill)
    ends, starts = (np.array(points, np.float64).reshape(1, 4, 2) for points in (endpoints, startpoints))
    matrix = corner_maps(ends, starts)
    if not np.isfinite(matrix).all() or abs(np.linalg.det(matrix[0])) < 1e-12:
        raise ValueError("perspective: expected four points of which no three lie on a line")
    return _moved(
        inpt,
        lambda frame: warps.warped(
            np.repeat(matrix, len(frame), 0), frame.sizes, method, "constant", filled, "warp_perspective"
        ),
    )


def adjust_brightness(inpt: Any, brightness_factor: float) -> Any:
    """Multiply by a factor. See `orbbec.adjust_brightness`."""
    return _changed(inpt, color.adjust_brightness, brightness_factor)


def adjust_contrast(inpt: Any, contrast_factor: float) -> Any:
    """Blend with the mean of the gray image. See `orbbec.adjust_contrast`."""
    return _changed(inpt, color.adjust_contrast, contrast_factor)


def adjust_saturation(inpt: Any, saturation_factor: float) -> Any:
    """Blend with the gray image. See `orbbec.adjust_saturation`."""
    return _changed(inpt, color.adjust_saturation, saturation_factor)


def adjust_hue(inpt: Any, hue_factor: float) -> Any:
    """Shift the hue by a fraction of the circle, from -0.5 to 0.5. See `orbbec.adjust_hue`."""
    return _changed(inpt, color.adjust_hue, hue_factor)


def adjust_gamma(inpt: Any, gamma: float, gain: float = 1.0) -> Any:
    """Raise to a power and multiply. See `orbbec.adjust_gamma`."""
    return _changed(inpt, color.adjust_gamma, gamma, gain)


def adjust_sharpness(inpt: Any, sharpness_factor: float) -> Any:
    """Blend with the smoothed image. See `orbbec.adjust_sharpness`."""
    return _changed(inpt, color.adjust_sharpness, sharpness_factor)


def invert(inpt: Any) -> Any:
    """Subtract from the maximum value. See `orbbec.invert`."""
    return _changed(inpt, color.invert)


def posterize(inpt: Any, bits: int) -> Any:
    """Keep the highest bits. See `orbbec.posterize`."""
    return _changed(inpt, color.posterize, bits)


def solarize(inpt: Any, threshold: float) -> Any:
    """Invert from a threshold on. See `orbbec.solarize`."""
    return _changed(inpt, color.solarize, threshold)


def autocontrast(inpt: Any) -> Any:
    """Stretch each channel from black to white. See `orbbec.autocontrast`."""
    return _changed(inpt, color.autocontrast)


def equalize(inpt: Any) -> Any:
    """Equalize the histogram of each channel. See `orbbec.equalize`."""
    return _changed(inpt, color.equalize)


def rgb_to_grayscale(inpt: Any, num_output_channels: int = 1) -> Any:
    """The gray image, of one or three equal channels. See `orbbec.transforms.Grayscale`."""
    return _done(inpt, colors.Grayscale(num_output_channels))


def permute_channels(inpt: Any, permutation: Sequence[int]) -> Any:
    """The channels in another order."""
    given = read(inpt)
    if not isinstance(given.work, Tensor):
        raise TypeError("permute_channels: expected a tensor, an array or a PIL image")
    if sorted(permutation) != list(range(given.channels)):
        raise ValueError(
            f"permute_channels: expected an order of {given.channels} channels, but got {list(permutation)}"
        )
    return given.restore(given.work[:, list(permutation)])


def gaussian_blur(
    inpt: Any, kernel_size: int | Sequence[int], sigma: float | Sequence[float] | None = None
) -> Any:
    """Blur with kernels of (width, height) and deviations along (x, y). See `orbbec.gaussian_blur`."""
    sides = both(kernel_size)
    deviations = [0.15 * side + 0.35 for side in sides] if sigma is None else both(sigma)
    return _changed(inpt, blur.gaussian_blur, (sides[1], sides[0]), (deviations[1], deviations[0]))


def both(value: Any) -> list[Any]:
    """The two numbers, along x and y, that one number or two stand for."""
    listed = [value] if isinstance(value, (int, float)) else list(value)
    return listed * 2 if len(listed) == 1 else listed


def erase(inpt: Any, i: int, j: int, h: int, w: int, v: Any, inplace: bool = False) -> Any:
    """Fill the rectangle of height `h` and width `w` at row `i` and column `j`.

    `v` is a number, or one per channel, also as a tensor `[C, 1, 1]`. `inplace` may not be True.
    """
    if inplace:
        raise ValueError("erase: expected inplace=False")
    values = torch.as_tensor(v, dtype=torch.float64).flatten().tolist()

    def erased(frame: Frame) -> Step:
        if len(values) not in (1, frame.channels):
            raise ValueError(f"erase: expected 1 or {frame.channels} numbers as v, but got {len(values)}")
        row = np.zeros(ERASE_WIDTH)
        row[:4] = j, i, j + w, i + h
        row[4:] = np.resize(values, ERASE_WIDTH - 4)
        return Erase(np.tile(row, (len(frame), 1, 1)))

    return _moved(inpt, erased)


def jpeg(image: Any, quality: int) -> Any:
    """The artefacts of JPEG. See `orbbec.jpeg_compression`."""
    return _changed(image, jpeg_compression, quality)


def normalize(inpt: Any, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> Any:
    """Subtract the mean and divide by the standard deviation; of floats. `inplace` may not be True."""
    if inplace:
        raise ValueError("normalize: expected inplace=False")
    return _done(inpt, output.Normalize(tuple(mean), tuple(std)))


def to_dtype(inpt: Any, dtype: torch.dtype = torch.float32, scale: bool = False) -> Any:
    """Another dtype. See `orbbec.transforms.ToDtype`."""
    return _done(inpt, output.ToDtype(dtype, scale))


def to_image(inpt: Any) -> Any:
    """A tensor `[C, H, W]` of an array or a PIL image."""
    return _done(inpt, output.ToImage())


def pil_to_tensor(pic: Any) -> Any:
    """A tensor `[C, H, W]` of an array or a PIL image."""
    return _done(pic, output.PILToTensor())


def to_tensor(inpt: Any) -> Any:
    """A float32 tensor `[C, H, W]`, of bytes divided by 255."""
    return _done(inpt, output.ToTensor())


def get_size(inpt: Any) -> list[int]:
    """Height and width of an image in pixels."""
    height, width = read(inpt).sizes[0].tolist()
    return [height, width]


def get_dimensions(inpt: Any) -> list[int]:
    """Channels, height and width of an image."""
    return [get_num_channels(inpt), *get_size(inpt)]


def get_num_channels(inpt: Any) -> int:
    """The channels of an image."""
    return read(inpt).channels


hflip, vflip, to_grayscale = horizontal_flip, vertical_flip, rgb_to_grayscale

__all__ = [
    *("adjust_brightness", "adjust_contrast", "adjust_gamma", "adjust_hue", "adjust_saturation"),
    *("adjust_sharpness", "affine", "autocontrast", "center_crop", "crop", "equalize", "erase"),
    *("gaussian_blur", "get_dimensions", "get_num_channels", "get_size", "hflip", "horizontal_flip"),
    *("invert", "jpeg", "normalize", "pad", "permute_channels", "perspective", "pil_to_tensor"),
    *("posterize", "resize", "resized_crop", "rgb_to_grayscale", "rotate", "solarize", "to_dtype"),
    *("to_grayscale", "to_image", "to_tensor", "vertical_flip", "vflip"),
]
