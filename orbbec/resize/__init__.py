"""Resize images, and crops of images."""

from orbbec.resize.resize import resize, resized_crop

__all__ = ["resize", "resized_crop"]
