"""CIFAR-10 and CIFAR-100, binary and pickled."""

import os
import pickle
import re
import struct
import subprocess
import sys
import time
from typing import ClassVar

import numpy as np
import pytest

from orbbec.data import Cifar, open_source


class Python2Pickler(pickle._Pickler):  # type: ignore[name-defined]
    """Writes bytes as Python 2 strings, like the published files."""

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
    with pytest.raises(ValueError, match=r"not a Python file of CIFAR-10.*names posix\.mkdir"):
        Cifar(tmp_path, "test")
    assert not (tmp_path / "made").exists()


# An array of objects made of raw bytes: the state of its dtype denies that it holds objects.
POINTERS = (
    b"\x80\x02}(U\x04datacnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"
    b"(K\x01K\x02\x85cnumpy\ndtype\n%sK\x00K\x01\x87R(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xff%stb"
    b"\x89U\x10%stbq\x00U\x06labelsh\x00u."
)


READ = """
import sys
from pathlib import Path
from orbbec.data import Cifar, open_source
for folder in Path(sys.argv[1]).iterdir():
    try:
        Cifar(folder, "test")
        print("read")
    except ValueError as error:
        print(error)
"""


def test_raw_bytes_never_become_pointers(tmp_path):
    for code in (b"U\x02O8", b"U\x02u1", b"U\x02u8", b"U\x02V8"):
        for number, flags in enumerate((b"K\x00", b"K\x3f")):
            folder = tmp_path / f"{code[2:].decode()}-{number}"
            folder.mkdir()
            raw = struct.pack("<QQ", 0x4141414141, 0x10)
            (folder / "test_batch").write_bytes(POINTERS % (code, flags, raw))
    command = [sys.executable, "-c", READ, str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended
    lines = ended.stdout.splitlines()
    assert len(lines) == 8
    assert all(re.match(r"Cifar: .*test_batch", line) for line in lines), lines


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("as_text", [True, False])
def test_pickles_of_python_3_are_read(tmp_path, protocol, as_text):
    pixels = planes(3, 5)
    table = {b"data": pixels, b"labels": [1, 2, 3], b"batch_label": b"one", b"filenames": [b"a.png"] * 3}
    if as_text:
        table = {key.decode(): value for key, value in table.items()}
        table["labels"] = np.array([1, 2, 3])
    (tmp_path / "test_batch").write_bytes(pickle.dumps(table, protocol))
    cifar = Cifar(tmp_path, "test")
    assert cifar.images.transpose(0, 3, 1, 2).reshape(3, -1).tolist() == pixels.tolist()
    assert [sample.targets["label"] for sample in cifar] == [1, 2, 3]


def test_pixels_in_fortran_order_are_read(tmp_path):
    pixels = planes(3, 5)
    for protocol in (2, 5):
        table = {"data": np.asfortranarray(pixels), "labels": [1, 2, 3]}
        (tmp_path / "test_batch").write_bytes(pickle.dumps(table, protocol))
        images = Cifar(tmp_path, "test").images
        assert images.transpose(0, 3, 1, 2).reshape(3, -1).tolist() == pixels.tolist()


def shared(depth: int) -> bytes:
    """Opcodes of nested tuples of two equal tuples: 2^depth leaves in `depth` objects."""
    return b")" + b"".join(b"q%ch%c\x86" % (index, index) for index in range(depth))


@pytest.mark.parametrize(
    ("opcodes", "reason"),
    [
        (b"}" + shared(60) + b"K\x01s.", "has a tuple where text belongs"),
        (b"}U\x06labels" + shared(60) + b"s.", "KeyError"),
        (b"}(U\x04datacnumpy\ndtype\n" + shared(60) + b"Ru.", "it calls a function with 2 arguments|text"),
        (b"cnumpy\ndtype\nN}U\x08__code__K\x01s\x86b.", "sets the state of a function"),
        (b"cnumpy\nndarray\n)R.", "it calls a object"),
        (b"\x80\x02]K\x01r\xff\xff\xff\x7f.", "holds a int"),
        (b"\x80\x05\x8e\xff\xff\xff\xff\xff\xff\xff\x7f.", "bytes8|expected"),
        (b"cos\nsystem\n(S'true'\ntR.", "names os.system"),
        (b"(S'true'\nios\nsystem\n.", "opcode INST"),
        (b"\x80\x02cnumpy\nndarray\n)\x81.", "opcode NEWOBJ"),
        (b"\x80\x04\x8c\x02os\x8c\x06system\x93.", "names os.system"),
        (b"t.", "malformed"),
        (b"", "pickle exhausted"),
    ],
)
def test_pickles_of_other_things_are_refused_at_once(tmp_path, opcodes, reason):
    (tmp_path / "test_batch").write_bytes(opcodes)
    began = time.process_time()
    with pytest.raises(ValueError, match=rf"test_batch is not a Python file of CIFAR-10: .*({reason})"):
        Cifar(tmp_path, "test")
    assert time.process_time() - began < 1


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


@pytest.mark.parametrize(
    ("labels", "wrong"),
    [([1, 10], "image 1 has 10"), ([-1, 10], "image 0 has -1"), ([0, -1], "image 1 has -1"), ([0, 9], "")],
)
def test_the_first_image_with_a_wrong_label_is_named(tmp_path, labels, wrong):
    write_pickle(tmp_path / "test_batch", {b"data": planes(2, 0), b"labels": labels})
    if not wrong:
        assert [sample.targets["label"] for sample in Cifar(tmp_path, "test")] == labels
        return
    with pytest.raises(ValueError, match=f"Cifar: expected labels below 10 in .*test_batch, but {wrong}$"):
        Cifar(tmp_path, "test")


@pytest.mark.parametrize(
    "labels", [7, "ab", {}, None, [1, "2"], [1, True], [1.0, 2.0], np.array([[1], [2]]), np.array(1)]
)
def test_labels_that_are_no_list_of_whole_numbers_are_named(tmp_path, labels):
    (tmp_path / "test_batch").write_bytes(pickle.dumps({"data": planes(2, 0), "labels": labels}))
    with pytest.raises(ValueError, match=r"test_batch .*its labels are not a list of whole numbers"):
        Cifar(tmp_path, "test")


def test_truncated_files_are_named(tmp_path):
    write_cifar10(tmp_path, "python")
    whole = (tmp_path / "data_batch_3").read_bytes()
    for length in range(0, len(whole), 500):
        (tmp_path / "data_batch_3").write_bytes(whole[:length])
        with pytest.raises(ValueError, match="data_batch_3 is not a Python file of CIFAR-10"):
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


def test_a_file_called_train_is_not_taken_for_cifar(tmp_path):
    (tmp_path / "cat").mkdir()
    (tmp_path / "cat/1.png").write_bytes(b"...")
    for name in ("train", "train.bin"):
        (tmp_path / name).write_text("cat/1.png\n")
        assert open_source(tmp_path).classes == ["cat"]
    np.zeros((2, 3074), np.uint8).tofile(tmp_path / "train.bin")
    with pytest.raises(ValueError, match=r"one kind of data in .*, but got that of Cifar and ImageFolder"):
        open_source(tmp_path)
    (tmp_path / "cat/1.png").unlink()
    assert isinstance(open_source(tmp_path), Cifar)
