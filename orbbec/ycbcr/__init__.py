"""Conversion of JPEG planes to RGB."""

from orbbec.ycbcr.ycbcr import ycbcr_to_rgb

__all__ = ["ycbcr_to_rgb"]
