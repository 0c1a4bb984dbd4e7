"""Random numbers as a function of seed, epoch, sample and stream position, identical on all devices."""

from orbbec.noise.philox.philox import philox_blocks, philox_draws, philox_noise

__all__ = ["philox_blocks", "philox_draws", "philox_noise"]
