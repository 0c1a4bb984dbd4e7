"""Several copies of a sample in one epoch, which transforms augment differently.

Copy c of sample `index` of a source of N samples has the position `c * N + index`, and its sample id is that
of the sample, with c in the bits from 54 on. Copy 0 is the sample itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec.data.epochs import with_epochs
from orbbec.data.files import ImageFiles, files_of
from orbbec.data.sample import BadSample, Sample

_ID_BITS = 54  # of the sample; above them the number of the copy
MAX_COPIES = 1 << (63 - _ID_BITS)  # further copies are like the first ones


def original_ids(sample_ids: Tensor) -> Tensor:
    """The ids of samples without the numbers of copies.

    Args:
        sample_ids: int64 `[N]`, of a batch.

    Example:
        >>> original_ids(torch.tensor([7, (2 << 54) + 7])).tolist()
        [7, 7]
    """
    return sample_ids & ((1 << _ID_BITS) - 1)


def numbered(indices: Tensor, length: int) -> Tensor:
    """Positions of copies in a source of this length: the copies of an index are counted in their order.

    Example:
        >>> numbered(torch.tensor([2, 0, 2, 2]), 10).tolist()
        [2, 0, 12, 22]
    """
    order = torch.argsort(indices, stable=True)
    ordered = indices[order]
    begins = torch.searchsorted(ordered, ordered)  # of the equal indices
    copies = torch.empty_like(indices)
    copies[order] = torch.arange(len(indices), device="cpu") - begins
    return indices + copies.remainder(MAX_COPIES) * length


class _Repeated(Sequence[Any]):
    """Values of samples at the positions of their copies, converted; also for lists of positions."""

    def __init__(self, values: Any, convert: Callable[[Any, Any], Any] | None = None) -> None:
        self._values, self._convert = values, convert

    def __len__(self) -> int:
        return len(self._values) * MAX_COPIES

    def __getitem__(self, position: Any) -> Any:
        copies, index = np.divmod(position, len(self._values))
        value = self._values[index]
        return value if self._convert is None else self._convert(value, copies)


class Copies:
    """A source with the copies of its samples.

    Args:
        source: samples by index.

    Example:
        >>> copies = Copies([Sample(b"one", sample_id=7), Sample(b"two", sample_id=9)])
        >>> copies[3].data, copies[3].sample_id >> 54, copies[3].sample_id & ((1 << 54) - 1)
        (b'two', 1, 9)
    """

    def __init__(self, source: Any) -> None:
        self.source = source

    def __len__(self) -> int:
        return len(self.source) * MAX_COPIES

    def __getitem__(self, position: int) -> Any:
        copy, index = divmod(position, len(self.source))
        try:
            return _copied(self.source[index], copy)
        except BadSample as error:
            raise BadSample(_copied_id(error.sample_id, copy), error.path, error.reason) from error

    def set_epoch(self, epoch: int) -> None:
        """Begin an epoch of the source, if it has epochs."""
        for part in with_epochs(self.source):
            part.set_epoch(epoch)

    def table(self) -> ImageFiles | None:
        """The files or records of the source, if it has some."""
        files = files_of(self.source)
        if files is None:
            return None
        length = len(self.source)
        ids = range(length) if files.sample_ids is None else files.sample_ids
        return ImageFiles(
            _Repeated(files.paths),
            files.root,
            _Repeated(ids, _copied_id),
            None if files.sizes is None else _Repeated(files.sizes),
            None if files.spans is None else _Repeated(files.spans),  # type: ignore[arg-type]
            files.are_records,
            None
            if files.columns is None
            else {name: _Repeated(column) for name, column in files.columns.items()},
        )

    def targets(self, position: int) -> dict[str, Any]:
        """The targets of a file."""
        targets: dict[str, Any] = self.source.targets(position % len(self.source))
        return targets

    def record_sample(self, position: int, record: bytes) -> Any:
        """The sample of a record."""
        copy, index = divmod(position, len(self.source))
        return _copied(self.source.record_sample(index, record), copy)


def _copied(item: Any, copy: int) -> Any:
    return replace(item, sample_id=_copied_id(item.sample_id, copy)) if isinstance(item, Sample) else item


def _copied_id(sample_id: int, copy: int) -> int:
    if sample_id >> _ID_BITS:
        raise ValueError(
            f"expected sample ids below 2^{_ID_BITS} of samples with copies, but got {sample_id}"
        )
    return int(copy) << _ID_BITS | int(sample_id)
