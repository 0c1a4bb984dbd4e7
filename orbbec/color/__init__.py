"""Colour conversion and adjustment, lookup tables, statistics and normalisation."""

from orbbec.color.adjust import (
    adjust_brightness,
    adjust_contrast,
    adjust_gamma,
    adjust_hue,
    adjust_saturation,
    adjust_sharpness,
    autocontrast,
    equalize,
    invert,
    posterize,
    solarize,
)
from orbbec.color.clahe import clahe
from orbbec.color.convert import cvt_color
from orbbec.color.normalize import normalize, to_float
from orbbec.color.tables import ChannelStatistics, channel_statistics, equalize_hist, lut

__all__ = [
    "ChannelStatistics",
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_saturation",
    "adjust_sharpness",
    "autocontrast",
    "channel_statistics",
    "clahe",
    "cvt_color",
    "equalize",
    "equalize_hist",
    "invert",
    "lut",
    "normalize",
    "posterize",
    "solarize",
    "to_float",
]
