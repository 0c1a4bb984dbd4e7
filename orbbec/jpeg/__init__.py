"""JPEG artifacts without a codec, and the decoder of baseline JPEGs.

Begin with jpeg.py and jpeg.h for the artifacts: quantization of 8x8 blocks with libjpeg's bytes. The decoder
begins with decode.h; entropy.h reads the codes. dct.h has the transform of a block, columns.h its vectorized
form; both parts share them.
"""

from orbbec.jpeg.jpeg import jpeg_compression

__all__ = ["jpeg_compression"]
