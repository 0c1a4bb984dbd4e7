"""Warp images along maps: 2x3 matrices, and in the folders below 3x3 matrices, position maps and noise.

Begin with warpaffine.py and warpaffine.h. Each operator brings its map; `core/warp.h` reads along any map,
`warp_backward.h` has the gradients. `elastic` is made of `remap`, noise and a blur.
"""

from orbbec.warpaffine.elastic import elastic_displacement, elastic_transform
from orbbec.warpaffine.perspective import warp_perspective
from orbbec.warpaffine.remap import remap
from orbbec.warpaffine.warpaffine import affine_torch, warp_affine

__all__ = [
    "affine_torch",
    "elastic_displacement",
    "elastic_transform",
    "remap",
    "warp_affine",
    "warp_perspective",
]
