"""Converters of single Albumentations steps to orbbec transforms. They ignore the step's own probability."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec.transforms.affine import RandomAffine, RandomRotation, SafeRotate
from orbbec.transforms.base.checks import resizing_of
from orbbec.transforms.base.transform import Transform
from orbbec.transforms.color import (
    RGB,
    ColorJitter,
    Gamma,
    Grayscale,
    RandomBrightnessContrast,
    RandomChannelPermutation,
    RandomGrayscale,
    RandomInvert,
    RandomPhotometricDistort,
    RandomPosterize,
    RandomSolarize,
)
from orbbec.transforms.containers import RandomChoice
from orbbec.transforms.convert import as_one
from orbbec.transforms.convert.albumentations_attributes import (
    PADDING_MODES,
    ZERO,
    Make,
    attribute,
    expect,
    expect_if,
    odd_sides,
    one_of,
    padding,
    resizing,
    row,
    single,
    warp_interpolation,
)
from orbbec.transforms.convert.albumentations_values import VALUE_MAKERS
from orbbec.transforms.distortions import Perspective, RandomGridShuffle
from orbbec.transforms.fits import Crop, PadIfNeeded, RandomScale, ResizeToFit
from orbbec.transforms.function import Lambda
from orbbec.transforms.geometry import (
    CenterCrop,
    Letterbox,
    Pad,
    RandomCrop,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomVerticalFlip,
    Resize,
)
from orbbec.transforms.neighborhood import (
    JPEG,
    BoxBlur,
    GaussianBlur,
    MedianBlur,
    RandomAutocontrast,
    RandomEqualize,
)
from orbbec.transforms.noise import GaussianNoise
from orbbec.transforms.output import Normalize, ToDtype, ToImage
from orbbec.transforms.shapes import ResizeKeepRatio


def _choice(transforms: Sequence[Transform], weights: Sequence[float] | None = None) -> list[Transform]:
    if len(transforms) == 1:
        return list(transforms)
    return [RandomChoice(transforms, weights)]


# Sizes


def _lengths(step: Any) -> list[int]:
    """The side lengths to draw from."""
    return [step.max_size] if isinstance(step.max_size, int) else list(step.max_size)


def _smallest(step: Any) -> list[Transform]:
    expect(step, max_size_hw=None)
    return _choice([ResizeKeepRatio(length, **resizing(step)) for length in _lengths(step)])


def _longest(step: Any) -> list[Transform]:
    if step.max_size_hw is None:
        return _choice([ResizeToFit(length, **resizing(step)) for length in _lengths(step)])
    if None in step.max_size_hw:
        raise ValueError(f"expected max_size_hw as two numbers, but got {step.max_size_hw}")
    return [ResizeToFit(step.max_size_hw, **resizing(step))]


def _scaled(step: Any) -> list[Transform]:
    limits = attribute(step, "scale_limit")
    if isinstance(limits, dict):
        raise ValueError(f"expected one scale_range for both sides, but got {limits}")
    low, high = limits
    return [RandomScale((1 + low, 1 + high), **resizing(step))]


def _letterboxed(step: Any) -> list[Transform]:
    expect(step, fill_mask=0.0)
    expect_if(step, area_for_downscale=None, mask_interpolation=0)
    interpolation = resizing_of("LetterBox", step.interpolation)
    if step.position == "center":
        return [Letterbox(step.size, step.fill, interpolation)]
    return [
        ResizeToFit(step.size, interpolation, antialias=False),
        PadIfNeeded(step.size, step.fill, position=step.position),
    ]


# Crops and padding


def _padding_to(step: Any) -> dict[str, Any]:
    return {"position": step.position, **padding(step)}


def _cropped(step: Any, kind: type[Any]) -> list[Transform]:
    size = step.height, step.width
    if not step.pad_if_needed:
        return [kind(size)]
    return [PadIfNeeded(size, position=step.pad_position, **padding(step)), kind(size)]


def _cut(step: Any) -> list[Transform]:
    expect(step, pad_if_needed=False)
    return [Crop(step.y_min, step.x_min, step.y_max - step.y_min, step.x_max - step.x_min)]


# Flips, rotations, affine transforms

_QUARTERS = [RandomRotation((angle, angle), expand=True) for angle in (90.0, 180.0, 270.0)]
_MIRRORS = [RandomHorizontalFlip(1.0), RandomVerticalFlip(1.0)]
_SYMMETRIES = {
    "e": as_one([]),
    **dict(zip(("r90", "r180", "r270"), _QUARTERS, strict=True)),
    **dict(zip(("h", "v"), _MIRRORS, strict=True)),
    **{name: as_one([_QUARTERS[0], mirror]) for name, mirror in zip(("hvt", "t"), _MIRRORS, strict=True)},
}


def _symmetries(step: Any, names: Sequence[str]) -> list[Transform]:
    """The symmetries in `names`, or those that AlbumentationsX lists."""
    one, several = getattr(step, "group_element", None), getattr(step, "group_elements", None)
    names = [one] if one is not None else several or names
    return _choice([_SYMMETRIES[name] for name in names])


def _outside(step: Any) -> dict[str, Any]:
    """The interpolation and the border of a warp."""
    expect_if(step, mask_interpolation=0)
    if step.fill_mask is not None:  # missing in AlbumentationsX's Affine
        expect(step, fill_mask=0.0)
    return {
        "interpolation": warp_interpolation(step),
        "fill": step.fill,
        "padding_mode": PADDING_MODES[one_of(step, "border_mode", PADDING_MODES)],
    }


def _affine(step: Any) -> list[Transform]:
    expect(step, balanced_scale=False)
    (low, high), shear = step.scale["x"], step.shear
    is_one = step.keep_ratio or (tuple(step.scale["y"]) == (low, high) and low == high)
    scale = (low, high) if is_one else (low, high, *step.scale["y"])
    sheared = [axis for axis in ("x", "y") if tuple(shear[axis]) != ZERO]
    if len(sheared) == 2 or (sheared and tuple(step.rotate) != ZERO):
        raise ValueError("expected shear along one axis and without rotate, or none")
    first, last = step.rotate
    return [
        RandomAffine(
            (-last, -first),  # clockwise
            None if step.fit_output else _shifts(step),  # whole pixels, which do not change the fit
            scale,
            (*shear["x"], *shear["y"]) if sheared else None,
            **_outside(step),
            expand=bool(step.fit_output),
        )
    ]


def _shifts(step: Any) -> tuple[float, float] | None:
    """Largest shifts along x and y, as fractions of the sides."""
    if step.translate_percent is None:
        expect(step, translate_px={"x": (0, 0), "y": (0, 0)})
        return None
    (left, right), (top, bottom) = step.translate_percent["x"], step.translate_percent["y"]
    if left != -right or top != -bottom:
        raise ValueError(f"expected translate_percent symmetric about 0, but got {step.translate_percent}")
    return right, bottom


# Colors


def _brightened(step: Any) -> list[Transform]:
    expect_if(step, ensure_safe_range=False, ensure_safe_output=False)
    ranges = attribute(step, "brightness_limit"), attribute(step, "contrast_limit")
    if step.brightness_by_max:
        return [RandomBrightnessContrast(*ranges, 1.0)]
    if not hasattr(step, "brightness_range"):
        raise ValueError("expected brightness_by_max=True, since 2.0 otherwise adds a fraction of the mean")
    brightness, contrast = ((1 + low, 1 + high) for low, high in ranges)
    return [ColorJitter(contrast=contrast), ColorJitter(brightness)]


def _distorted(step: Any) -> list[Transform]:
    ranges = step.brightness_range, step.contrast_range, step.saturation_range, step.hue_range
    return [RandomPhotometricDistort(*ranges, step.distort_p)]


def _gammas(step: Any) -> tuple[float, float]:
    low, high = attribute(step, "gamma_limit")
    return low / 100, high / 100


def _gray(step: Any) -> list[Transform]:
    expect(step, method="weighted_average")
    return [RandomGrayscale(1.0) if step.num_output_channels == 3 else Grayscale(step.num_output_channels)]


def _posterized(step: Any) -> list[Transform]:
    if isinstance(step.num_bits, list):
        raise ValueError(f"expected one num_bits for all channels, but got {step.num_bits}")
    low, high = step.num_bits
    return _choice([RandomPosterize(bits, 1.0) for bits in range(low, high + 1)])


# Blur, noise, compression


def _blurred(step: Any) -> list[Transform]:
    (low, high), sigma = attribute(step, "blur_limit"), attribute(step, "sigma_limit")
    expect_if(step, volume_mode="slice")
    sides = (
        side or int(sigma[1] * 3.5) * 2 for side in range(low, high + 1)
    )  # 0: derived from the largest sigma
    counts = Counter(side + 1 - side % 2 for side in sides)
    return _choice([GaussianBlur(side, sigma) for side in counts], tuple(counts.values()))


def _added_noise(step: Any) -> list[Transform]:
    expect(step, noise_type="gaussian", spatial_mode="per_pixel")
    expect_if(step, approximation=1.0)
    return [GaussianNoise(step.noise_params["mean_range"], step.noise_params["std_range"])]


# Dtypes, normalizing, functions


def _normalized(step: Any) -> list[Transform]:
    expect(step, normalization="standard")
    expect_if(step, clip_range=None)
    maximum = step.max_pixel_value
    if maximum in (1.0, 255.0):
        return [ToDtype(torch.float32, scale=maximum == 255.0), Normalize(step.mean, step.std)]
    mean, std = (tuple(np.ravel(value) * (maximum / 255.0)) for value in (step.mean, step.std))
    return [ToDtype(torch.float32, scale=True), Normalize(mean, std)]


def _to_float(step: Any) -> list[Transform]:
    one_of(step, "max_value", (None, 255.0))
    return [ToDtype(torch.float32, scale=True)]


def _from_float(step: Any) -> list[Transform]:
    expect(step, dtype="uint8", max_value=255.0)
    return [ToDtype(torch.uint8, scale=True)]


@dataclass(frozen=True)
class OnArrays:
    """Adapts a function of arrays `[H, W, C]` and `shape=` to tensors `[C, H, W]`."""

    function: Callable[..., Any]

    def __call__(self, image: Tensor) -> Tensor:
        array = np.ascontiguousarray(image.permute(1, 2, 0).cpu().numpy())
        result = np.asarray(self.function(array, shape=array.shape)).reshape(array.shape)
        return torch.from_numpy(np.ascontiguousarray(result)).permute(2, 0, 1).to(image.device)


def _applied(step: Any) -> list[Transform]:
    functions = step.custom_apply_fns
    for name in ("mask", "keypoints", "bboxes"):
        if functions[name].__name__ != "noop":
            raise ValueError(f"expected {name}=None, since a function applies to images only")
    return [] if functions["image"].__name__ == "noop" else [Lambda(OnArrays(functions["image"]))]


MAKERS: dict[str, Make] = {
    "NoOp": lambda step: [],
    "ToTensorV2": row(ToImage),
    "Resize": row(Resize, ("height", "width"), how=resizing),
    "SmallestMaxSize": _smallest,
    "LongestMaxSize": _longest,
    "RandomScale": _scaled,
    "LetterBox": _letterboxed,
    "RandomCrop": lambda step: _cropped(step, RandomCrop),
    "CenterCrop": lambda step: _cropped(step, CenterCrop),
    "Crop": _cut,
    "RandomResizedCrop": row(
        RandomResizedCrop,
        "size",
        "scale",
        "ratio",
        how=resizing,
        only_if_there={"sampling_method": "standard"},
    ),
    "Pad": row(Pad, "padding", how=padding),
    "PadIfNeeded": row(
        PadIfNeeded,
        ("min_height", "min_width"),
        how=_padding_to,
        only={"pad_height_divisor": None, "pad_width_divisor": None},
    ),
    **dict.fromkeys(("HorizontalFlip", "TimeReverse"), row(RandomHorizontalFlip)),
    "VerticalFlip": row(RandomVerticalFlip),
    "Transpose": lambda step: [_SYMMETRIES["t"]],
    "RandomRotate90": lambda step: _symmetries(step, ("e", "r90", "r180", "r270")),
    **dict.fromkeys(("D4", "SquareSymmetry"), lambda step: _symmetries(step, tuple(_SYMMETRIES))),
    "Rotate": row(RandomRotation, "limit", how=_outside, only={"crop_border": False}),
    "SafeRotate": row(SafeRotate, "limit", how=_outside, only={"rotate_method": "largest_box"}),
    "RandomGridShuffle": row(RandomGridShuffle, "grid"),
    "Perspective": row(Perspective, "scale", "keep_size", "fit_output", how=_outside),
    **dict.fromkeys(("Affine", "ShiftScaleRotate"), _affine),
    "RandomBrightnessContrast": _brightened,
    "ColorJitter": row(ColorJitter, "brightness", "contrast", "saturation", "hue"),
    "PhotoMetricDistort": _distorted,
    "ToGray": _gray,
    "ToRGB": row(RGB, only={"num_output_channels": 3}),
    "InvertImg": row(RandomInvert),
    "Posterize": _posterized,
    "Solarize": row(RandomSolarize, lambda step: 255.0 * single(step, "threshold_range")),
    "RandomGamma": row(Gamma, _gammas),
    "ChannelShuffle": row(RandomChannelPermutation, only_if_there={"channel_order": None}),
    "Equalize": row(RandomEqualize, only={"mode": "pil", "by_channels": True, "mask": None}),
    "AutoContrast": row(RandomAutocontrast, only={"method": "pil", "cutoff": 0, "ignore": None}),
    "GaussianBlur": _blurred,
    "Blur": row(BoxBlur, odd_sides),
    "MedianBlur": row(MedianBlur, odd_sides),
    "GaussNoise": row(
        GaussianNoise,
        "mean_range",
        "std_range",
        only={"per_channel": True},
        only_if_there={"noise_scale_factor": 1.0},
    ),
    "AdditiveNoise": _added_noise,
    "ImageCompression": row(JPEG, "quality_range", only={"compression_type": "jpeg"}),
    "Normalize": _normalized,
    "ToFloat": _to_float,
    "FromFloat": _from_float,
    "Lambda": _applied,
    **VALUE_MAKERS,
}

# Suggestions for classes that draw or compute something different from their nearest counterpart.
NEAREST = {
    "Enhance": "Sharpen",
    **dict.fromkeys(("RicianNoise", "FilmGrain"), "GaussianNoise"),
    **{name: name for name in ("FancyPCA", "ISONoise")},
    "Erasing": "RandomErasing",
    "GuidedCoarseDropout": "ConstrainedCoarseDropout",
    "PixelDistributionAdaptation": "PixelDistributionAdaptation",
    "GridMask": "GridDropout",
    **dict.fromkeys(("ElasticTransform", "GridElasticDeform"), "ElasticTransform"),
    "PiecewiseAffine": "ElasticTransform",
    **{name: name for name in ("GridDistortion", "OpticalDistortion", "ThinPlateSpline")},
    "BBoxSubsetSafeRandomCrop": "BBoxSafeRandomCrop",
    "RandomCropNearBBox": "AtLeastOneBBoxRandomCrop",
    "Mosaic": "Mosaic, which combines images of one batch",
}
