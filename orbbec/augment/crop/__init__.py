"""Crops that are resized and augmented in one pass: `resized_crop`, then `augment`, with the same bits.

Begin with crop.py, the function. crop_cpu.cpp runs both on as many images as fit the cache, and crop_cuda.cu
in one kernel.
"""

from orbbec.augment.crop.crop import augment_crop

__all__ = ["augment_crop"]
