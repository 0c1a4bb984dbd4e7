"""Soft non-maximum suppression: lowers the scores of overlapping boxes."""

from orbbec.nms.soft.matrix_nms import matrix_nms
from orbbec.nms.soft.soft_nms import soft_nms

__all__ = ["matrix_nms", "soft_nms"]
