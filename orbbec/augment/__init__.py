"""A chain of augmentations in one pass."""

from orbbec.augment.augment import augment

__all__ = ["augment"]
