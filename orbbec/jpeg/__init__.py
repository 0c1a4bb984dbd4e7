"""JPEG compression artefacts."""

from orbbec.jpeg.jpeg import jpeg_compression

__all__ = ["jpeg_compression"]
