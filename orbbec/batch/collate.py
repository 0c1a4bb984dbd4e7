"""Samples of a dataset to a batch, for ``DataLoader(collate_fn=collate)``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch.utils.data import default_collate

from orbbec.batch.image_batch import ImageBatch

_MOST_CHANNELS = 4


def collate(samples: Sequence[Any]) -> Any:
    """Make a batch of samples; their images become an ImageBatch.

    What stands at the same place in every sample becomes, by the first rule that fits:

    1. Images: an ImageBatch. An image is a uint8 array or CPU tensor ``[H, W, C]`` of 1 to 4 channels or
       ``[H, W]`` (a mask is one too) or a PIL image, taken as ``numpy.asarray`` gives it (mode P gives its
       indices). What a dict calls "masks" is no image: it is ``[K, H, W]``, as transforms take it.
    2. Dicts with the same keys, tuples of one type and length: the same dict or tuple, place by place. So do
       lists of one length where they are the samples themselves, or the first one holds an image.
    3. Numbers; arrays of one shape and dtype; tensors of one shape and dtype: a tensor, by torch's
       ``default_collate``.
    4. Anything else, such as strings, None, boxes of unlike counts, other lists: a list, one item a sample.

    So boxes as arrays ``[K, 4]`` come as a list of N arrays, or as one tensor ``[N, K, 4]`` where all K are
    alike: iterating over either gives the boxes of one image after another.

    Args:
        samples: at least one sample: an image, or a dict, tuple or list of images and other things.

    Returns:
        The batch: an ImageBatch, or a dict, tuple or list that holds one for every place of an image.

    Raises:
        TypeError: a PIL image is not of 8 bits a channel.
        ValueError: there is no sample, or the images of one place are unlike in channels or without pixels.

    Example:
        >>> samples = [(np.zeros((2, 3, 3), np.uint8), 7, "a"), (np.zeros((5, 4, 3), np.uint8), 8, "b")]
        >>> collate(samples)
        (ImageBatch(2 images, channels=3, sizes=2x3..5x4, device=cpu), tensor([7, 8]), ['a', 'b'])
    """
    if not samples:
        raise ValueError("collate: expected at least 1 sample, but got 0")
    return _collate(list(samples), are_samples=True)


def _collate(values: list[Any], are_samples: bool = False, are_masks: bool = False) -> Any:
    first = values[0]
    if not are_masks and all(map(_is_image, values)):
        return ImageBatch.from_images([_without_pil(value) for value in values])
    if _are_dicts(values):
        return {key: _collate([value[key] for value in values], are_masks=key == "masks") for key in first}
    if _are_sequences(values) and (isinstance(first, tuple) or are_samples or any(map(_is_image, first))):
        columns = [_collate(list(column)) for column in zip(*values, strict=True)]
        return type(first)(*columns) if hasattr(first, "_fields") else type(first)(columns)
    return default_collate(values) if _are_stackable(values) else values


def _is_image(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return value.dtype == torch.uint8 and _is_shape_of_image(value.shape)
    if isinstance(value, np.ndarray):
        return value.dtype == np.uint8 and _is_shape_of_image(value.shape)
    return is_pil(value)


def _is_shape_of_image(shape: Sequence[int]) -> bool:
    """Masks ``[K, H, W]`` and images ``[C, H, W]`` are told apart by their last axis."""
    return len(shape) == 2 or (len(shape) == 3 and shape[2] <= _MOST_CHANNELS)


def is_pil(value: Any) -> bool:
    # No need to import it: who has a PIL image did. Another thread may be importing it now.
    kind = getattr(sys.modules.get("PIL.Image"), "Image", None)
    return kind is not None and isinstance(value, kind)


def _without_pil(image: Any) -> Any:
    return np.asarray(image) if is_pil(image) else image


def _are_dicts(values: list[Any]) -> bool:
    return all(isinstance(value, dict) and value.keys() == values[0].keys() for value in values)


def _are_sequences(values: list[Any]) -> bool:
    first = values[0]
    return isinstance(first, (tuple, list)) and all(
        type(value) is type(first) and len(value) == len(first) for value in values
    )


def _are_stackable(values: list[Any]) -> bool:
    if all(map(_is_number, values)):
        return True
    for kind in (torch.Tensor, np.ndarray):
        if all(isinstance(value, kind) for value in values):
            unlike = {(value.dtype, value.shape) for value in values}
            return len(unlike) == 1 and _is_numeric(values[0].dtype)
    return False


def _is_number(value: Any) -> bool:
    if isinstance(value, np.generic):
        return _is_numeric(value.dtype)
    return isinstance(value, (bool, int, float))


def _is_numeric(dtype: Any) -> bool:
    return isinstance(dtype, torch.dtype) or dtype.kind in "biufc"
