"""roi_align, roi_align_rotated and roi_pool by definition, in NumPy, one sample at a time."""

import math

import numpy as np

from orbbec.bridge.arguments import Array


def interpolate(image: Array, y: float, x: float) -> Array:
    """Interpolate all channels of `image`, `[C, H, W]`, at a position; 0 outside.

    Example:
        >>> interpolate(np.array([[[0.0, 10.0]]]), 0.0, 0.25).tolist()
        [2.5]
    """
    height, width = image.shape[1:]
    if not (-1 <= y <= height and -1 <= x <= width):
        return np.zeros(image.shape[0])
    y, x = min(max(y, 0.0), height - 1.0), min(max(x, 0.0), width - 1.0)
    top, left = math.floor(y), math.floor(x)
    bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
    dy, dx = y - top, x - left
    upper = image[:, top, left] * (1 - dx) + image[:, top, right] * dx
    lower = image[:, bottom, left] * (1 - dx) + image[:, bottom, right] * dx
    return np.asarray(upper * (1 - dy) + lower * dy)


def samples_of(size: float, bins: int, sampling_ratio: int) -> int:
    """The number of samples along an axis of a bin.

    Example:
        >>> samples_of(7.5, 3, 0)
        3
    """
    return sampling_ratio if sampling_ratio > 0 else max(math.ceil(size / bins), 0)


def oracle_align(
    features: Array,
    rois: Array,
    output_size: tuple[int, int],
    spatial_scale: float = 1.0,
    sampling_ratio: int = 0,
    aligned: bool = True,
) -> Array:
    """`roi_align` for rois of 5 numbers, `roi_align_rotated` for rois of 6.

    Example:
        >>> oracle_align(np.ones((1, 1, 4, 4)), np.array([[0.0, 1, 1, 3, 3]]), (1, 1)).tolist()
        [[[[1.0]]]]
    """
    shift = 0.5 if aligned else 0.0
    result = np.zeros((len(rois), features.shape[1], *output_size))
    for k, (index, *numbers) in enumerate(np.asarray(rois, np.float64)):
        if len(numbers) == 4:
            x1, y1, x2, y2 = (number * spatial_scale - shift for number in numbers)
            center, size, degrees = ((y1 + y2) / 2, (x1 + x2) / 2), [y2 - y1, x2 - x1], 0.0
        else:
            center = (numbers[1] * spatial_scale - shift, numbers[0] * spatial_scale - shift)
            size, degrees = [numbers[3] * spatial_scale, numbers[2] * spatial_scale], numbers[4]
        if not aligned:
            if len(numbers) == 4:  # such a region is extended to the right and down
                center = tuple(c + max(1 - s, 0) / 2 for c, s in zip(center, size, strict=True))
            size = [max(s, 1.0) for s in size]
        counts = [samples_of(s, bins, sampling_ratio) for s, bins in zip(size, output_size, strict=True)]
        sine, cosine = math.sin(math.radians(degrees)), math.cos(math.radians(degrees))
        for ph, pw in np.ndindex(*output_size):
            for iy, ix in np.ndindex(*counts):
                v = ((ph + (iy + 0.5) / counts[0]) / output_size[0] - 0.5) * size[0]
                u = ((pw + (ix + 0.5) / counts[1]) / output_size[1] - 0.5) * size[1]
                y, x = center[0] + v * cosine - u * sine, center[1] + v * sine + u * cosine
                result[k, :, ph, pw] += interpolate(features[int(index)], y, x) / (counts[0] * counts[1])
    return result


def oracle_pool(
    features: Array, rois: Array, output_size: tuple[int, int], spatial_scale: float = 1.0
) -> Array:
    """`roi_pool`.

    Example:
        >>> oracle_pool(np.arange(4.0).reshape(1, 1, 2, 2), np.array([[0.0, 0, 0, 1, 1]]), (1, 1)).item()
        3.0
    """
    height, width = features.shape[2:]
    result = np.zeros((len(rois), features.shape[1], *output_size))
    for k, (index, *corners) in enumerate(np.asarray(rois, np.float64)):
        x1, y1, x2, y2 = (math.floor(abs(c * spatial_scale) + 0.5) * (1 if c >= 0 else -1) for c in corners)
        size = (max(y2 - y1 + 1, 1), max(x2 - x1 + 1, 1))
        for ph, pw in np.ndindex(*output_size):
            ys = bin_range(y1, size[0], ph, output_size[0], height)
            xs = bin_range(x1, size[1], pw, output_size[1], width)
            if ys.start < ys.stop and xs.start < xs.stop:
                result[k, :, ph, pw] = features[int(index)][:, ys, xs].max(axis=(1, 2))
    return result


def bin_range(start: int, size: int, p: int, bins: int, limit: int) -> slice:
    """The pixels that bin `p` of an axis touches, computed exactly in integers.

    Example:
        >>> bin_range(0, 5, 1, 2, 9)
        slice(2, 5, None)
    """
    first, end = start + p * size // bins, start - (-(p + 1) * size // bins)
    return slice(min(max(first, 0), limit), min(max(end, 0), limit))
