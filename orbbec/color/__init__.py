"""Colors: adjustments, conversions, lookup tables, statistics and normalization.

Begin with normalize.py and normalize.h, the smallest operator. `adjust` has torchvision's adjustments,
`convert` OpenCV's color spaces, `statistics` mean and deviation of channels, `tables` lookup tables and
histograms, `ycbcr` the conversion of JPEG planes. All share pointwise.h, how one pixel becomes another, and
rows_cpu.h, the vectorized executor of the CPU.
"""

from orbbec.color.adjust.adjust import (
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
from orbbec.color.convert import cvt_color
from orbbec.color.normalize import normalize, to_float
from orbbec.color.statistics import ChannelStatistics, channel_statistics
from orbbec.color.tables import clahe, equalize_hist, lut
from orbbec.color.ycbcr import ycbcr_to_rgb

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
    "ycbcr_to_rgb",
]
