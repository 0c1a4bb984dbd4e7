"""Non-maximum suppression of rotated boxes."""

from orbbec.nms.rotated.nms_rotated import nms_rotated

__all__ = ["nms_rotated"]
