"""Mix several images of a batch: mixup, cutmix, mosaic, copy_paste; `erase` fills rectangles of images.

Begin with mixup.py and mix.h. blends.* adds images by weights, moves.* copies parts of them.
"""

from orbbec.mix.copy_paste import copy_paste
from orbbec.mix.cutmix import cutmix
from orbbec.mix.erase import erase
from orbbec.mix.mixup import mixup
from orbbec.mix.mosaic import mosaic, mosaic_offsets

__all__ = ["copy_paste", "cutmix", "erase", "mixup", "mosaic", "mosaic_offsets"]
