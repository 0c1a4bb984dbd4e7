"""Random numbers that are a function of seed, epoch, sample and place, on every device the same."""

from orbbec.philox.philox import philox_blocks, philox_draws, philox_noise

__all__ = ["philox_blocks", "philox_draws", "philox_noise"]
