"""A sample apart: its images, one after the other, and all the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from orbbec.data.sample import Sample, each_image


@dataclass(frozen=True)
class _Part:
    """Stands for an image: its number of bytes, and its shape; None for a file."""

    nbytes: int
    shape: tuple[int, ...] | None


def apart(sample: Sample) -> tuple[Sample, bytes] | None:
    r"""The sample without its images, and the bytes of all of them; None if one is neither a file nor uint8.

    Example:
        >>> rest, images = apart(Sample({"left": b"one", "right": np.zeros((1, 2), np.uint8)}))
        >>> images, together(rest, images).data["right"].shape
        (b'one\x00\x00', (1, 2))
    """
    images: list[bytes] = []
    others: list[Any] = []

    def part(_: Sample, image: Any) -> _Part | None:
        pixels = np.asarray(image) if isinstance(image, Tensor) else image
        if isinstance(pixels, bytes):
            images.append(pixels)
            return _Part(len(pixels), None)
        if isinstance(pixels, np.ndarray) and pixels.dtype == np.uint8:
            images.append(pixels.tobytes())
            return _Part(pixels.nbytes, pixels.shape)
        others.append(pixels)
        return None

    rest = each_image(sample, part)
    return None if others else (rest, images[0] if len(images) == 1 else b"".join(images))


def together(rest: Sample, images: bytes) -> Sample:
    """The sample that was taken apart; a single image shares memory with `images`."""
    position = 0

    def image(_: Sample, part: _Part) -> Any:
        nonlocal position
        position += part.nbytes
        single = part.nbytes == len(images)
        data: Any = images if single else images[position - part.nbytes : position]
        return data if part.shape is None else np.ndarray(part.shape, np.uint8, data)

    return each_image(rest, image)
