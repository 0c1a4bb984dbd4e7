"""Conversion of JPEG planes to RGB."""

from orbbec.color.ycbcr.ycbcr import ycbcr_to_rgb

__all__ = ["ycbcr_to_rgb"]
