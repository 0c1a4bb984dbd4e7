"""RoIAlign of rotated regions."""

from orbbec.roi_align.rotated.roi_align_rotated import RoIAlignRotated, roi_align_rotated

__all__ = ["RoIAlignRotated", "roi_align_rotated"]
