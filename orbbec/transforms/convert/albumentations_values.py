"""Converters of single Albumentations steps that change values, or crop and resize by drawn sides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from orbbec.bridge.plain import is_number, listed
from orbbec.transforms.base.checks import interpolation_of, resizing_of
from orbbec.transforms.base.transform import Transform
from orbbec.transforms.box_crops import AtLeastOneBBoxRandomCrop, BBoxSafeRandomCrop, CropNonEmptyMaskIfExists
from orbbec.transforms.convert.albumentations_attributes import (
    attribute,
    expect,
    expect_if,
    one_of,
    padding,
    resizing,
    single,
)
from orbbec.transforms.degradations import CLAHE, Defocus, Downscale, UnsharpMask
from orbbec.transforms.effects import (
    ChromaticAberration,
    Emboss,
    GlassBlur,
    Morphological,
    RandomFog,
    RandomRain,
    RandomSnow,
    RandomSunFlare,
    RingingOvershoot,
    Sharpen,
    ZoomBlur,
)
from orbbec.transforms.erasing import CoarseDropout, GridDropout, XYMasking
from orbbec.transforms.geometry import Resize
from orbbec.transforms.lights import Illumination, PlanckianJitter, RandomShadow, Vignetting
from orbbec.transforms.noise import PixelDropout, SaltAndPepper, ShotNoise
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


def _shifted_hsv(step: Any) -> list[Transform]:
    hue, saturation, value = (attribute(step, f"{name}_shift_limit") for name in ("hue", "sat", "val"))
    return [HueSaturationValue(hue, saturation, value, 1.0)]


def _shifted_rgb(step: Any) -> list[Transform]:
    expect(step, spatial_mode="constant")
    red, green, blue = step.noise_params["ranges"]
    return [RGBShift(red, green, blue, 1.0)]


def _multiplied(step: Any) -> list[Transform]:
    expect(step, elementwise=False)
    return [MultiplicativeNoise(step.multiplier, step.per_channel, 1.0)]


def _warmed(step: Any) -> list[Transform]:
    expect(step, sampling_method="uniform")
    return [PlanckianJitter(step.mode, attribute(step, "temperature_limit"), 1.0)]


def _salted(step: Any) -> list[Transform]:
    return [SaltAndPepper(attribute(step, "amount"), attribute(step, "salt_vs_pepper"), 1.0)]


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


def _shadowed(step: Any) -> list[Transform]:
    counts = attribute(step, "num_shadows_limit")
    corners, intensities = step.shadow_dimension, step.shadow_intensity_range
    return [RandomShadow(step.shadow_roi, counts, corners, intensities, 1.0)]


def _fill(step: Any) -> Any:
    expect(step, fill_mask=None)
    return step.fill


def _dropped(step: Any) -> list[Transform]:
    sides = step.hole_height_range, step.hole_width_range
    return [CoarseDropout(step.num_holes_range, *sides, _fill(step), 1.0)]


def _fill_of_bands(step: Any) -> Any:
    """The fill; TimeMasking and FrequencyMasking also fill masks, which spectrograms do not have."""
    return step.fill if type(step).__name__ in ("TimeMasking", "FrequencyMasking") else _fill(step)


def _bands(step: Any) -> list[Transform]:
    x, y = (both_ends(attribute(step, f"num_masks_{axis}")) for axis in "xy")
    lengths = [both_ends(attribute(step, f"mask_{axis}_length")) for axis in "xy"]
    if any(isinstance(high, float) and high >= 1 for _, high in lengths):
        raise ValueError(f"expected fractions below 1 as lengths, but got {lengths[0]} and {lengths[1]}")
    return [XYMasking(x, y, lengths[0], lengths[1], _fill_of_bands(step), 1.0)]


def both_ends(value: Any) -> Any:
    """A range, or one number for both ends."""
    return (value, value) if is_number(value) else value


def _dropped_in_cells(step: Any) -> list[Transform]:
    if not step.random_offset:
        expect(step, shift_xy=(0, 0))
    how = step.random_offset, _fill(step), 1.0
    if step.holes_number_xy:
        rows, columns = step.holes_number_xy  # whatever the name says
        return [GridDropout(step.ratio, (columns, rows), *how)]
    return [GridDropout(step.ratio, None, *how, unit_size_range=step.unit_size_range)]


def _downscaled(step: Any) -> list[Transform]:
    down, up = (resizing_of("Downscale", step.interpolation_pair[way]) for way in ("downscale", "upscale"))
    return [Downscale(step.scale_range, down, up, 1.0)]


def _equalized_by_tiles(step: Any) -> list[Transform]:
    return [CLAHE(attribute(step, "clip_limit"), tuple(step.tile_grid_size)[::-1], 1.0)]


def _unsharpened(step: Any) -> list[Transform]:
    low, high = attribute(step, "blur_limit")
    sides = low, high - (high - low) % 2
    return [UnsharpMask(sides, attribute(step, "sigma_limit"), attribute(step, "alpha"), step.threshold, 1.0)]


def _defocused(step: Any) -> list[Transform]:
    return [Defocus(attribute(step, "radius"), attribute(step, "alias_blur"), 1.0)]


def _zoomed(step: Any) -> list[Transform]:
    return [ZoomBlur(attribute(step, "max_factor"), attribute(step, "step_factor"), 1.0)]


def _embossed(step: Any) -> list[Transform]:
    return [Emboss(attribute(step, "alpha"), attribute(step, "strength"), 1.0)]


def _sharpened(step: Any) -> list[Transform]:
    expect(step, method="kernel")
    return [Sharpen(attribute(step, "alpha"), attribute(step, "lightness"), 1.0)]


def _ringing(step: Any) -> list[Transform]:
    low, high = attribute(step, "blur_limit")
    low += 1 - low % 2
    return [RingingOvershoot((low, max(low, high - 1 + high % 2)), attribute(step, "cutoff"), 1.0)]


def _with_colored_edges(step: Any) -> list[Transform]:
    primary, secondary = (attribute(step, f"{name}_distortion_limit") for name in ("primary", "secondary"))
    interpolation = interpolation_of("ChromaticAberration", step.interpolation)
    return [ChromaticAberration(primary, secondary, step.mode, interpolation, 1.0)]


def _snowed(step: Any) -> list[Transform]:
    expect(step, method="bleach")
    return [RandomSnow(step.brightness_coeff, step.snow_point_range, 1.0)]


def _rained(step: Any) -> list[Transform]:
    how = step.drop_width, step.drop_color, step.blur_value, step.brightness_coefficient, step.rain_type
    return [RandomRain(step.slant_range, step.drop_length or 0, *how, 1.0)]


def _flared(step: Any) -> list[Transform]:
    expect(step, method="overlay")
    sun = step.flare_roi, step.src_radius, step.src_color
    return [RandomSunFlare(*sun, step.angle_range, step.num_flare_circles_range, 1.0)]


def _safe_crop(step: Any) -> list[Transform]:
    return [BBoxSafeRandomCrop(step.erosion_rate)]


def _sized_safe_crop(step: Any) -> list[Transform]:
    expect_if(step, mask_interpolation=0)
    interpolation = resizing_of("RandomSizedBBoxSafeCrop", step.interpolation)
    return [*_safe_crop(step), Resize((step.height, step.width), interpolation, antialias=False)]


def _crop_with_a_box(step: Any) -> list[Transform]:
    return [AtLeastOneBBoxRandomCrop((step.height, step.width), step.erosion_factor)]


def _crop_with_mask(step: Any) -> list[Transform]:
    expect(step, ignore_channels=None)
    return [CropNonEmptyMaskIfExists((step.height, step.width), step.ignore_values or ())]


def _crop_from_borders(step: Any) -> list[Transform]:
    return [RandomCropFromBorders(step.crop_left, step.crop_right, step.crop_top, step.crop_bottom)]


def _sized_crop(step: Any) -> list[Transform]:
    return [RandomSizedCrop(step.min_max_height, step.size, step.w2h_ratio, **resizing(step))]


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


VALUE_MAKERS: dict[str, Callable[[Any], list[Transform]]] = {
    "HueSaturationValue": _shifted_hsv,
    "RGBShift": _shifted_rgb,
    "MultiplicativeNoise": _multiplied,
    "PlanckianJitter": _warmed,
    "RandomToneCurve": lambda step: [RandomToneCurve(step.scale, step.per_channel, 1.0)],
    "SaltAndPepper": _salted,
    "PixelDropout": _pixels_dropped,
    "ShotNoise": lambda step: [ShotNoise(step.scale_range, 1.0)],
    "ToSepia": lambda step: [ToSepia(1.0)],
    "ChannelSwap": lambda step: [ChannelSwap(step.channel_order, 1.0)],
    "Vignetting": lambda step: [Vignetting(step.intensity_range, step.center_range, 1.0)],
    "Illumination": _lit,
    "RandomShadow": _shadowed,
    "ChannelDropout": lambda step: [ChannelDropout(step.channel_drop_range, step.fill, 1.0)],
    "CoarseDropout": _dropped,
    "GridDropout": _dropped_in_cells,
    "Downscale": _downscaled,
    "CLAHE": _equalized_by_tiles,
    "UnsharpMask": _unsharpened,
    "Defocus": _defocused,
    "ZoomBlur": _zoomed,
    "GlassBlur": lambda step: [GlassBlur(step.sigma, step.max_delta, step.iterations, 1.0)],
    "Emboss": _embossed,
    "Sharpen": _sharpened,
    "RingingOvershoot": _ringing,
    "ChromaticAberration": _with_colored_edges,
    "Morphological": lambda step: [Morphological(tuple(step.scale)[::-1], step.operation, 1.0)],
    "RandomSnow": _snowed,
    "RandomFog": lambda step: [RandomFog(step.alpha_coef, step.fog_coef_range, 1.0)],
    "RandomRain": _rained,
    "RandomSunFlare": _flared,
    **dict.fromkeys(("XYMasking", "TimeMasking", "FrequencyMasking"), _bands),
    "CropNonEmptyMaskIfExists": _crop_with_mask,
    "RandomCropFromBorders": _crop_from_borders,
    "BBoxSafeRandomCrop": _safe_crop,
    "RandomSizedBBoxSafeCrop": _sized_safe_crop,
    "AtLeastOneBBoxRandomCrop": _crop_with_a_box,
    "RandomSizedCrop": _sized_crop,
    "CropAndPad": _cropped_and_padded,
}
