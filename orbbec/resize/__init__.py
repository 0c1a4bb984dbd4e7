"""Resizing of images and of boxes of images, with OpenCV's modes or Pillow's filters.

Begin with resize.py, resize.h, the arithmetic, and tables.h, the coefficients of every mode. strips.h runs
the horizontal and the vertical pass on the CPU, strip by strip. The other headers are vectorized row kernels;
pillow_* are those of the antialiased filters.
"""

from orbbec.resize.resize import resize, resized_crop

__all__ = ["resize", "resized_crop"]
