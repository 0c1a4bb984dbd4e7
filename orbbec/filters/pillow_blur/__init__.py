"""Pillow's Gaussian blur."""

from orbbec.filters.pillow_blur.pillow_blur import pillow_blur

__all__ = ["pillow_blur"]
