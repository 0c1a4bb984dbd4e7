"""RGB of the planes that JPEGs hold."""

from orbbec.ycbcr.ycbcr import ycbcr_to_rgb

__all__ = ["ycbcr_to_rgb"]
