"""Shot noise: random counts of photons."""

from orbbec.noise.shot_noise.shot_noise import shot_noise

__all__ = ["shot_noise"]
