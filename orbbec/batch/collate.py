"""Collates samples of a dataset to a batch, for ``DataLoader(collate_fn=collate)``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, TypeGuard

import numpy as np
import torch
from torch.utils.data import default_collate

from orbbec.batch.image_batch import ImageBatch

_MOST_CHANNELS = 4
_MASKS = ("mask", "masks")
_DTYPES = {int: np.int64, float: np.float64}  # of `default_collate`


def collate(samples: Sequence[Any]) -> Any:
    """Collate samples to a batch; their images become an ImageBatch.

    The values at one position of all samples are collated by the first rule that applies:

    1. Images: an ImageBatch. An image is a uint8 array or CPU tensor ``[H, W, C]`` of 1 to 4 channels or
       ``[H, W]``, or a PIL image, converted by ``numpy.asarray`` (mode P gives its indices). The dict entries
       "mask" ``[H, W]`` and "masks" ``[K, H, W]``, named as in transforms, and ``tv_tensors.Mask`` are no
       images: masks of one size become a tensor by rule 3, masks of several sizes a list by rule 4.
    2. Dicts with equal keys, tuples of one type and length: the same dict or tuple, collated by entry.
       Also lists of one length if they are the samples themselves, or if the first contains an image.
    3. Numbers; arrays of one shape and dtype; tensors of one shape and dtype: a tensor, by torch's
       ``default_collate``.
    4. Anything else, such as strings, None, integers beyond 64 bits, different numbers of boxes, other lists:
       a list with one item per sample.

    Boxes ``[K, 4]`` therefore become a list of N arrays, or one tensor ``[N, K, 4]`` if all K are equal;
    iterating over either gives the boxes of each image.

    Args:
        samples: at least one sample: an image, or a dict, tuple or list with images and other values.

    Returns:
        The batch: an ImageBatch, or a dict, tuple or list with an ImageBatch for each image of a sample.

    Raises:
        TypeError: a PIL image does not have 8 bits per channel.
        ValueError: there is no sample, or images to be batched are empty or differ in channels.

    Example:
        >>> samples = [(np.zeros((2, 3, 3), np.uint8), 7, "a"), (np.zeros((5, 4, 3), np.uint8), 8, "b")]
        >>> collate(samples)
        (ImageBatch(2 images, channels=3, sizes=2..5 x 3..4, device=cpu), tensor([7, 8]), ['a', 'b'])
    """
    if not samples:
        raise ValueError("collate: expected at least 1 sample, but got 0")
    return _collate(list(samples), are_samples=True)


def collate_targets(targets: list[dict[str, Any]]) -> Any:
    """Collate the targets of samples by the rules of `collate`, except that none of their values is an image.

    Example:
        >>> flags = np.eye(2, dtype=np.uint8)
        >>> collate_targets([{"flags": flags, "name": "a"}, {"flags": flags, "name": "b"}])["flags"].shape
        torch.Size([2, 2, 2])
    """
    return _collate(targets, has_images=False)


def collate_columns(columns: dict[Any, list[Any]], has_images: bool = False) -> dict[Any, Any]:
    """Collate the values of each entry of dicts, which are lists with one item per sample.

    Example:
        >>> collate_columns({"label": [3, 5], "name": ["a", "b"]})
        {'label': tensor([3, 5]), 'name': ['a', 'b']}
    """
    return {
        key: _collate(column, has_images=has_images and key not in _MASKS) for key, column in columns.items()
    }


def _collate(values: list[Any], are_samples: bool = False, has_images: bool = True) -> Any:
    first = values[0]
    if _are_plain_numbers(values):
        try:
            return torch.from_numpy(np.array(values, _DTYPES[type(first)]))
        except OverflowError:  # integers beyond 64 bits
            return values
    if not has_images or _is_any_mask(values):
        values = [np.array(value) if is_pil(value) else value for value in values]
    elif all(map(_is_image, values)):
        return ImageBatch.from_images([_without_pil(value) for value in values])
    if _are_dicts(values):
        return collate_columns({key: [value[key] for value in values] for key in first}, has_images)
    is_of_images = are_samples or (has_images and _are_sequences(values) and any(map(_is_image, first)))
    if _are_sequences(values) and (isinstance(first, tuple) or is_of_images):
        columns = zip(*values, strict=True)
        return sequence_like([_collate(list(column), has_images=has_images) for column in columns], first)
    if not _are_stackable(values):
        return values
    with torch.device("cpu"):  # default_collate has no argument for it
        return default_collate(list(map(_native, values)))


def _are_plain_numbers(values: list[Any]) -> bool:
    """Whether all values are of one of Python's types of numbers; that is fast to see."""
    return type(values[0]) in _DTYPES and len(set(map(type, values))) == 1


def _native(value: Any) -> Any:
    """Arrays of another byte order, which torch does not have, in that of this machine."""
    is_foreign = isinstance(value, np.ndarray) and not value.dtype.isnative
    return value.astype(value.dtype.newbyteorder("=")) if is_foreign else value


def _is_any_mask(values: list[Any]) -> bool:
    """Whether a value is a `tv_tensors.Mask`; torchvision is not imported."""
    kind = getattr(sys.modules.get("torchvision.tv_tensors"), "Mask", None)
    return kind is not None and any(isinstance(value, kind) for value in values)


def _is_image(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return value.dtype == torch.uint8 and _is_shape_of_image(value.shape)
    if isinstance(value, np.ndarray):
        return value.dtype == np.uint8 and _is_shape_of_image(value.shape)
    return is_pil(value)


def _is_shape_of_image(shape: Sequence[int]) -> bool:
    """Whether a shape is an image's; the last axis distinguishes images from masks ``[K, H, W]``."""
    return len(shape) == 2 or (len(shape) == 3 and shape[2] <= _MOST_CHANNELS)


def is_pil(value: Any) -> TypeGuard[Any]:
    """Whether a value is a `PIL.Image.Image`."""
    # Not imported here: a caller with a PIL image has imported it. Another thread may be importing it now.
    kind = getattr(sys.modules.get("PIL.Image"), "Image", None)
    return kind is not None and isinstance(value, kind)


def sequence_like(entries: Sequence[Any], like: Sequence[Any]) -> Any:
    """Entries in a sequence of the type of `like`: a list, a tuple or, if it has as many, a named tuple."""
    kind: Any = type(like)
    if hasattr(kind, "_fields") and len(entries) == len(like):
        return kind._make(entries)
    if hasattr(kind, "_fields") or (kind is torch.Size and not all(type(entry) is int for entry in entries)):
        return tuple(entries)
    return kind(entries) if isinstance(like, (list, tuple)) else list(entries)


def _without_pil(image: Any) -> Any:
    return np.asarray(image) if is_pil(image) else image


def _are_dicts(values: list[Any]) -> bool:
    if set(map(type, values)) == {dict} and len(set(map(tuple, values))) == 1:  # also in one order
        return True
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
            forms = {(value.dtype, value.shape) for value in values}
            return len(forms) == 1 and _is_numeric(values[0].dtype)
    return False


def _is_number(value: Any) -> bool:
    if isinstance(value, np.generic):
        return _is_numeric(value.dtype)
    return isinstance(value, (bool, int, float))


def _is_numeric(dtype: Any) -> bool:
    return isinstance(dtype, torch.dtype) or dtype.kind in "biufc"
