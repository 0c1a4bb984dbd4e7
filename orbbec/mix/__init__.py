"""Operators that mix images of a batch: mixup, cutmix, mosaic, copy_paste."""

from orbbec.mix.copy_paste import copy_paste
from orbbec.mix.cutmix import cutmix
from orbbec.mix.mixup import mixup
from orbbec.mix.mosaic import mosaic, mosaic_offsets

__all__ = ["copy_paste", "cutmix", "mixup", "mosaic", "mosaic_offsets"]
