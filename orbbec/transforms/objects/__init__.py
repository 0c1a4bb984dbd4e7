"""Dropouts at the objects of targets."""

from orbbec.transforms.objects.dropouts import ConstrainedCoarseDropout, MaskDropout

__all__ = ["ConstrainedCoarseDropout", "MaskDropout"]
