"""Warp images by 3x3 matrices."""

from orbbec.warpperspective.warpperspective import warp_perspective

__all__ = ["warp_perspective"]
