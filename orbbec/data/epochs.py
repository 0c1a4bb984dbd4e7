"""Sources whose samples depend on the epoch, also as parts of combined ones."""

from __future__ import annotations

from typing import Any

from torch.utils.data import ConcatDataset, Subset

from orbbec.data.concat import Part
from orbbec.data.readers.cameras.several import SeveralImages
from orbbec.data.readers.wrap import WrappedDataset


def with_epochs(source: Any) -> list[Any]:
    """The source if it has `set_epoch`, or the parts of a combined one that have it.

    Example:
        >>> class Changing(list):
        ...     def set_epoch(self, epoch): ...
        >>> with_epochs(ConcatDataset([Changing("ab"), Subset(Changing("cd"), [1]), ["e"]]))
        [['a', 'b'], ['c', 'd']]
    """
    if hasattr(source, "set_epoch"):
        return [source]
    parts: list[Any] = []
    if isinstance(source, ConcatDataset):
        parts = source.datasets
    elif isinstance(source, (Subset, WrappedDataset)):
        parts = [source.dataset]
    elif isinstance(source, SeveralImages):
        parts = [*source.sources.values()]
    elif isinstance(source, Part):
        parts = [source.source]
    return [found for part in parts for found in with_epochs(part)]
