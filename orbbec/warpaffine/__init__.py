"""Warp images by 2x3 matrices."""

from orbbec.warpaffine.warpaffine import affine_torch, warp_affine

__all__ = ["affine_torch", "warp_affine"]
