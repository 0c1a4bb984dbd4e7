"""Variable-size images in one buffer, as pixels or as planes, and the collate function."""

from orbbec.batch.collate import collate
from orbbec.batch.image_batch import ImageBatch
from orbbec.batch.plane_batch import PlaneBatch
from orbbec.bridge.forked import check_not_forked

__all__ = ["ImageBatch", "PlaneBatch", "check_not_forked", "collate"]
