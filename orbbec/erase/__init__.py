"""Fill rectangles of images."""

from orbbec.erase.erase import erase

__all__ = ["erase"]
