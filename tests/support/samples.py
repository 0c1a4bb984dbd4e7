"""Random images and matrices, made on the CPU."""

import numpy as np
import torch
from torch import Tensor

from orbbec.bridge.arguments import Array

# Of images.
DTYPES = (torch.uint8, torch.uint16, torch.float16, torch.bfloat16, torch.float32, torch.float64)


def photograph(height: int, width: int, channels: int = 3, dtype: str = "uint8", seed: int = 0) -> Array:
    """An image with edges, slopes and noise.

    Args:
        height: in pixels.
        width: in pixels.
        channels: size of the last dimension.
        dtype: "uint8" and "uint16" use their full range; floats are around 0, mostly within 100 of it.
        seed: seed of the image.

    Returns:
        Array `[height, width, channels]` of `dtype`.

    Example:
        >>> photograph(2, 3, channels=1).shape
        (2, 3, 1)
    """
    rng = np.random.default_rng(seed)
    y, x, c = np.ogrid[:height, :width, :channels]
    waves = np.sin(x * rng.uniform(0.05, 0.5) + c) + np.cos(y * rng.uniform(0.05, 0.5) - c)
    edges = np.sign(np.sin((x + 2 * y) * rng.uniform(0.02, 0.2)))
    values = 0.2 * waves + 0.3 * edges + rng.normal(0, 0.3, (height, width, channels))
    if np.dtype(dtype).kind == "f":
        return np.asarray(100 * values, dtype)
    top = np.iinfo(dtype).max
    return np.asarray((np.clip(0.5 + 0.6 * values, 0, 1) * top).round(), dtype)


def photographs(
    count: int, channels: int, height: int, width: int, dtype: torch.dtype = torch.uint8, seed: int = 0
) -> Tensor:
    """Variable-size images as a contiguous CPU tensor `[count, channels, height, width]` of `dtype`.

    Example:
        >>> photographs(2, 3, 4, 5).shape
        torch.Size([2, 3, 4, 5])
    """
    kind = {torch.uint8: "uint8", torch.uint16: "uint16"}.get(dtype, "float64")
    images = [photograph(height, width, channels, kind, seed + 1000 * n) for n in range(count)]
    stacked = np.stack(images) if images else np.zeros((0, height, width, channels), kind)
    return torch.from_numpy(np.ascontiguousarray(stacked.transpose(0, 3, 1, 2))).to(dtype)


def similarity(
    source: tuple[int, int], target: tuple[int, int], seed: int = 0, count: int | None = None
) -> Tensor:
    """Random rotations and scalings about the center: source pixels to output pixels.

    Args:
        source: `(height, width)` of the images in pixels.
        target: `(height, width)` of the output in pixels.
        seed: seed of the matrices.
        count: number of matrices; None: one, without the first dimension.

    Returns:
        float64 `[count, 2, 3]` or `[2, 3]` on the CPU.

    Example:
        >>> similarity((4, 4), (4, 4), count=2).shape
        torch.Size([2, 2, 3])
    """
    rng = np.random.default_rng(seed)
    number = 1 if count is None else count
    angle, scale = rng.uniform(-np.pi, np.pi, number), np.exp(rng.uniform(-1, 1, number))
    cos, sin = scale * np.cos(angle), scale * np.sin(angle)
    linear = np.stack([cos, -sin, sin, cos], -1).reshape(number, 2, 2)
    center = np.array([source[1] / 2, source[0] / 2])
    shift = np.array([target[1] / 2, target[0] / 2]) + rng.uniform(-3, 3, (number, 2)) - linear @ center
    matrices = torch.from_numpy(np.concatenate([linear, shift[..., None]], -1))
    return matrices[0] if count is None else matrices
