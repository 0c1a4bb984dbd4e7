"""Salt and pepper: white and black pixels at random positions."""

from orbbec.noise.salt_and_pepper.salt_and_pepper import salt_and_pepper

__all__ = ["salt_and_pepper"]
