"""Blur and filter images."""

from orbbec.blur.box import box_blur
from orbbec.blur.filter import filter2d, motion_blur, sharpen
from orbbec.blur.gaussian import gaussian_blur
from orbbec.blur.median import median_blur

__all__ = ["box_blur", "filter2d", "gaussian_blur", "median_blur", "motion_blur", "sharpen"]
