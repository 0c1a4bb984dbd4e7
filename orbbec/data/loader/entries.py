"""The samples of a batch between reading and decoding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from traceback import extract_tb
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch

from orbbec.data.decode.jpeg_header import JpegHeader
from orbbec.data.decode.modes import Pixels
from orbbec.data.decode.orientation import Rectangle, upright_size
from orbbec.data.decode.planes import Encoded
from orbbec.data.decode.region import Regions
from orbbec.data.sample import BadSample, Fault, Sample, SourceError

Item: TypeAlias = int | Sample | BadSample  # an index, or what a stream yields

_JPEG = b"\xff\xd8"  # its first bytes
_DATA = (bytes, np.ndarray, torch.Tensor, tuple, dict)  # types of `Sample.data`


class Bad(NamedTuple):
    """A bad sample and its index in the source; -1 for a stream."""

    position: int
    fault: Fault


class Opened(NamedTuple):
    """A decoded sample, or the header of a file that is decoded later: a JPEG, or any in a large batch."""

    position: int  # in the source; -1 for a stream
    sample: Sample
    header: JpegHeader | None
    pixels: Pixels | None

    @property
    def size(self) -> tuple[int, int]:
        if self.pixels is not None:
            return self.pixels.shape[0], self.pixels.shape[1]
        assert self.header is not None
        return upright_size(self.header.height, self.header.width, self.header.orientation)

    @property
    def can_shrink(self) -> bool:
        """Whether it can be decoded at a lower resolution: as a JPEG that is not decoded yet."""
        data = self.sample.data
        return self.header is not None and isinstance(data, bytes) and data[:2] == _JPEG

    @property
    def stored(self) -> Encoded | Pixels:
        """For a YCbCrBatch."""
        if self.pixels is not None:
            return self.pixels
        assert self.header is not None
        assert isinstance(self.sample.data, bytes)
        return Encoded(self.sample.data, self.header)


class Attempt(NamedTuple):
    """A batch to be decoded. It fails if images turn out to be damaged, or other than their headers say."""

    opened: list[Opened]
    batch: Any  # ImageBatch or YCbCrBatch; results if it is augmented
    buffers: list[Any]  # the pixels of each image in the batch; none if it was put together from pieces
    regions: Regions | None
    is_augmented: bool = False

    def region(self, row: int) -> tuple[Rectangle | None, int]:
        return (None, 1) if self.regions is None else self.regions[row]

    def copy_from(self, other: Attempt) -> set[int]:
        """Copy images that the other attempt decoded; returns their rows."""
        rows = {id(entry): row for row, entry in enumerate(other.opened)}
        pairs = [(row, rows.get(id(entry), -1)) for row, entry in enumerate(self.opened)]
        same = [(row, old) for row, old in pairs if old >= 0 and self.region(row) == other.region(old)]
        for row, old in same:
            self.buffers[row][...] = other.buffers[old]
        return {row for row, _ in same}


def position_of(item: Item) -> int:
    """The index of a sample in its source; -1 for a stream."""
    return item if isinstance(item, int) else -1


def sample_of(source: Any, index: int) -> Sample:
    """A sample of a source.

    Raises:
        BadSample: raised by the source.
        SourceError: the source raised another error.
        TypeError: it is no sample, or a field has another type than those of `Sample`.
        ValueError: its id is out of range.
    """
    try:
        sample = source[index]
    except BadSample:
        raise
    except Exception as error:
        where = raised_in(error, __file__)
        text = f"Loader: sample {index} raised {type(error).__name__}: {error}{where}"
        raise SourceError(text) from error
    if not isinstance(sample, Sample):
        kind = type(sample).__name__
        raise TypeError(
            f"Loader: expected a Sample, but sample {index} is a {kind}: use as_source or open_source"
        )
    for name, value, kinds, text in (
        ("data", sample.data, _DATA, "bytes, pixels, or a tuple or dict of these"),
        ("targets", sample.targets, dict, "a dict"),
        ("sample_id", sample.sample_id, (int, np.integer), "a whole number"),
    ):
        if not isinstance(value, kinds) or isinstance(value, bool):
            kind = type(value).__name__
            raise TypeError(f"Loader: expected {name} of sample {index} as {text}, but got a {kind}")
    if not 0 <= sample.sample_id < 1 << 63:
        raise ValueError(
            f"Loader: expected sample_id of sample {index} from 0 to 2^63 - 1, but got {sample.sample_id}"
        )
    return sample


def ids_tensor(sample_ids: Sequence[int]) -> torch.Tensor:
    """Sample ids as int64 `[N]`."""
    return torch.from_numpy(np.array(sample_ids, np.int64))


def raised_in(error: Exception, caller: str) -> str:
    """The location in a source's code that raised an error; empty if it was the file `caller` itself."""
    at = extract_tb(error.__traceback__)[-1]
    return "" if at.filename == caller else f" (in {at.name}, {at.filename}:{at.lineno})"


@contextmanager
def named(sample: Sample, part: str = "its image") -> Iterator[None]:
    """Convert an error about this sample into its BadSample; `part` is named if its path is not known."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise BadSample(sample.sample_id, sample.path or part, str(error)) from error
