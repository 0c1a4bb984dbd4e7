"""`affine_opencv` on a photograph, compared with cv2. Exits with 1 if they differ."""

import sys

import cv2
import numpy as np
from comparison import is_same, save_side_by_side
from photographs import load_photograph

from orbbec.opencv import OPENCV_VERSION, affine_opencv


def main() -> bool:
    image = load_photograph("astronaut")
    height, width = image.shape[:2]
    src_points = np.array([[0, 0], [width - 1, 0], [0, height - 1]], np.float32)
    dst_points = np.array([[60, 90], [width - 90, 20], [20, height - 60]], np.float32)

    actual = affine_opencv(image, src_points, dst_points)

    expected = cv2.warpAffine(image, cv2.getAffineTransform(src_points, dst_points), (width, height))
    save_side_by_side("test_warpaffine_opencv", [image, actual, expected])
    return is_same(
        f"affine_opencv (OpenCV {OPENCV_VERSION}) and cv2 {cv2.__version__}, uint8", actual, expected
    )


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
