"""Blur and filter images with windows: box, Gaussian, motion, median and any kernel.

Begin with filter.py and filter.h: any kernel. `separable` has blurs of two passes, median.h the middle value.
*_strips.h run them strip by strip on the CPU, tiles_cuda.h tile by tile on a device.
"""

from orbbec.filters.filter import filter2d, motion_blur, sharpen
from orbbec.filters.median import median_blur
from orbbec.filters.separable import box_blur, gaussian_blur

__all__ = ["box_blur", "filter2d", "gaussian_blur", "median_blur", "motion_blur", "sharpen"]
