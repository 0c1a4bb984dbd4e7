"""Images of unlike sizes in one buffer, and the collate function that makes them of samples."""

from orbbec.batch.collate import collate
from orbbec.batch.image_batch import ImageBatch
from orbbec.binding.forked import check_not_forked

__all__ = ["ImageBatch", "check_not_forked", "collate"]
