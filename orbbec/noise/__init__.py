"""Additive noise."""

from orbbec.noise.noise import gaussian_noise

__all__ = ["gaussian_noise"]
