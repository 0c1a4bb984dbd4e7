"""Handwritten rivals: crops, colors and normalization as experts write them with cv2, NumPy and torch.

Bytes are resized into a buffer of the thread, and floats are written once, into a reused batch.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec.bridge.arguments import Array
from tests.support.timing.benchmark import cv2, share

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
FACTOR = (1 / (255 * np.array(STD))).astype(np.float32)
OFFSET = (-np.array(MEAN) / np.array(STD)).astype(np.float32)
PLANE_FACTOR, PLANE_OFFSET = FACTOR[:, None, None], OFFSET[:, None, None]
TABLES = np.arange(256, dtype=np.float32) * FACTOR[:, None] + OFFSET[:, None]  # [3, 256]

Finish = Callable[[Array, Array], None]  # uint8 [H, W, 3], and the planes [3, H, W] to write


class _Buffers(threading.local):
    def __init__(self) -> None:
        self.kept: dict[tuple[Any, ...], Array] = {}


_BUFFERS = _Buffers()


def buffer(name: str, shape: tuple[int, ...], dtype: Any = np.uint8) -> Array:
    """A buffer of this thread, the same in every call.

    Example:
        >>> buffer("a", (2, 3)) is buffer("a", (2, 3)), buffer("b", (2, 3)) is buffer("a", (2, 3))
        (True, False)
    """
    key = (name, shape, np.dtype(dtype))
    if key not in _BUFFERS.kept:
        _BUFFERS.kept[key] = np.empty(shape, dtype)
    return _BUFFERS.kept[key]


def as_usual(pixels: Array, out: Array) -> None:
    """Common code: it allocates five arrays per image."""
    out[:] = (pixels.astype(np.float32) * FACTOR + OFFSET).transpose(2, 0, 1)


def planes_of(pixels: Array) -> Array:
    """uint8 `[H, W, C]` as planes `[C, H, W]` in a buffer of this thread."""
    planes = buffer("planes", (pixels.shape[2], *pixels.shape[:2]), pixels.dtype)
    cv2.split(pixels, list(planes))
    return planes


def in_place(pixels: Array, out: Array) -> None:
    np.copyto(out, planes_of(pixels))
    out *= PLANE_FACTOR
    out += PLANE_OFFSET


def by_table(pixels: Array, out: Array) -> None:
    """Also for 16-bit floats, since cv2 copies table entries of any type."""
    tables = TABLES.astype(out.dtype)
    if out.dtype == np.float16:
        tables, out = tables.view(np.int16), out.view(np.int16)
    for plane, table, target in zip(planes_of(pixels), tables, out, strict=True):
        cv2.LUT(plane, table[None], dst=target)


def by_weights(pixels: Array, out: Array) -> None:
    """Differs from the others in the last bits, since cv2 computes in double precision."""
    for plane, factor, offset, target in zip(planes_of(pixels), FACTOR, OFFSET, out, strict=True):
        cv2.addWeighted(plane, float(factor), plane, 0, float(offset), dst=target, dtype=cv2.CV_32F)


def by_torch(pixels: Array, out: Array) -> None:
    target = torch.from_numpy(out).copy_(torch.from_numpy(planes_of(pixels)))
    target.mul_(torch.from_numpy(PLANE_FACTOR)).add_(torch.from_numpy(PLANE_OFFSET))


def resized(part: Array, flips: bool, side: int, interpolation: int | None = None) -> Array:
    """Bytes in a buffer of this thread, optionally flipped horizontally."""
    shape = (side, side, part.shape[2])
    kind = cv2.INTER_LINEAR if interpolation is None else interpolation
    pixels = cv2.resize(part, (side, side), dst=buffer("resized", shape), interpolation=kind)
    return np.asarray(cv2.flip(pixels, 1, dst=buffer("flipped", shape)) if flips else pixels)


def crops(
    images: Sequence[Array],
    regions: Array,
    flipped: Array,
    side: int,
    finish: Finish = in_place,
    dtype: Any = np.float32,
    interpolation: int | None = None,
) -> Callable[[], Tensor]:
    """Crop, resize to `side`, flip and normalize: `[N, 3, side, side]`; the next run overwrites the batch.

    Args:
        images: arrays uint8 `[H, W, 3]`.
        regions: left, top, right, bottom per image.
        flipped: whether each image is flipped.
        side: side of the output in pixels.
        finish: converts bytes to normalized planes.
        dtype: dtype of the output.
        interpolation: cv2's constant; None: linear.
    """
    out = np.empty((len(images), 3, side, side), dtype)
    boxes = np.asarray(regions).tolist()
    parts = [
        image[top:bottom, left:right] for image, (left, top, right, bottom) in zip(images, boxes, strict=True)
    ]
    flips = np.asarray(flipped).tolist()

    def fill(part: Array, flip: bool, planes: Array) -> None:
        finish(resized(part, flip, side, interpolation), planes)

    def run() -> Tensor:
        share(fill, parts, flips, out)
        return torch.from_numpy(out)

    return run


def looked_up(image: Array, levels: Array) -> Array:
    """Map bytes by a table of 256 levels, rounded and saturated."""
    return np.asarray(cv2.LUT(image, np.clip(np.rint(levels), 0, 255).astype(np.uint8)))


def gray_mean(image: Array) -> float:
    return float(np.dot(cv2.mean(image)[:3], (0.299, 0.587, 0.114)))


def brightened(image: Array, factor: float) -> Array:
    return np.asarray(cv2.convertScaleAbs(image, alpha=factor))


def contrasted(image: Array, factor: float) -> Array:
    return looked_up(image, np.arange(256) * factor + gray_mean(image) * (1 - factor))


def saturated(image: Array, factor: float) -> Array:
    """Blend with the gray image."""
    return np.asarray(cv2.addWeighted(image, factor, gray(image), 1 - factor, 0))


def gray(image: Array) -> Array:
    return np.asarray(cv2.cvtColor(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), cv2.COLOR_GRAY2RGB))


def hue_shifted(image: Array, factor: float) -> Array:
    """Shift by a fraction of the circle, which has 180 levels in cv2."""
    levels = np.arange(256)
    shifted = (levels + 180 * factor) % 180
    table = np.stack([shifted, levels, levels], 1).astype(np.uint8)[None]
    hsv = cv2.cvtColor(image, cv2.COLOR_RGB2HSV)
    return np.asarray(cv2.cvtColor(cv2.LUT(hsv, table), cv2.COLOR_HSV2RGB))
