"""Chains of Albumentations in transforms of ours, by the names of classes and attributes.

Those are of Albumentations 2.0 and of AlbumentationsX 2.5, which renamed most ranges.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import torch

from orbbec.transforms.affine import RandomAffine, RandomRotation
from orbbec.transforms.checks import resizing_of
from orbbec.transforms.color import (
    ColorJitter,
    Gamma,
    Grayscale,
    RandomChannelPermutation,
    RandomGrayscale,
    RandomInvert,
    RandomPosterize,
    RandomSolarize,
)
from orbbec.transforms.containers import RandomApply, RandomChoice
from orbbec.transforms.convert import ConversionError, Inner, Maker, as_one, convert, flat
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
from orbbec.transforms.neighborhood import JPEG, GaussianBlur, MedianBlur, RandomAutocontrast, RandomEqualize
from orbbec.transforms.noise import GaussianNoise
from orbbec.transforms.output import Normalize, ToDtype, ToImage
from orbbec.transforms.targets import TargetOptions
from orbbec.transforms.transform import Transform

_OP = "from_albumentations"
_INTERPOLATIONS = {0: "nearest", 1: "linear", 6: "nearest_exact"}  # by OpenCV's numbers
_RENAMED = {  # since AlbumentationsX
    "format": "coord_format",
    "limit": "angle_range",
    "brightness": "brightness_range",
    "contrast": "contrast_range",
    "saturation": "saturation_range",
    "hue": "hue_range",
    "gamma_limit": "gamma_range",
    "blur_limit": "blur_range",
    "sigma_limit": "sigma_range",
}
_PADDING_MODES = {0: "constant", 1: "edge", 2: "symmetric", 4: "reflect"}  # by OpenCV's numbers of borders
_BOX_FORMATS = {"pascal_voc": "xyxy", "coco": "xywh"}
_ZERO = (0.0, 0.0)


def from_albumentations(compose: Any) -> tuple[list[Transform], TargetOptions]:
    """The transforms of a chain of Albumentations; see `Compose.from_albumentations`."""
    steps = getattr(compose, "transforms", compose)
    transforms = flat(convert(_OP, steps, _maker))
    try:
        _expect_if(compose, mask_interpolation=None)
        options = _options(getattr(compose, "processors", {}))
    except ValueError as error:
        raise ConversionError(f"{_OP}: {error}") from error
    return _at_chance(transforms, getattr(compose, "p", 1.0)), options


def _maker(step: Any) -> Maker | None:
    kind = type(step)
    if kind.__module__.split(".")[0] != "albumentations":
        return None
    if kind.__name__ in _CONTAINERS:
        return _CONTAINERS[kind.__name__]
    make = _MAKERS.get(kind.__name__)
    return None if make is None else lambda step, inner: _at_chance(make(step), step.p)


def _at_chance(transforms: Sequence[Transform], p: float) -> list[Transform]:
    """Transforms that are certain, applied with probability `p`."""
    if p == 1.0 or not transforms:
        return list(transforms)
    if len(transforms) == 1 and getattr(transforms[0], "p", None) == 1.0:
        return [replace(transforms[0], **{"p": p})]
    return [RandomApply(transforms, p)]


def _options(processors: Any) -> TargetOptions:
    """What `bbox_params` and `keypoint_params` say."""
    if "keypoints" in processors:
        _expect(processors["keypoints"].params, format="xy")
    if "bboxes" not in processors:
        return TargetOptions()
    boxes = processors["bboxes"].params
    box_format = _of(boxes, "format")
    if box_format not in _BOX_FORMATS:
        raise ValueError(f"expected boxes in pixels, as coco or pascal_voc, but got {box_format!r}")
    _expect(boxes, min_area=0.0, min_height=boxes.min_width, max_accept_ratio=None)
    _expect_if(boxes, bbox_type="hbb", clip_after_transform=True)
    return TargetOptions(_BOX_FORMATS[box_format], boxes.min_width, boxes.min_visibility)


def _of(step: Any, name: str) -> Any:
    """An attribute, by its name in either version."""
    renamed = _RENAMED.get(name, name)
    return getattr(step, renamed) if hasattr(step, renamed) else getattr(step, name)


def _expect(step: Any, **expected: Any) -> None:
    """The only values of attributes that have a counterpart."""
    for name, value in expected.items():
        if _of(step, name) != value:
            raise ValueError(f"expected {name}={value!r}, but got {_of(step, name)!r}")


def _expect_if(step: Any, **expected: Any) -> None:
    """The same of attributes that only one of the versions has."""
    _expect(step, **{name: value for name, value in expected.items() if hasattr(step, name)})


def _interpolation(step: Any) -> str:
    if step.interpolation not in _INTERPOLATIONS:
        raise ValueError(f"expected interpolation nearest or linear (0 or 1), but got {step.interpolation}")
    return _INTERPOLATIONS[step.interpolation]


def _resizing(step: Any) -> dict[str, Any]:
    _expect(step, area_for_downscale=None)
    return {"interpolation": resizing_of(type(step).__name__, step.interpolation), "antialias": False}


def _constant_border(step: Any) -> dict[str, Any]:
    _expect(step, border_mode=0)
    if step.fill_mask is not None:  # no part of Affine in AlbumentationsX
        _expect(step, fill_mask=0.0)
    return {"interpolation": _interpolation(step), "fill": step.fill}


def _smallest(step: Any) -> list[Transform]:
    _expect(step, max_size_hw=None)
    if not isinstance(step.max_size, int):
        raise ValueError(f"expected max_size as one number, but got {step.max_size}")
    return [Resize(step.max_size, **_resizing(step))]


def _resized_crop(step: Any) -> list[Transform]:
    _expect_if(step, sampling_method="standard")
    return [RandomResizedCrop(step.size, step.scale, step.ratio, **_resizing(step))]


def _cropped(step: Any, kind: type[Any]) -> list[Transform]:
    _expect(step, pad_if_needed=False)
    return [kind((step.height, step.width))]


def _padded(step: Any) -> list[Transform]:
    if step.border_mode not in _PADDING_MODES:
        raise ValueError(f"expected border_mode from {list(_PADDING_MODES)}, but got {step.border_mode}")
    _expect(step, fill_mask=0.0)
    return [Pad(step.padding, step.fill, _PADDING_MODES[step.border_mode])]


def _rotated(step: Any) -> list[Transform]:
    _expect(step, crop_border=False)
    return [RandomRotation(_of(step, "limit"), **_constant_border(step))]


_QUARTERS = [RandomRotation((turn, turn), expand=True) for turn in (90.0, 180.0, 270.0)]
_MIRRORS = [RandomHorizontalFlip(1.0), RandomVerticalFlip(1.0)]


def _quarter_turns(step: Any) -> list[Transform]:
    _expect_if(step, group_element=None, group_elements=None)
    return [RandomChoice([as_one([]), *_QUARTERS])]


def _symmetries(step: Any) -> list[Transform]:
    _expect_if(step, group_element=None)
    diagonal = [as_one([_QUARTERS[0], mirror]) for mirror in _MIRRORS]
    return [RandomChoice([as_one([]), *_QUARTERS, *_MIRRORS, *diagonal])]


def _brightened(step: Any) -> list[Transform]:
    if step.brightness_by_max or not hasattr(step, "brightness_range"):
        raise ValueError(
            "expected AlbumentationsX's brightness_by_max=False, since there is no sum of an image and a "
            "brightness here; ColorJitter is near to it"
        )
    _expect_if(step, ensure_safe_output=False)
    brightness, contrast = ((1 + low, 1 + high) for low, high in (step.brightness_range, step.contrast_range))
    return [ColorJitter(contrast=contrast), ColorJitter(brightness)]


def _letterboxed(step: Any) -> list[Transform]:
    _expect(step, position="center", fill_mask=0.0)
    _expect_if(step, area_for_downscale=None)
    return [Letterbox(step.size, step.fill, resizing_of("LetterBox", step.interpolation))]


def _affine(step: Any) -> list[Transform]:
    _expect(step, fit_output=False, balanced_scale=False)
    scale, shear = step.scale["x"], step.shear
    if step.scale["y"] != scale or (not step.keep_ratio and scale[0] != scale[1]):
        raise ValueError("expected keep_ratio=True or one scale, since width and height get the same factor")
    sheared = [axis for axis in ("x", "y") if tuple(shear[axis]) != _ZERO]
    if len(sheared) == 2 or (sheared and tuple(step.rotate) != _ZERO):
        raise ValueError("expected shear along one axis and without rotate, or none")
    low, high = step.rotate
    return [
        RandomAffine(
            (-high, -low),  # clockwise
            _shifts(step),
            scale,
            (*shear["x"], *shear["y"]) if sheared else None,
            **_constant_border(step),
        )
    ]


def _shifts(step: Any) -> tuple[float, float] | None:
    """Largest shifts along x and y, as shares of the sides."""
    if step.translate_percent is None:
        _expect(step, translate_px={"x": (0, 0), "y": (0, 0)})
        return None
    (left, right), (top, bottom) = step.translate_percent["x"], step.translate_percent["y"]
    if left != -right or top != -bottom:
        raise ValueError(f"expected translate_percent about 0, but got {step.translate_percent}")
    return right, bottom


def _shuffled(step: Any) -> list[Transform]:
    _expect_if(step, channel_order=None)
    return [RandomChannelPermutation()]


def _gray(step: Any) -> list[Transform]:
    _expect(step, method="weighted_average")
    return [RandomGrayscale(1.0) if step.num_output_channels == 3 else Grayscale(step.num_output_channels)]


def _blurred(step: Any) -> list[Transform]:
    (low, high), sigma = _of(step, "blur_limit"), _of(step, "sigma_limit")
    if low != high:
        raise ValueError(f"expected one blur_limit, but got {(low, high)}")
    _expect_if(step, volume_mode="slice")
    side = high or int(sigma[1] * 3.5) * 2  # of the largest sigma
    return [GaussianBlur(side + 1 - side % 2, sigma)]


def _median(step: Any) -> list[Transform]:
    low, high = (max(3, side + 1 - side % 2) for side in _of(step, "blur_limit"))
    return [MedianBlur((low, high), 1.0)]


def _noisy(step: Any) -> list[Transform]:
    _expect(step, per_channel=True)
    _expect_if(step, noise_scale_factor=1.0)
    return [GaussianNoise(step.mean_range, step.std_range)]


def _compressed(step: Any) -> list[Transform]:
    _expect(step, compression_type="jpeg")
    return [JPEG(step.quality_range)]


def _normalized(step: Any) -> list[Transform]:
    _expect(step, normalization="standard")
    _expect_if(step, clip_range=None)
    if step.max_pixel_value != 1.0:
        _expect(step, max_pixel_value=255.0)
    scaled = [ToDtype(torch.float32, scale=True)] if step.max_pixel_value == 255.0 else []
    return [*scaled, Normalize(step.mean, step.std)]


def _one(step: Any, name: str) -> Any:
    """The value of a range that holds one alone."""
    low, high = getattr(step, name)
    if low != high:
        raise ValueError(f"expected {name} of one value, but got {getattr(step, name)}")
    return low


def _to_float(step: Any) -> list[Transform]:
    if step.max_value is not None:
        _expect(step, max_value=255.0)
    return [ToDtype(torch.float32, scale=True)]


def _equalized(step: Any) -> list[Transform]:
    _expect(step, mode="pil", by_channels=True, mask=None)
    return [RandomEqualize(1.0)]


def _autocontrasted(step: Any) -> list[Transform]:
    _expect(step, method="pil", cutoff=0, ignore=None)
    return [RandomAutocontrast(1.0)]


def _sequential(step: Any, inner: Inner) -> list[Transform]:
    return _at_chance(flat(inner(step.transforms)), step.p)


def _one_of(step: Any, inner: Inner) -> list[Transform]:
    certain = [copy(each) for each in step.transforms]  # a chosen one is applied whatever its own p
    for each in certain:
        each.p = 1.0
    chosen = RandomChoice([as_one(part) for part in inner(certain)], tuple(map(float, step.transforms_ps)))
    return _at_chance([chosen], step.p)


_CONTAINERS: dict[str, Maker] = {"Compose": _sequential, "Sequential": _sequential, "OneOf": _one_of}

_MAKERS: dict[str, Callable[[Any], list[Transform]]] = {
    "NoOp": lambda step: [],
    "ToTensorV2": lambda step: [ToImage()],
    "Resize": lambda step: [Resize((step.height, step.width), **_resizing(step))],
    "SmallestMaxSize": _smallest,
    "RandomCrop": lambda step: _cropped(step, RandomCrop),
    "CenterCrop": lambda step: _cropped(step, CenterCrop),
    "RandomResizedCrop": _resized_crop,
    "Pad": _padded,
    "HorizontalFlip": lambda step: [RandomHorizontalFlip(1.0)],
    "VerticalFlip": lambda step: [RandomVerticalFlip(1.0)],
    "RandomRotate90": _quarter_turns,
    **dict.fromkeys(("D4", "SquareSymmetry"), _symmetries),
    "LetterBox": _letterboxed,
    "RandomBrightnessContrast": _brightened,
    "Rotate": _rotated,
    "Affine": _affine,
    "ShiftScaleRotate": _affine,
    "ColorJitter": lambda step: [
        ColorJitter(*(_of(step, name) for name in ("brightness", "contrast", "saturation", "hue")))
    ],
    "ToGray": _gray,
    "InvertImg": lambda step: [RandomInvert(1.0)],
    "Posterize": lambda step: [RandomPosterize(_one(step, "num_bits"), 1.0)],
    "Solarize": lambda step: [RandomSolarize(255.0 * _one(step, "threshold_range"), 1.0)],
    "RandomGamma": lambda step: [Gamma(tuple(limit / 100 for limit in _of(step, "gamma_limit")))],
    "ChannelShuffle": _shuffled,
    "Equalize": _equalized,
    "AutoContrast": _autocontrasted,
    "GaussianBlur": _blurred,
    "MedianBlur": _median,
    "GaussNoise": _noisy,
    "ImageCompression": _compressed,
    "Normalize": _normalized,
    "ToFloat": _to_float,
}
