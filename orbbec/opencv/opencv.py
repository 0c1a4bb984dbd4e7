"""OpenCV functions on NumPy arrays, without torch.

Images are ``[H, W]`` or ``[H, W, C]`` arrays of uint8, uint16, float32 or float64, of less than 2 GiB.
Arrays may have any strides and be read-only; only layouts that OpenCV cannot express (reversed, transposed,
unaligned) are copied. The result is a new C-contiguous array of the image's dtype and rank. OpenCV runs
without the GIL, on the calling thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

try:
    import orbbec.opencv._opencv as _opencv
except ModuleNotFoundError as error:
    if error.name != "orbbec.opencv._opencv":
        raise
    raise ImportError(
        "orbbec.opencv was not built for this Python: run `python 3rdparty/vendor.py` in the source tree of "
        "orbbec, then `pip install -e . --no-build-isolation`. The rest of orbbec works without it.",
        name=error.name,
    ) from error

Pixel = TypeVar("Pixel", np.uint8, np.uint16, np.float32, np.float64)


def version() -> str:
    """The version of the linked OpenCV, such as ``5.0.0``."""
    return _opencv.version()


OPENCV_VERSION = version()


def affine_opencv(
    image: npt.NDArray[Pixel],
    src_points: npt.ArrayLike,
    dst_points: npt.ArrayLike,
    size: Sequence[int] | None = None,
) -> npt.NDArray[Pixel]:
    """Warp by the affine transform that maps three source points to three output points.

    Linear interpolation; pixels outside the image are 0.

    Args:
        image: array, see the module.
        src_points: ``[3, 2]`` points ``(x, y)`` in pixels of the image, not on one line; rounded to float32.
        dst_points: ``[3, 2]`` points ``(x, y)`` in pixels of the output; rounded to float32.
        size: output ``(height, width)`` in pixels; the size of ``image`` by default.

    Returns:
        Array of ``size`` with the dtype and channels of ``image``.

    Raises:
        TypeError: an argument has the wrong type or dtype.
        ValueError: a shape or a value does not fit, or ``src_points`` lie on one line.

    Source:
        ``cv::getAffineTransform`` and ``cv::warpAffine``.

    Example:
        >>> image = np.arange(4, dtype=np.uint8).reshape(1, 4)
        >>> affine_opencv(image, [[0, 0], [1, 0], [0, 1]], [[1, 0], [2, 0], [1, 1]]).tolist()
        [[0, 0, 1, 2]]
    """
    return _opencv.affine_opencv(image, src_points, dst_points, size)


def warp_affine(
    image: npt.NDArray[Pixel],
    matrix: npt.ArrayLike,
    size: Sequence[int],
    *,
    interpolation: str = "linear",
    border: str = "constant",
    fill: npt.ArrayLike = 0,
    inverse: bool = False,
) -> npt.NDArray[Pixel]:
    """Warp by a 2x3 matrix.

    Args:
        image: array, see the module; cubic and lanczos4 support up to 4 channels.
        matrix: finite ``[2, 3]``: pixels ``(x, y, 1)`` of the image to pixels of the output.
        size: output ``(height, width)`` in pixels, each at least 1.
        interpolation: nearest, linear, cubic, area (as linear) or lanczos4.
        border: constant, replicate, reflect, reflect101 or wrap.
        fill: value of the constant border: one number, or one per channel for up to 4 channels.
        inverse: ``matrix`` maps the output to the image instead.

    Returns:
        Array of ``size`` with the dtype and channels of ``image``.

    Raises:
        TypeError: an argument has the wrong type or dtype.
        ValueError: a shape or a value is invalid. Reflect, reflect101 and wrap also refuse positions more
            than 2^24 pixels away, which can keep OpenCV busy for minutes; reflect101 with cubic refuses an
            image one pixel wide or high, from which OpenCV does not return.

    Source:
        ``cv::warpAffine``. In OpenCV 5.0.0, cubic truncates float64 pixels to whole numbers.

    Example:
        >>> image = np.arange(4, dtype=np.uint8).reshape(1, 4)
        >>> warp_affine(image, [[1, 0, 1], [0, 1, 0]], (1, 5), fill=9).tolist()
        [[9, 0, 1, 2, 3]]
    """
    return _opencv.warp_affine(image, matrix, size, interpolation, border, fill, inverse)


def warp_perspective(
    image: npt.NDArray[Pixel],
    matrix: npt.ArrayLike,
    size: Sequence[int],
    *,
    interpolation: str = "linear",
    border: str = "constant",
    fill: npt.ArrayLike = 0,
    inverse: bool = False,
) -> npt.NDArray[Pixel]:
    """Warp by a 3x3 matrix.

    Args:
        image: array, see the module; cubic and lanczos4 support up to 4 channels.
        matrix: finite ``[3, 3]``: homogeneous pixels of the image to homogeneous pixels of the output.
        size: output ``(height, width)`` in pixels, each at least 1.
        interpolation: nearest, linear, cubic, area (as linear) or lanczos4.
        border: constant, replicate, reflect, reflect101 or wrap.
        fill: value of the constant border: one number, or one per channel for up to 4 channels.
        inverse: ``matrix`` maps the output to the image instead.

    Returns:
        Array of ``size`` with the dtype and channels of ``image``.

    Raises:
        TypeError: an argument has the wrong type or dtype.
        ValueError: as in :func:`warp_affine`; reflect, reflect101 and wrap also refuse a horizon in the
            output.

    Source:
        ``cv::warpPerspective``.

    Example:
        >>> image = np.arange(4, dtype=np.uint8).reshape(1, 4)
        >>> warp_perspective(image, [[2, 0, 0], [0, 1, 0], [0, 0, 2]], (1, 4)).tolist()
        [[0, 1, 2, 3]]
    """
    return _opencv.warp_perspective(image, matrix, size, interpolation, border, fill, inverse)


def resize(
    image: npt.NDArray[Pixel], size: Sequence[int], *, interpolation: str = "linear"
) -> npt.NDArray[Pixel]:
    """Resize to a height and a width.

    Args:
        image: array, see the module.
        size: output ``(height, width)`` in pixels, each at least 1.
        interpolation: nearest, linear, cubic, area or lanczos4.

    Returns:
        Array of ``size`` with the dtype and channels of ``image``.

    Raises:
        TypeError: an argument has the wrong type or dtype.
        ValueError: a shape or a value is invalid.

    Source:
        ``cv::resize`` without Intel IPP, which changes the bits of linear and cubic; the result equals cv2's
        after ``cv2.ipp.setUseIPP(False)``.

    Example:
        >>> resize(np.array([[0, 100]], dtype=np.uint8), (1, 4)).tolist()
        [[0, 25, 75, 100]]
    """
    return _opencv.resize(image, size, interpolation)
