"""Converters of single Albumentations steps: values, objects, references, crops of drawn sides."""

from __future__ import annotations

import os
from typing import Any

from orbbec.bridge.plain import is_number, listed
from orbbec.transforms.adaptation import FDA, HistogramMatching
from orbbec.transforms.base.checks import resizing_of
from orbbec.transforms.base.transform import Transform
from orbbec.transforms.box_crops import AtLeastOneBBoxRandomCrop, BBoxSafeRandomCrop, CropNonEmptyMaskIfExists
from orbbec.transforms.convert.albumentations_attributes import (
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
from orbbec.transforms.degradations import CLAHE, Defocus, Downscale, UnsharpMask
from orbbec.transforms.effects.artifacts import (
    ChromaticAberration,
    Emboss,
    Morphological,
    RingingOvershoot,
    Sharpen,
)
from orbbec.transforms.effects.blurs import GlassBlur, ZoomBlur
from orbbec.transforms.effects.flares import RandomSunFlare
from orbbec.transforms.effects.kernels import AdvancedBlur, LineBlur
from orbbec.transforms.effects.plasma import PlasmaBrightnessContrast, PlasmaShadow
from orbbec.transforms.effects.spatter import Spatter
from orbbec.transforms.effects.weather import RandomFog, RandomRain, RandomSnow
from orbbec.transforms.erasing import CoarseDropout, GridDropout, XYMasking
from orbbec.transforms.geometry import Resize
from orbbec.transforms.lights import Illumination, PlanckianJitter, RandomShadow, Vignetting
from orbbec.transforms.noise import PixelDropout, SaltAndPepper, ShotNoise
from orbbec.transforms.objects import ConstrainedCoarseDropout, MaskDropout
from orbbec.transforms.shapes import CropAndPad, RandomCropFromBorders, RandomSizedCrop
from orbbec.transforms.tones import (
    ChannelDropout,
    ChannelSwap,
    HueSaturationValue,
    MultiplicativeNoise,
    RandomToneCurve,
    RGBShift,
    ToSepia,
)

_HOLES = ("num_holes_range", "hole_height_range", "hole_width_range")
_RAIN = ("drop_width", "drop_color", "blur_value", "brightness_coefficient", "rain_type")
_FLARE = ("flare_roi", "src_radius", "src_color", "angle_range", "num_flare_circles_range")
_LAYER = ("mean", "std", "gauss_sigma", "cutout_threshold", "intensity")
_SHAPE = ("sigma_x", "sigma_y", "rotate", "beta", "noise")


def _shifted_rgb(step: Any) -> list[Transform]:
    expect(step, spatial_mode="constant")
    red, green, blue = step.noise_params["ranges"]
    return [RGBShift(red, green, blue, 1.0)]


def _pixels_dropped(step: Any) -> list[Transform]:
    expect(step, per_channel=False, mask_drop_value=None)
    if not is_number(step.drop_value):
        raise ValueError(f"expected drop_value as a number, but got {step.drop_value!r}")
    return [PixelDropout(step.dropout_prob, step.drop_value, 1.0)]


def _lit(step: Any) -> list[Transform]:
    one_of(step, "mode", ("linear", "gaussian"))
    expect_if(step, num_spots_range=(1, 1), gaussian_spots=None)
    if step.mode == "linear" and hasattr(step, "num_spots_range"):
        raise ValueError("expected mode='gaussian', since AlbumentationsX adds its gradient to the image")
    if step.mode == "linear" and single(step, "angle_range") % 45:
        raise ValueError(
            f"expected angle_range of one multiple of 45, but got {step.angle_range}; at other angles "
            "Albumentations does not scale its gradient to 0 to 1"
        )
    ranges = step.angle_range, step.center_range, step.sigma_range
    return [Illumination(step.mode, step.intensity_range, step.effect_type, *ranges, 1.0)]


def _bands(step: Any) -> list[Transform]:
    x, y = (both_ends(attribute(step, f"num_masks_{axis}")) for axis in "xy")
    lengths = [both_ends(attribute(step, f"mask_{axis}_length")) for axis in "xy"]
    if any(isinstance(high, float) and high >= 1 for _, high in lengths):
        raise ValueError(f"expected fractions below 1 as lengths, but got {lengths[0]} and {lengths[1]}")
    if type(step).__name__ == "XYMasking":  # the others also fill masks, which spectrograms do not have
        expect(step, fill_mask=None)
    return [XYMasking(x, y, lengths[0], lengths[1], step.fill, 1.0)]


def both_ends(value: Any) -> Any:
    """A range, or one number for both ends."""
    return (value, value) if is_number(value) else value


def _dropped_in_cells(step: Any) -> list[Transform]:
    expect(step, fill_mask=None)
    if not step.random_offset:
        expect(step, shift_xy=(0, 0))
    how = step.random_offset, step.fill, 1.0
    if step.holes_number_xy:
        rows, columns = step.holes_number_xy  # whatever the name says
        return [GridDropout(step.ratio, (columns, rows), *how)]
    sides = step.unit_size_range
    if sides and not hasattr(step, "sample_parameters"):  # 2.0 draws below the upper end
        sides = sides[0], sides[1] - 1
    return [GridDropout(step.ratio, None, *how, unit_size_range=sides)]


def _downscaled(step: Any) -> list[Transform]:
    down, up = (resizing_of("Downscale", step.interpolation_pair[way]) for way in ("downscale", "upscale"))
    return [Downscale(step.scale_range, down, up, 1.0)]


def _unsharpened(step: Any) -> list[Transform]:
    low, high = attribute(step, "blur_limit")
    sides = low, high - (high - low) % 2
    return [UnsharpMask(sides, attribute(step, "sigma_limit"), attribute(step, "alpha"), step.threshold, 1.0)]


def _ringing(step: Any) -> list[Transform]:
    low, high = attribute(step, "blur_limit")
    low += 1 - low % 2
    return [RingingOvershoot((low, max(low, high - 1 + high % 2)), attribute(step, "cutoff"), 1.0)]


def _sized_safe_crop(step: Any) -> list[Transform]:
    expect_if(step, mask_interpolation=0)
    interpolation = resizing_of("RandomSizedBBoxSafeCrop", step.interpolation)
    crop = BBoxSafeRandomCrop(step.erosion_rate)
    return [crop, Resize((step.height, step.width), interpolation, antialias=False)]


def _amounts(name: str, value: Any) -> tuple[float, float] | None:
    """The range of one number, or of (low, high), without the upper end if in pixels; None: neither."""
    if is_number(value):
        return value, value
    ends = listed(value) or []
    return (ends[0], ends[1] - (name == "px")) if len(ends) == 2 and all(map(is_number, ends)) else None


def _cropped_and_padded(step: Any) -> list[Transform]:
    expect_if(step, px_choices=None, percent_choices=None, mask_interpolation=0)
    name, amount = ("px", step.px) if step.px is not None else ("percent", step.percent)
    several = listed(amount) or [amount]
    sides = (
        [several[side] for side in (3, 0, 1, 2)] if len(several) == 4 else [amount]
    )  # theirs begin at the top
    ranges = [_amounts(name, side) for side in sides]
    if None in ranges:
        raise ValueError(f"expected {name} as a number, (low, high) or four of these, but got {amount}")
    how: dict[str, Any] = {f"{name}_range": ranges if len(ranges) == 4 else ranges[0]}
    how |= {"p": 1.0, **padding(step)}
    how["interpolation"] = resizing_of("CropAndPad", step.interpolation)
    return [CropAndPad(keep_size=step.keep_size, sample_independently=step.sample_independently, **how)]


def _numbers_to_fill(step: Any) -> Any:
    if isinstance(step.fill, str):
        raise ValueError(f"expected fill as numbers, but got {step.fill!r}")
    return step.fill


def _dropped_at_objects(step: Any) -> list[Transform]:
    expect(step, fill_mask=None)
    if step.mask_indices is None and step.bbox_labels is None:
        raise ValueError("expected mask_indices or bbox_labels, since nothing is dropped without")
    ranges = step.num_holes_range, step.hole_height_range, step.hole_width_range
    labels = step.bbox_labels if step.mask_indices is None else None
    return [ConstrainedCoarseDropout(*ranges, _numbers_to_fill(step), step.mask_indices, labels, 1.0)]


def _references(step: Any) -> list[Any]:
    """The images of the other domain, or their paths."""
    images = getattr(step, "reference_images", None)
    if images is None:
        raise ValueError(
            f"expected reference_images, since orbbec's {type(step).__name__} has its images in the argument "
            "references, not under metadata_key in each call"
        )
    is_default = getattr(step.read_fn, "__module__", "").split(".")[0] == "albumentations"
    if is_default and all(isinstance(each, (str, os.PathLike)) for each in images):
        return list(images)
    return [step.read_fn(each) for each in images]


VALUE_MAKERS: dict[str, Make] = {
    "HueSaturationValue": row(HueSaturationValue, "hue_shift_limit", "sat_shift_limit", "val_shift_limit"),
    "RGBShift": _shifted_rgb,
    "MultiplicativeNoise": row(MultiplicativeNoise, "multiplier", "per_channel", only={"elementwise": False}),
    "PlanckianJitter": row(PlanckianJitter, "mode", "temperature_limit", only={"sampling_method": "uniform"}),
    "RandomToneCurve": row(RandomToneCurve, "scale", "per_channel"),
    "SaltAndPepper": row(SaltAndPepper, "amount", "salt_vs_pepper"),
    "PixelDropout": _pixels_dropped,
    "ShotNoise": row(ShotNoise, "scale_range"),
    "ToSepia": row(ToSepia),
    "ChannelSwap": row(ChannelSwap, "channel_order"),
    "Vignetting": row(Vignetting, "intensity_range", "center_range"),
    "Illumination": _lit,
    "RandomShadow": row(
        RandomShadow, "shadow_roi", "num_shadows_limit", "shadow_dimension", "shadow_intensity_range"
    ),
    "ChannelDropout": row(ChannelDropout, "channel_drop_range", "fill"),
    "CoarseDropout": row(CoarseDropout, *_HOLES, "fill", only={"fill_mask": None}),
    "GridDropout": _dropped_in_cells,
    "MaskDropout": row(MaskDropout, "max_objects", _numbers_to_fill, only={"fill_mask": 0}),
    "ConstrainedCoarseDropout": _dropped_at_objects,
    "Downscale": _downscaled,
    "CLAHE": row(CLAHE, "clip_limit", lambda step: tuple(step.tile_grid_size)[::-1]),
    "UnsharpMask": _unsharpened,
    "Defocus": row(Defocus, "radius", "alias_blur"),
    "ZoomBlur": row(ZoomBlur, "max_factor", "step_factor"),
    "GlassBlur": row(GlassBlur, "sigma", "max_delta", "iterations"),
    "MotionBlur": row(LineBlur, odd_sides, "angle_range", "direction_range", "allow_shifted"),
    "AdvancedBlur": row(AdvancedBlur, odd_sides, *(f"{name}_limit" for name in _SHAPE)),
    "Emboss": row(Emboss, "alpha", "strength"),
    "Sharpen": row(Sharpen, "alpha", "lightness", only={"method": "kernel"}),
    "RingingOvershoot": _ringing,
    "ChromaticAberration": row(
        ChromaticAberration,
        "primary_distortion_limit",
        "secondary_distortion_limit",
        "mode",
        warp_interpolation,
    ),
    "Morphological": row(Morphological, lambda step: tuple(step.scale)[::-1], "operation"),
    "RandomSnow": row(RandomSnow, "brightness_coeff", "snow_point_range", only={"method": "bleach"}),
    "RandomFog": row(RandomFog, "alpha_coef", "fog_coef_range"),
    "RandomRain": row(RandomRain, "slant_range", lambda step: step.drop_length or 0, *_RAIN),
    "RandomSunFlare": row(RandomSunFlare, *_FLARE, only={"method": "overlay"}),
    "Spatter": row(Spatter, *_LAYER, "mode", lambda step: tuple(step.color)),
    "PlasmaBrightnessContrast": row(
        PlasmaBrightnessContrast, "brightness_range", "contrast_range", "roughness"
    ),
    "PlasmaShadow": row(PlasmaShadow, "shadow_intensity_range", "roughness"),
    "FDA": row(FDA, _references, "beta_limit"),
    "HistogramMatching": row(HistogramMatching, _references, "blend_ratio"),
    **dict.fromkeys(("XYMasking", "TimeMasking", "FrequencyMasking"), _bands),
    "CropNonEmptyMaskIfExists": row(
        CropNonEmptyMaskIfExists,
        ("height", "width"),
        lambda step: step.ignore_values or (),
        only={"ignore_channels": None},
    ),
    "RandomCropFromBorders": row(RandomCropFromBorders, "crop_left", "crop_right", "crop_top", "crop_bottom"),
    "BBoxSafeRandomCrop": row(BBoxSafeRandomCrop, "erosion_rate"),
    "RandomSizedBBoxSafeCrop": _sized_safe_crop,
    "AtLeastOneBBoxRandomCrop": row(AtLeastOneBBoxRandomCrop, ("height", "width"), "erosion_factor"),
    "RandomSizedCrop": row(RandomSizedCrop, "min_max_height", "size", "w2h_ratio", how=resizing),
    "CropAndPad": _cropped_and_padded,
}
