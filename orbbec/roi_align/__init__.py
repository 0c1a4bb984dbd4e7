"""RoIAlign."""

from orbbec.roi_align.roi_align import RoIAlign, roi_align

__all__ = ["RoIAlign", "roi_align"]
