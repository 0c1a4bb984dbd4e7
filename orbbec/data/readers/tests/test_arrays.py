"""Images in arrays, in NumPy files and in HDF5."""

import os
import pickle

import numpy as np
import pytest

h5py = pytest.importorskip("h5py")

from orbbec.data import Arrays, BadSample, Hdf5, NpyFile

IMAGES = np.random.default_rng(0).integers(0, 256, (5, 4, 6, 3), np.uint8)
LABELS = np.array([4, 3, 2, 1, 0])


def test_rows_of_arrays(tmp_path):
    boxes = [np.zeros((n, 4)) for n in range(5)]
    arrays = Arrays(IMAGES, {"boxes": boxes, "label": LABELS})
    sample = arrays[3]
    assert np.array_equal(sample.data, IMAGES[3])
    assert sample.targets["boxes"].shape == (3, 4)
    assert sample.targets["label"] == 1
    assert type(sample.targets["label"]) is int
    with pytest.raises(ValueError, match="Arrays: expected 5 rows of 'label', but got 4"):
        Arrays(IMAGES, {"label": LABELS[1:]})


def test_npz_files(tmp_path):
    np.savez(tmp_path / "a.npz", x=IMAGES, labels=LABELS, angle=LABELS / 2)
    arrays = Arrays.load(tmp_path / "a.npz", images="x")
    assert arrays[1].targets == {"label": 3, "angle": 1.5}
    with pytest.raises(ValueError, match=r"expected an .npz file with an array 'images'"):
        Arrays.load(tmp_path / "a.npz")
    with pytest.raises(FileNotFoundError):
        Arrays.load(tmp_path / "none.npz")


@pytest.mark.parametrize("version", [(1, 0), (2, 0)])
@pytest.mark.parametrize("images", [IMAGES, IMAGES[..., 0].copy(), IMAGES.astype(np.float32)])
def test_npy_files(tmp_path, images, version):
    with open(tmp_path / "a.npy", "wb") as file:
        np.lib.format.write_array(file, images, version)
    rows = NpyFile(tmp_path / "a.npy", {"label": LABELS})
    assert len(rows) == 5
    for index in range(5):
        assert np.array_equal(rows[index].data, images[index])
        assert rows[index].data.dtype == images.dtype
        assert rows[index].targets == {"label": 4 - index}
    for index in (-1, 5):
        with pytest.raises(IndexError, match="an index below 5"):
            rows[index]


def test_npy_files_that_shrink_or_go(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, IMAGES)
    rows = NpyFile(path)
    os.truncate(path, path.stat().st_size - 1)
    assert rows[3].sample_id == 3
    with pytest.raises(BadSample, match=r"sample 4 .* ends .* bytes before the end of the image"):
        rows[4]
    path.unlink()
    with pytest.raises(BadSample, match="No such file"):
        rows[0]


def test_other_npy_files_are_refused(tmp_path):
    for array in (np.zeros((5, 4)), np.asfortranarray(IMAGES)):
        np.save(tmp_path / "a.npy", array)
        with pytest.raises(ValueError, match="NpyFile: expected images"):
            NpyFile(tmp_path / "a.npy")
    (tmp_path / "a.npy").write_bytes(b"no array")
    with pytest.raises(ValueError, match=r"NpyFile: .*a\.npy is not an \.npy file: .*magic string"):
        NpyFile(tmp_path / "a.npy")
    np.save(tmp_path / "a.npy", IMAGES)
    with pytest.raises(ValueError, match="NpyFile: expected 5 rows of 'label', but got 4"):
        NpyFile(tmp_path / "a.npy", {"label": [1, 2, 3, 4]})


def npy(shape: str, descr: str = "'|u1'") -> bytes:
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(100)


@pytest.mark.parametrize(
    "data",
    [
        npy("(2, 4611686018427387904, 1)"),
        npy("(18446744073709551616, 2, 2)"),
        npy("(-2, 4, 6)"),
        npy("(2, -4, -6)"),
        npy("(2, 4, 6)", "'|O'"),
        npy("(2, 4, 6)", "'|V0'"),
        npy("(2, 4, 6)", "[('a', '|O')]"),
        npy("(" * 5000),
        npy("(2, 4, 6)", "__import__('os')"),
        npy("(2, 4, 6")[:40],
        npy("(2, True, 6.5)"),
    ],
)
def test_headers_of_npy_files_that_lie_are_named(tmp_path, data):
    (tmp_path / "a.npy").write_bytes(data)
    with pytest.raises(ValueError, match=r"NpyFile: .*a\.npy"):
        NpyFile(tmp_path / "a.npy")


def test_images_that_the_file_does_not_hold_are_bad_samples(tmp_path):
    (tmp_path / "a.npy").write_bytes(npy("(3, 536870912, 536870912)"))
    rows = NpyFile(tmp_path / "a.npy")
    with pytest.raises(BadSample, match=r"the file ends \d+ bytes before the end of the image"):
        rows[2]


def test_npz_files_that_are_damaged_are_named(tmp_path):
    np.savez(tmp_path / "a.npz", images=IMAGES, labels=LABELS)
    whole = (tmp_path / "a.npz").read_bytes()
    for length in range(0, len(whole), 7):
        (tmp_path / "a.npz").write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"Arrays: .*a\.npz"):
            Arrays.load(tmp_path / "a.npz")


def test_hdf5_rows_in_other_files_and_beyond_memory_are_refused(tmp_path):
    (tmp_path / "secret").write_bytes(bytes(48))
    with h5py.File(tmp_path / "source.h5", "w") as file:
        file["images"] = IMAGES
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("external", (2, 4, 6), np.uint8, external=[(str(tmp_path / "secret"), 0, 48)])
        layout = h5py.VirtualLayout((5, 4, 6, 3), np.uint8)
        layout[:] = h5py.VirtualSource(tmp_path / "source.h5", "images", (5, 4, 6, 3))
        file.create_virtual_dataset("virtual", layout)
        file.create_dataset("huge", (2, 1 << 20, 1 << 20), np.uint8, chunks=(1, 64, 64))
        file.create_dataset("large", (2, 1 << 15, 1 << 15), np.uint8, chunks=(1, 64, 64))
        file.create_dataset("long", (2, 1 << 15, 1 << 15), np.int16, chunks=(1, 64, 64))
        file["numbers"] = np.array([2**40, 5])
        file.create_dataset("others", (1,), h5py.vlen_dtype(np.int16))[0] = np.arange(9, dtype=np.int16)
    for name in ("external", "virtual"):
        with pytest.raises(ValueError, match=rf"Hdf5: expected rows in the file itself, but '{name}' in"):
            Hdf5(tmp_path / "a.h5", name, {})
    assert len(Hdf5(tmp_path / "a.h5", "large", {})) == 2  # of 1073741824 bytes each
    for name, size in (("huge", 1 << 40), ("long", 1 << 31)):
        with pytest.raises(
            ValueError, match=rf"expected rows of at most 1073741824 bytes, but '{name}' .*has {size}"
        ):
            Hdf5(tmp_path / "a.h5", name, {})
    with pytest.raises(BadSample, match="expected an image or its encoded bytes, but got int64"):
        Hdf5(tmp_path / "a.h5", "numbers", {})[0]
    with pytest.raises(BadSample, match="expected an image or its encoded bytes, but got ndarray"):
        Hdf5(tmp_path / "a.h5", "others", {})[0]


def write_hdf5(path):
    with h5py.File(path, "w") as file:
        file["train/pixels"] = IMAGES
        file["labels"] = LABELS
        file["names"] = ["a", "b", "c", "d", "e"]
        file["other"] = np.zeros(3)
        encoded = file.create_dataset("encoded", (5,), h5py.vlen_dtype(np.uint8))
        for index in range(5):
            encoded[index] = np.full(index + 1, index, np.uint8)


def test_hdf5_files(tmp_path):
    write_hdf5(tmp_path / "a.h5")
    file = Hdf5(tmp_path / "a.h5", "train/pixels")
    assert file.targets.keys() == {"label", "names", "encoded"}
    file = Hdf5(tmp_path / "a.h5", "train/pixels", {"class": "labels", "name": "names"})
    for index in range(5):
        assert np.array_equal(file[index].data, IMAGES[index])
        assert file[index].targets == {"class": 4 - index, "name": "abcde"[index]}
        assert file[index].sample_id == index
    encoded = Hdf5(tmp_path / "a.h5", "encoded", {})
    assert [encoded[index].data for index in range(5)] == [bytes([n]) * (n + 1) for n in range(5)]
    file.close()
    assert pickle.loads(pickle.dumps(file))[2].targets["name"] == "c"


def test_hdf5_files_are_read_in_forked_processes(tmp_path):
    write_hdf5(tmp_path / "a.h5")
    file = Hdf5(tmp_path / "a.h5", "train/pixels")
    child = os.fork()
    if child == 0:
        good = False
        try:
            good = np.array_equal(file[1].data, IMAGES[1])
        finally:
            os._exit(0 if good else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert np.array_equal(file[2].data, IMAGES[2])


def test_malformed_hdf5_files_are_named(tmp_path):
    write_hdf5(tmp_path / "a.h5")
    with pytest.raises(ValueError, match=r"expected a data set 'images' in .*, but got encoded, labels"):
        Hdf5(tmp_path / "a.h5")
    for name in ("other", "none"):
        with pytest.raises(ValueError, match=f"expected a data set '{name}' of 5 rows"):
            Hdf5(tmp_path / "a.h5", "encoded", {"x": name})
    (tmp_path / "b.h5").write_bytes(b"x" * 4000)
    with pytest.raises(OSError, match=r"^Hdf5: .*b\.h5 is not an HDF5 file.*file signature"):
        Hdf5(tmp_path / "b.h5")


def test_an_hdf5_file_that_shrinks_is_a_bad_sample(tmp_path):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["images"] = np.zeros((20, 64, 64, 3), np.uint8)
    file = Hdf5(path)
    os.truncate(path, 30000)
    with pytest.raises(BadSample, match=r"sample 19 \(.*a\.h5/images\): the file is truncated"):
        file[19]


def test_a_file_of_no_images_has_no_samples(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((0, 2, 3, 3), np.uint8))
    assert len(NpyFile(tmp_path / "a.npy")) == 0
