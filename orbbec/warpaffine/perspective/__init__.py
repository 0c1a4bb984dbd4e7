"""Warp images by 3x3 matrices."""

from orbbec.warpaffine.perspective.warpperspective import warp_perspective

__all__ = ["warp_perspective"]
