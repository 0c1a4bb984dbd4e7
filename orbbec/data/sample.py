"""A sample as every reader gives it, and the error of one that cannot be read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy.typing as npt
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Sample:
    """An image with what belongs to it.

    Args:
        data: an encoded file, or an image uint8 `[H, W, C]` or `[H, W]`.
        targets: as `orbbec.transforms` takes them: "boxes", "masks", "keypoints" ...; empty where there are
            none. A class is "label".
        sample_id: from 0 to 2^63 - 1; the same for the same sample in every epoch, worker and rank.

    Example:
        >>> Sample(b"the bytes of a JPEG", {"label": 3}, sample_id=17).targets["label"]
        3
    """

    data: bytes | npt.NDArray[Any] | Tensor
    targets: dict[str, Any] = field(default_factory=dict)
    sample_id: int = 0


@runtime_checkable
class Source(Protocol):
    """Samples by their index: what all readers of this package are.

    Asked by several threads at once, and pickled or forked into DataLoader workers. Indices are from 0 to
    `len` - 1; where one from the end is taken, it gives the sample and the id of that from 0.
    """

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Sample: ...


class BadSample(Exception):  # said of data, as StopIteration is of a loop
    """A sample is missing, unreadable or corrupt.

    Args:
        sample_id: of the sample.
        path: of the file, with the name inside where there is one: `train-000003.tar/000000042.jpg`.
        reason: what is wrong with it.

    Attributes:
        details: where a `Loader` raised it: the traceback in the thread that read the sample, as text.

    Example:
        >>> str(BadSample(7, "cats/3.jpg", "the file is empty"))
        'sample 7 (cats/3.jpg): the file is empty'
    """

    def __init__(self, sample_id: int, path: str | os.PathLike[str], reason: str) -> None:
        super().__init__(sample_id, str(path), reason)  # as given, so that it pickles
        self.sample_id, self.path, self.reason, self.details = sample_id, str(path), reason, ""

    def __str__(self) -> str:
        return str(Fault.of(self))


class SourceError(RuntimeError):
    """A source raised something else than a `BadSample`.

    Attributes:
        details: the traceback of what it raised, as text.
    """

    details = ""


@dataclass(frozen=True)
class Fault:
    """A bad sample as it is kept: its error would keep frames alive, and with them the pixels of its batch.

    Args:
        sample_id: of the sample.
        path: as that of a `BadSample`.
        reason: as that of a `BadSample`.

    Example:
        >>> str(Fault(7, "cats/3.jpg", "the file is empty"))
        'sample 7 (cats/3.jpg): the file is empty'
    """

    sample_id: int
    path: str
    reason: str

    @classmethod
    def of(cls, error: BadSample) -> Fault:
        """What an error says."""
        return cls(error.sample_id, error.path, error.reason)

    def __str__(self) -> str:
        return f"sample {self.sample_id} ({self.path}): {self.reason}"


@contextmanager
def faults_named(sample_id: int, path: str | os.PathLike[str], *kinds: type[Exception]) -> Iterator[None]:
    """Turn errors of some kinds into the BadSample of a sample.

    Args:
        sample_id: of the sample.
        path: of the file that is read.
        kinds: of the errors; OSError is always one.

    Raises:
        BadSample: from the error.

    Example:
        >>> with faults_named(7, "cats/3.txt", ValueError):
        ...     int("three")
        Traceback (most recent call last):
        orbbec.data.sample.BadSample: sample 7 (cats/3.txt): invalid literal for int() with base 10: 'three'
    """
    faults: tuple[type[Exception], ...] = (OSError, *kinds)
    try:
        yield
    except faults as error:
        raise BadSample(sample_id, path, reason_of(error)) from error


def reason_of(error: Exception) -> str:
    """What an error says, without what the path of a sample says already.

    Example:
        >>> reason_of(FileNotFoundError(2, "No such file or directory", "a.jpg")), reason_of(KeyError())
        ('No such file or directory', 'KeyError')
    """
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error.args[0]) if error.args else type(error).__name__


def read_bytes(path: str | os.PathLike[str], sample_id: int) -> bytes:
    """The bytes of a file.

    Args:
        path: of the file.
        sample_id: for the error.

    Raises:
        BadSample: the file is missing, unreadable or empty.

    Example:
        >>> read_bytes("no/such.jpg", 7)
        Traceback (most recent call last):
        orbbec.data.sample.BadSample: sample 7 (no/such.jpg): No such file or directory
    """
    with faults_named(sample_id, path, ValueError), open(path, "rb") as file:
        data = file.read()
    if not data:
        raise BadSample(sample_id, path, "the file is empty")
    return data


def read_range(path: str | os.PathLike[str], offset: int, size: int, part: str) -> bytes:
    """Some bytes of a file.

    Args:
        path: of the file.
        offset: of the first byte.
        size: how many.
        part: what they are, for the error.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file ends before; nothing was read, and no memory was taken.

    Example:
        >>> read_range("/dev/null", 1, 2**62, "the image")
        Traceback (most recent call last):
        ValueError: the file ends 4611686018427387905 bytes before the end of the image
    """
    with open(path, "rb") as file:
        missing = offset + size - os.fstat(file.fileno()).st_size
        if missing <= 0:
            file.seek(offset)
            data = file.read(size)
            missing = size - len(data)
    if missing > 0:
        raise ValueError(f"the file ends {missing} bytes before the end of {part}")
    return data
