"""A pipeline of augmentations in one pass."""

from orbbec.augment.augment import augment, augment_moved

__all__ = ["augment", "augment_moved"]
