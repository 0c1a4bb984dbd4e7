"""The artifacts of JPEG without a codec, and the decoder of baseline JPEGs.

Begin with jpeg.py and jpeg.h for the artifacts, decode.h and entropy.h for the decoder. dct.h has the
transform of blocks, columns.h the same on vectors.
"""

from orbbec.jpeg.jpeg import jpeg_compression

__all__ = ["jpeg_compression"]
