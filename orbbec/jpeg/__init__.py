"""JPEG artifacts without a codec, and the decoders of baseline JPEGs, on the CPU and on a device.

Begin with jpeg.py and jpeg.h for the artifacts: quantization of 8x8 blocks with libjpeg's bytes. The decoder
begins with decode.h; entropy.h reads the codes. dct.h has the transform of a block, columns.h its vectorized
form; both parts share them. planes/ decodes on a device.
"""

from orbbec.jpeg.jpeg import jpeg_compression
from orbbec.jpeg.planes import jpeg_planes

__all__ = ["jpeg_compression", "jpeg_planes"]
