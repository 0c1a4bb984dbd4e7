"""RoIPool."""

from orbbec.roi_pool.roi_pool import RoIPool, roi_pool

__all__ = ["RoIPool", "roi_pool"]
