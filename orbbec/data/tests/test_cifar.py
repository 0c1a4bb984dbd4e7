"""CIFAR-10 and CIFAR-100, binary and pickled."""

import os
import pickle
import struct
from typing import ClassVar

import numpy as np
import pytest

from orbbec.data import Cifar


class Python2Pickler(pickle._Pickler):  # type: ignore[name-defined]
    """Writes bytes as the strings of Python 2, in which the published files are."""

    def save_bytes(self, value: bytes) -> None:
        self.write(b"T" + struct.pack("<I", len(value)) + value)

    dispatch: ClassVar = {**pickle._Pickler.dispatch, bytes: save_bytes}  # type: ignore[attr-defined]


def planes(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (count, 3072), np.uint8)


def write_pickle(path, table) -> None:
    with open(path, "wb") as file:
        Python2Pickler(file, 2).dump(table)


def write_cifar10(root, form: str) -> tuple[np.ndarray, list[int]]:
    labels = [3, 9, 0]
    for number in range(1, 6):
        if form == "binary":
            rows = np.c_[np.array(labels, np.uint8), planes(3, number)]
            rows.tofile(root / f"data_batch_{number}.bin")
        else:
            table = {b"batch_label": b"a batch", b"labels": labels, b"data": planes(3, number)}
            write_pickle(root / f"data_batch_{number}", {**table, b"filenames": [b"a.png"] * 3})
    return np.concatenate([planes(3, number) for number in range(1, 6)]), labels * 5


@pytest.mark.parametrize("form", ["binary", "python"])
def test_cifar10_of_both_forms(tmp_path, form):
    pixels, labels = write_cifar10(tmp_path, form)
    cifar = Cifar(tmp_path)
    assert (cifar.name, len(cifar)) == ("CIFAR-10", 15)
    for index in range(15):
        sample = cifar[index]
        assert sample.targets == {"label": labels[index]}
        assert sample.sample_id == index
        for channel in range(3):
            plane = sample.data[:, :, channel].reshape(-1)
            assert (plane == pixels[index, 1024 * channel : 1024 * (channel + 1)]).all()


@pytest.mark.parametrize("form", ["binary", "python"])
def test_cifar100_of_both_forms(tmp_path, form):
    coarse, fine, pixels = [4, 19], [99, 0], planes(2, 7)
    if form == "binary":
        np.c_[np.array(coarse, np.uint8), np.array(fine, np.uint8), pixels].tofile(tmp_path / "test.bin")
    else:
        table = {b"coarse_labels": coarse, b"fine_labels": fine, b"data": pixels}
        write_pickle(tmp_path / "test", table)
    cifar = Cifar(tmp_path, "test")
    assert cifar.name == "CIFAR-100"
    assert [cifar[n].targets for n in (0, 1)] == [
        {"coarse_label": 4, "label": 99},
        {"coarse_label": 19, "label": 0},
    ]
    assert (cifar[1].data.transpose(2, 0, 1).reshape(-1) == pixels[1]).all()


def test_a_pickle_that_runs_code_is_refused(tmp_path):
    class Attack:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "made"),)

    with open(tmp_path / "test_batch", "wb") as file:
        pickle.dump({b"data": Attack(), b"labels": [1]}, file)
    with pytest.raises(ValueError, match=r"no Python file of CIFAR-10.*names posix\.mkdir"):
        Cifar(tmp_path, "test")
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    "table",
    [
        {b"data": planes(2, 0)},
        {b"data": planes(2, 0), b"labels": [1, 2, 3]},
        {b"data": planes(2, 0)[:, :5], b"labels": [1, 2]},
        {b"data": planes(2, 0).astype(np.int64), b"labels": [1, 2]},
        {b"data": planes(2, 0), b"labels": [1, 10]},
        {b"data": planes(2, 0), b"labels": [1, [2, 3]]},
        [1, 2],
    ],
)
def test_a_malformed_python_file_is_named(tmp_path, table):
    write_pickle(tmp_path / "test_batch", table)
    with pytest.raises(ValueError, match=r"Cifar: .*test_batch"):
        Cifar(tmp_path, "test")


def test_truncated_files_are_named(tmp_path):
    write_cifar10(tmp_path, "python")
    whole = (tmp_path / "data_batch_3").read_bytes()
    for length in range(0, len(whole), 500):
        (tmp_path / "data_batch_3").write_bytes(whole[:length])
        with pytest.raises(ValueError, match="data_batch_3 is no Python file of CIFAR-10"):
            Cifar(tmp_path)
    write_cifar10(tmp_path, "binary")
    for length in (0, 3072, 3074):
        (tmp_path / "data_batch_2.bin").write_bytes(bytes(length))
        with pytest.raises(ValueError, match=rf"rows of 3073 bytes in .*data_batch_2.bin, but got {length}"):
            Cifar(tmp_path)
    (tmp_path / "data_batch_2.bin").unlink()
    with pytest.raises(FileNotFoundError):
        Cifar(tmp_path)


def test_a_label_beyond_the_classes_is_named(tmp_path):
    (tmp_path / "test_batch.bin").write_bytes(bytes(3073) + bytes([10]) + bytes(3072))
    with pytest.raises(ValueError, match=r"expected labels below 10 in .*, but image 1 has 10"):
        Cifar(tmp_path, "test")


def test_bad_arguments_are_named(tmp_path):
    with pytest.raises(ValueError, match="split as one of train, test, but got 'val'"):
        Cifar(tmp_path, "val")
    with pytest.raises(ValueError, match="expected data_batch_1 or train, with or without"):
        Cifar(tmp_path)
