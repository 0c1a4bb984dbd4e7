"""Filters that read a window around each pixel: box, Gaussian, motion and median blur, and any kernel.

Begin with filter.py and filter.h: correlation with any kernel. `separable` has the blurs with a horizontal
and a vertical pass, median.h the median, and `pillow_blur` Pillow's Gaussian blur. Filters run strip by strip
on the CPU (*_strips.h, over planes.h) and tile by tile on CUDA (tiles_cuda.h). window.h defines windows and
borders for all of them.
"""

from orbbec.filters.filter import filter2d, motion_blur, sharpen
from orbbec.filters.median import median_blur
from orbbec.filters.pillow_blur import pillow_blur
from orbbec.filters.separable import box_blur, gaussian_blur

__all__ = ["box_blur", "filter2d", "gaussian_blur", "median_blur", "motion_blur", "pillow_blur", "sharpen"]
