"""Resize images, and boxes of images, with OpenCV's modes or Pillow's filters.

Begin with resize.py, resize.h and tables.h, the taps of every mode. strips.h runs the two passes on the CPU;
the other headers do their rows on vectors, pillow_* those of antialiased filters.
"""

from orbbec.resize.resize import resize, resized_crop

__all__ = ["resize", "resized_crop"]
