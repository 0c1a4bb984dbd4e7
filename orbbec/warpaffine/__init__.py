"""Warps: affine, perspective, by explicit positions (remap), and elastic.

Begin with warpaffine.py and warpaffine.h, the source position of an output pixel. `perspective` and `remap`
differ only in that; core/warp.h reads and stores pixels for all of them, bridge/warp.* check their arguments,
and warp_backward.h has their gradients. `elastic` combines remap, noise and a blur.
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
