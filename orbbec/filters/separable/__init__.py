"""Blurs along rows and then columns: gaussian_blur and box_blur."""

from orbbec.filters.separable.box import box_blur
from orbbec.filters.separable.gaussian import gaussian_blur

__all__ = ["box_blur", "gaussian_blur"]
