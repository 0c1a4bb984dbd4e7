"""Sample ids of combined sources: the parts count from 0 each, their combination must not repeat ids."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

import numpy as np
from torch.utils.data import ConcatDataset, Subset

from orbbec.data.sample import BadSample, Sample

_ID_BITS = 48  # low bits: the id in the part; above them the number of the part, from 1


class Concatenation:
    """The samples of several sources in order, with distinct ids; made by `with_distinct_ids`."""

    def __init__(self, sources: Sequence[Any]) -> None:
        self.sources = sources
        self._ends = list(accumulate(map(len, sources)))

    def __len__(self) -> int:
        return self._ends[-1]

    def __getitem__(self, index: int) -> Any:
        index = range(len(self))[index]
        part = bisect_right(self._ends, index)
        source = self.sources[part]
        try:
            item = source[index - self._ends[part] + len(source)]
        except BadSample as error:
            sample_id = _id_of(part, error.sample_id)
            raise BadSample(sample_id, error.path, error.reason) from error
        return replace(item, sample_id=_id_of(part, item.sample_id)) if isinstance(item, Sample) else item


def with_distinct_ids(source: Any) -> Any:
    """A source in which each `ConcatDataset` of torch has samples with distinct ids.

    Sample `id` of part number p, counted from 1 over all parts and the parts of these, gets the id
    `p << 48 | id`. Items that are not samples are unchanged. A `Subset` is that of the changed source.

    Args:
        source: a source or a dataset.

    Example:
        >>> images = [Sample(b"one", sample_id=7)], [Sample(b"two", sample_id=7)]
        >>> source = with_distinct_ids(ConcatDataset(images))
        >>> [(sample.sample_id >> 48, sample.sample_id & (1 << 48) - 1) for sample in source]
        [(1, 7), (2, 7)]
    """
    if isinstance(source, ConcatDataset):
        return Concatenation(list(_parts(source)))
    if type(source) is not Subset:
        return source
    whole = with_distinct_ids(source.dataset)
    return source if whole is source.dataset else Subset(whole, source.indices)


def _parts(source: Any) -> Iterator[Any]:
    if not isinstance(source, ConcatDataset):
        yield with_distinct_ids(source)
        return
    for part in source.datasets:
        yield from _parts(part)


def _id_of(part: int, sample_id: int) -> int:
    if sample_id >> _ID_BITS:
        raise ValueError(
            f"expected sample ids below 2^{_ID_BITS} in part {part} of a ConcatDataset, but got {sample_id}"
        )
    return part + 1 << _ID_BITS | sample_id


def check_ids(indices: Sequence[int], samples: Sequence[Sample]) -> None:
    """Refuse two images with one sample id: they would be augmented alike.

    Args:
        indices: index of each sample in its source; -1 for a stream. A sample may be repeated.
        samples: the samples of a batch.

    Raises:
        ValueError: two images have one id; the message names both.
    """
    if len({sample.sample_id for sample in samples}) == len(samples):
        return
    known: dict[int, tuple[int, Sample]] = {}
    for index, sample in zip(indices, samples, strict=True):
        other_index, other = known.setdefault(sample.sample_id, (index, sample))
        if other is sample or index == other_index >= 0 or _is_same_image(sample, other):
            continue
        first, second = _place(other_index, other), _place(index, sample)
        raise ValueError(
            f"Loader: expected distinct sample ids, but {first} and {second} both have {sample.sample_id}"
        )


def _place(index: int, sample: Sample) -> str:
    return sample.path or (f"the sample at index {index}" if index >= 0 else "a sample of the stream")


def _is_same_image(one: Sample, other: Sample) -> bool:
    if isinstance(one.data, bytes) or isinstance(other.data, bytes):
        return type(one.data) is type(other.data) and one.data == other.data
    return np.array_equal(np.asarray(one.data), np.asarray(other.data))
