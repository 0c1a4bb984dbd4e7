"""A pipeline of augmentations in one pass: warp, adjust colors, erase, normalize, mix and cast.

Begin with augment.py, the function, and augment.h, the arithmetic of one output pixel. program.h runs the
color steps, a header each in steps/. augment_rows.h and scaled_rows.h are the vectorized executors of the
CPU, kernels_cuda.h those of CUDA. planes.* read images stored as JPEG planes, and gradients.py has the
backward pass. crop/ resizes and augments in one pass.
"""

from orbbec.augment.augment import Output, Sampling, Values, augment
from orbbec.augment.crop import augment_crop

__all__ = ["Output", "Sampling", "Values", "augment", "augment_crop"]
