"""Readers of image arrays: NumPy in memory or in files, and HDF5."""

from __future__ import annotations

import math
import os
import tokenize
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from orbbec.bridge.arguments import Array
from orbbec.data.readers.handles import check_size, open_file
from orbbec.data.sample import Sample, faults_named, printable, read_range
from orbbec.transforms.base.optional import optional

# The header of an .npy file is a Python literal; anything else raises one of these.
_NO_HEADER = (ValueError, TypeError, SyntaxError, RecursionError, MemoryError, tokenize.TokenError)
_MOST_BYTES = 1 << 30  # per row
_MOST_PIXELS = 1 << 60  # so that file offsets fit in 63 bits


class Arrays:
    """Images and targets as rows of arrays. The sample id of a row is its index.

    Args:
        images: `[N, H, W, C]` or `[N, H, W]`.
        targets: arrays or lists of N rows, by target name.

    Raises:
        ValueError: the numbers of rows differ; the message names the target.

    Example:
        >>> arrays = Arrays(np.zeros((2, 4, 6, 3), np.uint8), {"label": [5, 7]})
        >>> arrays[1].targets, arrays[1].data.shape
        ({'label': 7}, (4, 6, 3))
    """

    def __init__(self, images: Array, targets: Mapping[str, Any] | None = None) -> None:
        self.images, self.targets = images, _checked("Arrays", targets, len(images))

    @classmethod
    def load(cls, path: str | os.PathLike[str], images: str = "images") -> Arrays:
        """Read an `.npz` file into memory: `images`, and every other array as a target.

        An integer array `labels` becomes the target `label`.

        Raises:
            OSError: the file cannot be read.
            ValueError: the file is not an `.npz` file or has no such array.
        """
        with open(path, "rb") as opened:
            try:
                file = np.load(opened, allow_pickle=False)
                if images not in getattr(file, "files", ()):
                    raise ValueError(f"expected an .npz file with an array '{images}'")
                tables = {name: file[name] for name in file.files}
            except Exception as error:  # NumPy and zipfile raise many kinds of errors on malformed files
                raise ValueError(f"Arrays: {printable(path)} cannot be read: {error}") from error
        return cls(
            tables[images], {_target_name(n, table): table for n, table in tables.items() if n != images}
        )

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> Sample:
        index = range(len(self))[index]
        return Sample(self.images[index], _row(self.targets, index), index)


class NpyFile:
    """Images in an `.npy` file, read row by row. The sample id of a row is its index.

    The file is not memory-mapped: if it shrinks, a sample is bad and the process continues.

    Args:
        path: file of an array `[N, H, W, C]` or `[N, H, W]`.
        targets: arrays or lists of N rows, by target name.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file is not such a file or in Fortran order, or the numbers of rows differ.

    Example:
        >>> from tempfile import mkdtemp
        >>> path = Path(mkdtemp(), "images.npy")
        >>> np.save(path, np.ones((2, 4, 6, 3), np.uint8))
        >>> NpyFile(path)[1].data.shape
        (4, 6, 3)
    """

    def __init__(self, path: str | os.PathLike[str], targets: Mapping[str, Any] | None = None) -> None:
        self.path = Path(path)
        with open(path, "rb") as file:
            try:
                self.shape, fortran, self.dtype = _header_of(file)
            except _NO_HEADER as error:
                raise ValueError(f"NpyFile: {printable(path)} is not an .npy file: {error}") from error
            self._begin = file.tell()
        is_plain = self.dtype.kind in "biufc" and min(self.shape, default=0) >= 0
        if len(self.shape) < 3 or fortran or not is_plain or math.prod(self.shape) > _MOST_PIXELS:
            raise ValueError(
                f"NpyFile: expected images [N, H, W, C] of numbers in C order in {printable(path)}, but got "
                f"{self.dtype} {list(self.shape)}"
            )
        self.targets = _checked("NpyFile", targets, len(self))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: int) -> Sample:
        if not 0 <= index < len(self):
            raise IndexError(f"NpyFile: expected an index below {len(self)}, but got {index}")
        size = math.prod(self.shape[1:]) * self.dtype.itemsize
        with faults_named(index, self.path, ValueError):
            data = read_range(self.path, self._begin + index * size, size, "the image")
        image = np.frombuffer(bytearray(data), self.dtype).reshape(self.shape[1:])
        return Sample(image, _row(self.targets, index), index)


class Hdf5:
    """Images in an HDF5 file; needs the package `h5py`. The sample id of a row is its index.

    Each process opens the file once.

    Args:
        path: the file.
        images: name of the data set of images: `[N, H, W, C]`, `[N, H, W]`, or N encoded images as bytes.
        targets: names of data sets by target name. None: every other data set of N rows under its own name,
            and an integer data set `labels` as `label`.

    Raises:
        ImportError: the package is missing.
        OSError: the file cannot be read.
        ValueError: a data set is missing or has another number of rows.

    Example:
        >>> import h5py
        >>> from tempfile import mkdtemp
        >>> path = Path(mkdtemp(), "train.h5")
        >>> with h5py.File(path, "w") as file:
        ...     file["images"], file["labels"] = np.zeros((2, 4, 6, 3), np.uint8), [5, 7]
        >>> Hdf5(path)[1].targets
        {'label': 7}
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        images: str = "images",
        targets: Mapping[str, str] | None = None,
    ) -> None:
        self.path, self.images = Path(path), images
        self._file = open_file(_open_hdf5, self.path)
        try:
            sets = _data_sets(self._file())
        except (RuntimeError, KeyError) as error:
            raise ValueError(f"Hdf5: {printable(path)} is damaged: {error}") from error
        self._bytes = self.path.stat().st_size  # HDF5 refuses to open incomplete files
        if images not in sets:
            raise ValueError(
                f"Hdf5: expected a data set '{images}' in {printable(path)}, but got {', '.join(sets)}"
            )
        self._length = len(sets[images])
        if targets is None:
            rows = {
                name: table for name, table in sets.items() if name != images and len(table) == self._length
            }
            targets = {_target_name(name, table): name for name, table in rows.items()}
        self.targets = dict(targets)
        for name in self.targets.values():
            if name not in sets or len(sets[name]) != self._length:
                raise ValueError(
                    f"Hdf5: expected a data set '{name}' of {self._length} rows in {printable(path)}"
                )
        for name in (images, *self.targets.values()):
            _check_data_set(f"'{name}' in {printable(path)}", sets[name])

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> Sample:
        index = range(len(self))[index]
        with faults_named(index, f"{self.path}/{self.images}", ValueError, KeyError, RuntimeError):
            check_size(self.path, self._bytes)
            file = self._file()
            image = file[self.images][index]
            targets = {name: _plain(file[source][index]) for name, source in self.targets.items()}
            return Sample(image if np.ndim(image) > 1 else _encoded(image), targets, index)

    def close(self) -> None:
        """Close the file in this process."""
        self._file.close()


def _header_of(file: BinaryIO) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether in Fortran order, dtype."""
    if np.lib.format.read_magic(file) == (1, 0):
        return np.lib.format.read_array_header_1_0(file)
    return np.lib.format.read_array_header_2_0(file)


def _checked(op: str, targets: Mapping[str, Any] | None, length: int) -> dict[str, Any]:
    targets = {} if targets is None else targets
    if not isinstance(targets, Mapping):
        raise TypeError(f"{op}: expected targets as a dict, but got {targets!r:.80}")
    for name, values in targets.items():
        if len(values) != length:
            raise ValueError(f"{op}: expected {length} rows of '{name}', but got {len(values)}")
    return dict(targets)


def _row(targets: Mapping[str, Any], index: int) -> dict[str, Any]:
    return {name: _plain(values[index]) for name, values in targets.items()}


def _open_hdf5(path: Path) -> Any:
    h5py = optional("Hdf5", "h5py", extra="data")
    try:
        return h5py.File(path, "r")
    except OSError as error:
        if str(path) in str(error):
            raise
        raise OSError(f"Hdf5: {printable(path)} is not an HDF5 file, or damaged: {error}") from error


def _encoded(value: Any) -> bytes:
    """The bytes of an encoded image. Refuses numbers, for which bytes() would give zeros."""
    if isinstance(value, bytes) or (isinstance(value, np.ndarray) and value.dtype == np.uint8):
        return bytes(value)
    raise ValueError(f"expected an image or its encoded bytes, but got {type(value).__name__}")


def _check_data_set(name: str, table: Any) -> None:
    """Refuse rows in other files and rows too large for memory; rows never written read as zeros."""
    if table.external or table.is_virtual:
        raise ValueError(f"Hdf5: expected rows in the file itself, but {name} stores them in other files")
    for shape in (table.shape[1:], table.chunks or ()):
        size = math.prod(shape) * table.dtype.itemsize
        if size > _MOST_BYTES:
            raise ValueError(f"Hdf5: expected rows of at most {_MOST_BYTES} bytes, but {name} has {size}")


def _data_sets(file: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}

    def visit(name: str, entry: Any) -> None:
        if getattr(entry, "shape", ()):
            found[name] = entry

    file.visititems(visit)
    return found


def _target_name(name: str, table: Any) -> str:
    return "label" if name == "labels" and len(table.shape) == 1 and table.dtype.kind in "iu" else name


def _plain(value: Any) -> Any:
    """A row as a target: Python numbers and text, and arrays unchanged."""
    if isinstance(value, np.generic):
        value = value.item()
    return value.decode() if isinstance(value, bytes) else value
