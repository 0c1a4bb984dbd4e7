"""Pooling of regions of feature maps: roi_align, roi_align_rotated and roi_pool.

Begin with roi_align.py and roi.h, which has the arithmetic of upright and of rotated regions; roi_cpu.h and
roi_cuda.h run it. `rotated` has the wrapper for rotated regions, `pool` the maxima. rois.py checks the
regions of all three, and their gradients are deterministic.
"""

from orbbec.roi_align.pool import RoIPool, roi_pool
from orbbec.roi_align.roi_align import RoIAlign, roi_align
from orbbec.roi_align.rotated import RoIAlignRotated, roi_align_rotated

__all__ = ["RoIAlign", "RoIAlignRotated", "RoIPool", "roi_align", "roi_align_rotated", "roi_pool"]
