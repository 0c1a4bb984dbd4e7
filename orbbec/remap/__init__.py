"""Sample images at given positions."""

from orbbec.remap.remap import remap

__all__ = ["remap"]
