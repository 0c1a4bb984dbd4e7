"""Results of the statically linked OpenCV, the oracle of the tests."""

from orbbec.opencv.opencv import OPENCV_VERSION, affine_opencv, resize, version, warp_affine, warp_perspective

__all__ = ["OPENCV_VERSION", "affine_opencv", "resize", "version", "warp_affine", "warp_perspective"]
