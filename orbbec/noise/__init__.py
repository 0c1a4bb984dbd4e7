"""Gaussian noise, and the random numbers of all operators.

Begin with noise.py and noise.h: noise added to images. `salt_and_pepper` sets random pixels, and `philox`
returns the random numbers themselves. Every number is a function of seed, epoch, sample id, transform index
and position (core/philox.h, core/noise.h), so noise does not depend on the batch or the device.
"""

from orbbec.noise.noise import gaussian_noise
from orbbec.noise.philox import philox_blocks, philox_draws, philox_noise
from orbbec.noise.salt_and_pepper import salt_and_pepper
from orbbec.noise.shot_noise import shot_noise

__all__ = ["gaussian_noise", "philox_blocks", "philox_draws", "philox_noise", "salt_and_pepper", "shot_noise"]
