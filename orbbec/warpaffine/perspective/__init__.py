"""Warp images by 3x3 matrices."""

from orbbec.warpaffine.perspective.masks import warp_masks
from orbbec.warpaffine.perspective.warpperspective import warp_perspective

__all__ = ["warp_masks", "warp_perspective"]
