"""Scale the pixels of images and add an offset."""

from orbbec.scaleoffset.scaleoffset import scale_offset

__all__ = ["scale_offset"]
