"""Batches of variable-size images in one buffer, which reaches a device in one copy.

Begin with image_batch.py: `ImageBatch`, whose docstring draws the layout. ycbcr_batch.py has the planes of
JPEGs instead of pixels, stored_batch.py what both share: copies, pinning, streams; clip_batch.py has the
frames of clips. collate.py makes batches of the samples of a `DataLoader`.
"""

from orbbec.batch.clip_batch import ClipBatch
from orbbec.batch.collate import collate
from orbbec.batch.image_batch import ImageBatch
from orbbec.batch.ycbcr_batch import YCbCrBatch
from orbbec.bridge.forked import check_not_forked

__all__ = ["ClipBatch", "ImageBatch", "YCbCrBatch", "check_not_forked", "collate"]
