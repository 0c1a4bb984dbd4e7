"""The sample type of all readers, and the error for samples that cannot be read."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from io import FileIO
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy.typing as npt
from torch import Tensor

_PIECE = 1 << 20  # bytes: more are allocated only if the file has them

Image: TypeAlias = bytes | npt.NDArray[Any] | Tensor  # an encoded file, or pixels


@dataclass(frozen=True, eq=False)
class Sample:
    """An image and its targets.

    Args:
        data: an encoded file, or an image uint8 `[H, W, C]` or `[H, W]`. A tuple of these: the frames of a
            clip, whose targets have a row per frame, except `label` and what else belongs to all frames. A
            dict of these or of samples, by name: several images with common random parameters; see
            `SeveralImages`.
        targets: as in `orbbec.transforms`: "boxes", "masks", "keypoints" ...; a class is "label". May be
            empty.
        sample_id: from 0 to 2^63 - 1; identifies the sample in every epoch, worker and rank.
        path: the file, for messages; see `BadSample`. May be empty.
        size: (height, width) of the image that the targets were annotated on; None: not declared. If a sample
            has boxes, masks or points, a decoded image of another size makes it a bad sample.
        files: what the targets were read from, such as a mask, if the sample is read anew each time; a
            `Cache` reads it again if one of them changed.

    Example:
        >>> Sample(b"the bytes of a JPEG", {"label": 3}, sample_id=17).targets["label"]
        3
    """

    data: Image | tuple[Image, ...] | dict[str, Any]
    targets: dict[str, Any] = field(default_factory=dict)
    sample_id: int = 0
    path: str = field(default="", repr=False)
    size: tuple[int, int] | None = field(default=None, repr=False)
    files: tuple[str, ...] = field(default=(), repr=False)


def each_image(sample: Sample, change: Callable[[Sample, Any], Any]) -> Sample:
    """The sample with another image in place of each of its images, those of a clip, or those of a dict.

    `change` is called with the innermost sample that holds the image, and the image.

    Example:
        >>> pair = Sample({"left": b"one", "right": Sample(b"two", {"label": 3})})
        >>> each_image(pair, lambda holder, image: image.upper() if holder.targets else image).data
        {'left': b'one', 'right': Sample(data=b'TWO', targets={'label': 3}, sample_id=0)}
    """

    def changed(data: Any) -> Any:
        return each_image(data, change) if isinstance(data, Sample) else change(sample, data)

    data: Any = sample.data
    if isinstance(data, dict):
        data = {name: changed(image) for name, image in data.items()}
    else:
        data = tuple(map(changed, data)) if isinstance(data, tuple) else change(sample, data)
    return Sample(data, sample.targets, sample.sample_id, sample.path, sample.size, sample.files)


@runtime_checkable
class Source(Protocol):
    """Samples by index: the interface of all readers in this package.

    It is called by several threads at once, and pickled or forked into DataLoader workers. Indices are from 0
    to `len` - 1. If negative indices are supported, they give the sample and id of the equivalent index from
    0.
    """

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Sample: ...


class BadSample(Exception):  # a condition of data, like StopIteration
    """A sample is missing, unreadable or corrupt.

    Args:
        sample_id: id of the sample.
        path: the file, with the name inside an archive if any: `train-000003.tar/000000042.jpg`.
        reason: what is wrong.

    Attributes:
        details: if raised by a `Loader`, the traceback in the thread that read the sample, as text.

    Example:
        >>> str(BadSample(7, "cats/3.jpg", "the file is empty"))
        'sample 7 (cats/3.jpg): the file is empty'
    """

    def __init__(self, sample_id: int, path: str | os.PathLike[str], reason: str) -> None:
        super().__init__(sample_id, str(path), reason)  # the constructor's arguments, for pickling
        self.sample_id, self.path, self.reason, self.details = sample_id, str(path), reason, ""

    def __str__(self) -> str:
        return str(Fault.of(self))


class SourceError(RuntimeError):
    """A source raised an error other than `BadSample`.

    Attributes:
        details: the traceback of that error, as text.
    """

    details = ""


@dataclass(frozen=True)
class Fault:
    """The record of a bad sample. It does not keep the batch's pixels alive, as the error would.

    Args:
        sample_id: id of the sample.
        path: see `BadSample`.
        reason: see `BadSample`.

    Example:
        >>> str(Fault(7, "cats/3.jpg", "the file is empty"))
        'sample 7 (cats/3.jpg): the file is empty'
    """

    sample_id: int
    path: str
    reason: str

    @classmethod
    def of(cls, error: BadSample) -> Fault:
        """The record of an error."""
        return cls(error.sample_id, error.path, error.reason)

    def __str__(self) -> str:
        return printable(f"sample {self.sample_id} ({self.path}): {self.reason}")


def printable(text: object) -> str:
    r"""A text that any UTF-8 file or terminal takes: bytes of file names that are not UTF-8 are escaped.

    Example:
        >>> printable(os.fsdecode(b"caf\xe9.jpg"))
        'caf\\udce9.jpg'
    """
    return str(text).encode("utf-8", "backslashreplace").decode()


class faults_named:
    """Convert OSErrors, and errors of other kinds, into the BadSample of a sample.

    Example:
        >>> with faults_named(7, "cats/3.txt", ValueError):
        ...     int("three")
        Traceback (most recent call last):
        orbbec.data.sample.BadSample: sample 7 (cats/3.txt): invalid literal for int() with base 10: 'three'
    """

    __slots__ = ("kinds", "path", "sample_id")

    def __init__(self, sample_id: int, path: str | os.PathLike[str], *kinds: type[Exception]) -> None:
        self.sample_id, self.path = sample_id, path
        self.kinds: tuple[type[Exception], ...] = (OSError, *kinds)

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception) and isinstance(error, self.kinds):
            raise BadSample(self.sample_id, self.path, reason_of(error)) from error


def reason_of(error: Exception) -> str:
    """The message of an error, without the path, which the sample already states.

    Example:
        >>> reason_of(FileNotFoundError(2, "No such file or directory", "a.jpg")), reason_of(KeyError())
        ('No such file or directory', 'KeyError')
        >>> reason_of(UnicodeDecodeError("utf-8", bytes([255]), 0, 1, "invalid start byte"))
        "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"
    """
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error.args[0] if len(error.args) == 1 else error) or type(error).__name__


def read_bytes(path: str | os.PathLike[str], sample_id: int) -> bytes:
    """The bytes of a file; BadSample if it is missing, unreadable or empty.

    Example:
        >>> read_bytes("no/such.jpg", 7)
        Traceback (most recent call last):
        orbbec.data.sample.BadSample: sample 7 (no/such.jpg): No such file or directory
    """
    with faults_named(sample_id, path, ValueError), FileIO(path) as file:
        data = file.readall()
    if not data:
        raise BadSample(sample_id, path, "the file is empty")
    return data


def read_range(path: str | os.PathLike[str], offset: int, size: int, part: str) -> bytes:
    """`size` bytes of a file from an offset, refused before they are allocated; the error calls them `part`.

    Example:
        >>> read_range("/dev/null", 1, 2**62, "the image")
        Traceback (most recent call last):
        ValueError: the file ends 4611686018427387905 bytes before the end of the image
    """
    handle = os.open(path, os.O_RDONLY)
    try:
        return read_open(handle, offset, size, part)
    finally:
        os.close(handle)


def read_open(handle: int, offset: int, size: int, part: str) -> bytes:
    """See `read_range`; of an open file, for several threads at once."""
    if size <= _PIECE or offset + size <= os.fstat(handle).st_size:
        data = os.pread(handle, size, offset)
        while len(data) < size and (more := os.pread(handle, size - len(data), offset + len(data))):
            data += more  # the system reads at most 2 GiB at once
        if len(data) == size:
            return data
    missing = offset + size - os.fstat(handle).st_size
    raise ValueError(f"the file ends {missing} bytes before the end of {part}")
