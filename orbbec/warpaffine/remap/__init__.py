"""Sample images at given positions."""

from orbbec.warpaffine.remap.remap import remap

__all__ = ["remap"]
