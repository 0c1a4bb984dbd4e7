"""Fill rectangles of images."""

from orbbec.mix.erase.erase import erase

__all__ = ["erase"]
