"""Gaussian noise added to images; `philox` has the random numbers of all operators.

Begin with noise.py and noise.h. Every number is a function of seed, epoch, sample id and position
(`core/philox.h`, `core/noise.h`).
"""

from orbbec.noise.noise import gaussian_noise
from orbbec.noise.philox import philox_blocks, philox_draws, philox_noise

__all__ = ["gaussian_noise", "philox_blocks", "philox_draws", "philox_noise"]
