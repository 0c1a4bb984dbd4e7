"""Samples that are read once and then come from memory, or from a file that the ranks of a node share."""

from orbbec.data.cache.cache import Cache, CachedSource

__all__ = ["Cache", "CachedSource"]
