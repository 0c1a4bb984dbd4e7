"""CIFAR-10 and CIFAR-100, from their binary or Python files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from orbbec.bridge.arguments import Array
from orbbec.data.readers.pickles import read_pickle
from orbbec.data.sample import Sample, printable
from orbbec.transforms.base.checks import choice

_SIDE = 32
_PIXELS = 3 * _SIDE * _SIDE  # bytes of an image: planes of red, green and blue
_FILES = {
    ("CIFAR-10", "train"): [f"data_batch_{number}" for number in range(1, 6)],
    ("CIFAR-10", "test"): ["test_batch"],
    ("CIFAR-100", "train"): ["train"],
    ("CIFAR-100", "test"): ["test"],
}
# Targets in the order of the label bytes of a binary row: name, key in a Python file, number of classes.
_LABELS = {
    "CIFAR-10": [("label", "labels", 10)],
    "CIFAR-100": [("coarse_label", "coarse_labels", 20), ("label", "fine_labels", 100)],
}


class Cifar:
    """CIFAR-10 or CIFAR-100, whichever a folder contains; held in memory, 3 KB per image.

    The folder contains the unpacked files of the published archives: `data_batch_1.bin` or `data_batch_1`,
    `test_batch`, `train`, `test`. Python files are pickles; only integer arrays, lists, numbers and text are
    read, and nothing that a file names is called. The sample id of an image is its index.

    Args:
        root: the folder.
        split: "train" or "test".

    Raises:
        OSError: a file is missing or cannot be read.
        ValueError: `split` is unknown, the folder contains neither set, or a file is corrupt.

    Example:
        >>> from tempfile import mkdtemp
        >>> root = Path(mkdtemp())
        >>> _ = (root / "test_batch.bin").write_bytes(bytes([7]) + bytes(3072))
        >>> sample = Cifar(root, "test")[0]
        >>> sample.data.shape, sample.targets
        ((32, 32, 3), {'label': 7})
    """

    def __init__(self, root: str | os.PathLike[str], split: str = "train") -> None:
        choice("Cifar", "split", split, ("train", "test"))
        form = _form_of(Path(root), split)
        if form is None:
            firsts = " or ".join(_FILES[name, split][0] for name in _LABELS)
            raise ValueError(
                f"Cifar: expected {firsts}, with or without .bin, in {printable(root)}, but there is none"
            )
        self.name, suffix = form
        read = _read_binary if suffix else _read_pickle
        parts = [read(Path(root, name + suffix), self.name) for name in _FILES[self.name, split]]
        planes = np.concatenate([pixels for pixels, _ in parts])
        self.images = np.ascontiguousarray(planes.reshape(-1, 3, _SIDE, _SIDE).transpose(0, 2, 3, 1))
        names = [name for name, _, _ in _LABELS[self.name]]
        self.labels = {
            name: np.concatenate([labels[:, column] for _, labels in parts])
            for column, name in enumerate(names)
        }

    @staticmethod
    def is_in(root: str | os.PathLike[str], split: str = "train") -> bool:
        """Whether a folder contains CIFAR-10 or CIFAR-100."""
        form = _form_of(Path(root), split)
        return form is not None and (form[0] == "CIFAR-10" or _is_cifar_100(Path(root, split + form[1])))

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> Sample:
        index = range(len(self))[index]
        targets = {name: int(labels[index]) for name, labels in self.labels.items()}
        return Sample(self.images[index], targets, index)


def _form_of(root: Path, split: str) -> tuple[str, str] | None:
    """The data set whose files a folder contains, and their suffix."""
    for name in _LABELS:
        for suffix in (".bin", ""):
            if (root / (_FILES[name, split][0] + suffix)).is_file():
                return name, suffix
    return None


def _is_cifar_100(path: Path) -> bool:
    """Whether a file of CIFAR-100's name is of its kind; other files are called `train` and `test` too."""
    if path.suffix:
        return path.stat().st_size % (len(_LABELS["CIFAR-100"]) + _PIXELS) == 0
    with open(path, "rb") as file:
        return file.read(1) == b"\x80"  # as pickles begin, and no text does


def _read_binary(path: Path, name: str) -> tuple[Array, Array]:
    labels = len(_LABELS[name])
    data = np.fromfile(path, np.uint8)
    if data.size == 0 or data.size % (labels + _PIXELS):
        raise ValueError(
            f"Cifar: expected rows of {labels + _PIXELS} bytes in {printable(path)}, "
            f"but got {data.size} bytes"
        )
    rows = data.reshape(-1, labels + _PIXELS)
    return rows[:, labels:], _checked(rows[:, :labels], path, name)


def _read_pickle(path: Path, name: str) -> tuple[Array, Array]:
    try:
        table = read_pickle(path.read_bytes())
        pixels = table["data"]
        labels = np.stack([_whole_numbers(table[key]) for _, key, _ in _LABELS[name]], 1)
    except (KeyError, ValueError, OverflowError) as error:
        raise ValueError(f"Cifar: {printable(path)} is not a Python file of {name}: {error!r}") from error
    kind = f"{pixels.dtype} {list(pixels.shape)}" if isinstance(pixels, np.ndarray) else type(pixels).__name__
    if kind != f"uint8 {[len(labels), _PIXELS]}":
        raise ValueError(
            f"Cifar: expected uint8 data of shape [{len(labels)}, {_PIXELS}] in {printable(path)}, "
            f"but got {kind}"
        )
    return pixels, _checked(labels, path, name)


def _whole_numbers(values: Any) -> Array:
    """The labels of a file, as a list or an array."""
    if isinstance(values, list) and all(type(value) is int for value in values):
        values = np.array(values, np.int64)
    if not isinstance(values, np.ndarray) or values.ndim != 1:
        raise ValueError("its labels are not a list of whole numbers")
    return values


def _checked(labels: Array, path: Path, name: str) -> Array:
    for column, (_, _, classes) in enumerate(_LABELS[name]):
        wrong = (labels[:, column] < 0) | (labels[:, column] >= classes)
        if wrong.any():
            row = int(wrong.argmax())
            raise ValueError(
                f"Cifar: expected labels below {classes} in {printable(path)}, "
                f"but image {row} has {labels[row, column]}"
            )
    return labels
