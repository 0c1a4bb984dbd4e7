"""Sample ids of combined sources, and their check in a batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
from torch.utils.data import ConcatDataset, Subset

from orbbec.data.sample import BadSample, Sample

_ID_BITS = 48  # low bits: the id in the part; above them the number of the part


class Part:
    """A source as part of a `ConcatDataset`; made by `with_distinct_ids`."""

    def __init__(self, source: Any, number: int) -> None:
        self.source, self.number = source, number

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, index: int) -> Any:
        try:
            item = self.source[index]
        except BadSample as error:
            raise BadSample(self._id_of(error.sample_id), error.path, error.reason) from error
        return replace(item, sample_id=self._id_of(item.sample_id)) if isinstance(item, Sample) else item

    def _id_of(self, sample_id: int) -> int:
        if sample_id >> _ID_BITS:
            raise ValueError(
                f"expected sample ids below 2^{_ID_BITS} in part {self.number} of a ConcatDataset, "
                f"but got {sample_id}"
            )
        return self.number << _ID_BITS | sample_id


def with_distinct_ids(source: Any, numbers: Iterator[int] | None = None) -> Any:
    """A source in which the parts of a `ConcatDataset` of torch have distinct sample ids.

    Sample `id` of part number p, counted from 1 over all parts and the parts of these, gets the id
    `p << 48 | id`. Items that are not samples are unchanged.

    Args:
        source: a source or a dataset, also a `Subset` of a `ConcatDataset`.
        numbers: gives the number of each part, if `source` belongs to a `ConcatDataset`.

    Example:
        >>> images = [Sample(b"one", sample_id=7)], [Sample(b"two", sample_id=7)]
        >>> source = with_distinct_ids(ConcatDataset(images))
        >>> [(sample.sample_id >> 48, sample.sample_id & (1 << 48) - 1) for sample in source]
        [(1, 7), (2, 7)]
    """
    if isinstance(source, ConcatDataset):
        numbers = count(1) if numbers is None else numbers
        whole = copy(source)
        whole.datasets = [with_distinct_ids(part, numbers) for part in source.datasets]
        return whole
    if isinstance(source, Subset):
        subset = copy(source)
        subset.dataset = with_distinct_ids(source.dataset, numbers)
        return subset
    return source if numbers is None else Part(source, next(numbers))


def check_ids(indices: Sequence[int], samples: Sequence[Sample]) -> None:
    """Refuse two images with one sample id, which would be augmented alike; indices of -1 are of a stream."""
    if len({sample.sample_id for sample in samples}) == len(samples):
        return
    known: dict[int, tuple[int, Sample]] = {}
    for index, sample in zip(indices, samples, strict=True):
        other_index, other = known.setdefault(sample.sample_id, (index, sample))
        if other is sample or index == other_index >= 0 or _is_same_image(sample, other):
            continue
        first, second = _description(other_index, other), _description(index, sample)
        raise ValueError(
            f"Loader: expected distinct sample ids, but {first} and {second} both have {sample.sample_id}"
        )


def _description(index: int, sample: Sample) -> str:
    return sample.path or (f"the sample at index {index}" if index >= 0 else "a sample of the stream")


def _is_same_image(one: Sample, other: Sample) -> bool:
    if isinstance(one.data, bytes) or isinstance(other.data, bytes):
        return type(one.data) is type(other.data) and one.data == other.data
    return np.array_equal(np.asarray(one.data), np.asarray(other.data))
