"""Pool regions of feature maps: by samples between pixels, upright and `rotated`, or by maxima (`pool`).

Begin with roi_align.py and `roi.h`, which has the arithmetic; `roi_cpu.h` and `roi_cuda.h` run it. rois.py
reads the regions of every operator.
"""

from orbbec.roi_align.pool import RoIPool, roi_pool
from orbbec.roi_align.roi_align import RoIAlign, roi_align
from orbbec.roi_align.rotated import RoIAlignRotated, roi_align_rotated

__all__ = ["RoIAlign", "RoIAlignRotated", "RoIPool", "roi_align", "roi_align_rotated", "roi_pool"]
