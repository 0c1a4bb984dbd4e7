"""Mixes of several images of a batch: mixup, cutmix, mosaic, copy_paste; and erasing of rectangles.

Begin with mixup.py and mix.h, the rule for one pair of images. blends.* are the weighted sums: mixup, and
copy_paste with soft masks. gather.* copy pixels: cutmix, mosaic, and copy_paste with binary masks.
gradients.py distributes gradients to both images of a pair. `erase` fills rectangles with numbers or noise.
"""

from orbbec.mix.copy_paste import copy_paste
from orbbec.mix.cutmix import cutmix
from orbbec.mix.erase import erase
from orbbec.mix.mixup import mixup
from orbbec.mix.mosaic import mosaic, mosaic_offsets

__all__ = ["copy_paste", "cutmix", "erase", "mixup", "mosaic", "mosaic_offsets"]
