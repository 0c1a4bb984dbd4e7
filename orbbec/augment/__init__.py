"""A pipeline of augmentations in one pass: map, color, erase, normalize and cast.

Begin with augment.py and program.h, the color steps of a pixel. augment.h runs them on what the
map reads; *_rows.h do rows of pixels on vectors, planes.* read JPEG planes.
"""

from orbbec.augment.augment import Output, Sampling, Values, augment, augment_moved

__all__ = ["Output", "Sampling", "Values", "augment", "augment_moved"]
