"""Random rectangles, and `erase` in NumPy and torch."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from tests.support import philox

INTEGERS = (torch.uint8, torch.uint16)


def random_boxes(count: int, rectangles: int, height: int, width: int, seed: int = 0) -> Tensor:
    """Random boxes, some beyond the image and some empty: int64 `[count, rectangles, 4]`.

    Example:
        >>> random_boxes(2, 3, 10, 20).shape
        torch.Size([2, 3, 4])
    """
    rng = np.random.default_rng(seed)
    first = rng.integers(-3, (width + 4, height + 4), (count, rectangles, 2))
    last = rng.integers(-3, (width + 4, height + 4), (count, rectangles, 2))
    last = np.where(rng.random((count, rectangles, 1)) < 0.7, np.maximum(first, last) + 1, last)
    return torch.from_numpy(np.concatenate([first, last], -1))


def noise_pixels(
    dtype: torch.dtype, noise: str, sample: int, shape: tuple[int, int, int], **key: int
) -> Tensor:
    """The noise of a sample in pixels of a dtype."""
    words = philox.noise_words(sample, shape, **key)[..., : shape[2]]
    if noise == "uniform":
        if dtype in INTEGERS:
            return torch.from_numpy((words >> np.uint64(24 if dtype == torch.uint8 else 16)).astype(np.int64))
        return torch.from_numpy(philox.uniforms(words))
    normals = torch.from_numpy(philox.float32_normals(philox.noise_words(sample, shape, **key)))
    normals = normals[..., : shape[2]]
    if dtype not in INTEGERS:
        return normals
    top = torch.iinfo(dtype).max
    fused = (normals.double() * (0.25 * top) + 0.5 * top).float()
    return fused.round().clamp(0, top)


def by_numpy(
    images: Tensor, boxes: Tensor, fill: Any = 0, noise: str | None = None, ids: Any = None, **key: int
) -> Tensor:
    """The expected result of `erase` for tensors `[N, C, H, W]`.

    Args:
        images: images on the CPU.
        boxes: `[N, K, 4]`.
        fill: `[N, K, C]`, or a shape that broadcasts to it.
        noise: "uniform", "normal" or None.
        ids: sample ids; None: 0 to N - 1.
        key: seed, epoch and transform_index.

    Returns:
        A tensor like `images`.
    """
    count, channels, height, width = images.shape
    erased = images.clone()
    fills = torch.as_tensor(fill, dtype=torch.float64).expand(count, boxes.shape[1], channels)
    if images.dtype in INTEGERS:
        fills = fills.round().clamp(0, torch.iinfo(images.dtype).max)
    for n, rectangles in enumerate(boxes.tolist()):
        field = None
        if noise:
            sample = n if ids is None else ids[n]
            field = noise_pixels(images.dtype, noise, sample, (channels, height, width), **key)
        for k, (left, top, right, bottom) in enumerate(rectangles):
            rows, columns = slice(max(top, 0), max(bottom, 0)), slice(max(left, 0), max(right, 0))
            value = fills[n, k, :, None, None] if field is None else field[:, rows, columns]
            erased[n, :, rows, columns] = value.to(images.dtype)
    return erased
