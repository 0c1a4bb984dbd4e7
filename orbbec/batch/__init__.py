"""Variable-size images in one buffer, as pixels or as planes, and the collate function."""

from orbbec.batch.collate import collate
from orbbec.batch.image_batch import ImageBatch
from orbbec.batch.ycbcr_batch import YCbCrBatch
from orbbec.bridge.forked import check_not_forked

__all__ = ["ImageBatch", "YCbCrBatch", "check_not_forked", "collate"]
