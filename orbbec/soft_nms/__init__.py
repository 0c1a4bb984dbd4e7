"""Soft non-maximum suppression: lowers the scores of overlapping boxes."""

from orbbec.soft_nms.matrix_nms import matrix_nms
from orbbec.soft_nms.soft_nms import soft_nms

__all__ = ["matrix_nms", "soft_nms"]
