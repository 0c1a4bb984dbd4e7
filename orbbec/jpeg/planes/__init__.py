"""Decoding of JPEGs on the device, with libjpeg-turbo's bytes.

pack.cpp packs a file's scan on the host. units.h decodes its codes in units at once, jpeg_planes.h transforms
the blocks to planes.
"""

from orbbec.jpeg.planes.jpeg_planes import jpeg_planes

__all__ = ["jpeg_planes"]
