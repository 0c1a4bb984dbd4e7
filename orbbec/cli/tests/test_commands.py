"""The command line, and the choice of the reader for a path."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer")
from orbbec.data import Arrays, Cifar, Coco, FileList, ImageFolder, NpyFile, Sample, Shards, open_source, pack
from tests.support.command import run_command as run

IMAGES = np.random.default_rng(0).integers(0, 256, (5, 4, 6, 3), np.uint8)


@pytest.fixture
def folder(tmp_path):
    for name in ("cat/1.jpg", "cat/2.jpg", "dog/1.jpg"):
        (tmp_path / "images" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "images" / name).write_bytes(b"\xff\xd8\xff" + name.encode())
    return tmp_path / "images"


def test_a_folder_is_packed_and_read(folder, tmp_path):
    result = run("pack", folder, tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert f"3 samples in 1 archive in {tmp_path}/out\n" in result.stdout
    shards = Shards(tmp_path / "out")
    assert shards.classes == ["cat", "dog"]
    assert [shards[n].data[3:] for n in range(3)] == [b"cat/1.jpg", b"cat/2.jpg", b"dog/1.jpg"]
    assert [shards[n].targets for n in range(3)] == [{"label": 0}, {"label": 0}, {"label": 1}]
    again = run("pack", folder, tmp_path / "out")
    assert "3 samples in 1 archive" in again.stdout
    assert "3 of them before" in again.stdout


def test_options_reach_the_packing(tmp_path):
    np.savez(tmp_path / "a.npz", images=np.zeros((12, 400, 512, 3), np.uint8))
    result = run("pack", tmp_path / "a.npz", tmp_path / "out", "--shard-mib", 3, "--shuffle", "--seed", 5)
    assert result.exit_code == 0, result.output
    assert "12 samples in 2 archives" in result.stdout  # of 0.6 MB each
    ids = Shards(tmp_path / "out").sample_ids
    assert ids != sorted(ids)


def test_what_cannot_be_read_is_said_or_listed(folder, tmp_path):
    (folder / "cat/2.jpg").write_bytes(b"")
    result = run("pack", folder, tmp_path / "out")
    assert result.exit_code == 1
    text = f"sample 1 ({folder}/cat/2.jpg): the file is empty\n"
    assert text in result.stderr
    assert "Traceback" not in result.output
    result = run("pack", folder, tmp_path / "out", "--on-error", "skip")
    assert result.exit_code == 0
    assert f"skipped {text}" in result.stdout


def test_mistakes_are_said_in_a_line(folder, tmp_path):
    for arguments, message in (
        (["pack", tmp_path / "none", tmp_path / "out"], f"{tmp_path}/none does not exist"),
        (["pack", folder / "cat/1.jpg", tmp_path / "out"], "open_source: expected one of .csv"),
        (
            ["pack", folder, tmp_path / "out", "--on-error", "ignore"],
            "pack: expected on_error as one of raise, skip",
        ),
        (["pack", folder, folder], "pack: expected a folder outside of"),
        (["pack", folder, folder / "cat/../out"], "pack: expected a folder outside of"),
        (["index", folder], "expected .tar files"),
    ):
        result = run(*arguments)
        assert result.exit_code == 1
        assert result.stderr.startswith("error: ")
        assert message in result.stderr
        assert result.stderr.count("\n") == 1


def test_archives_by_other_hands_are_indexed_and_packed_again(tmp_path):
    webdataset = pytest.importorskip("webdataset")
    with webdataset.TarWriter(str(tmp_path / "a.tar")) as writer:
        for key in "xyz":
            writer.write({"__key__": key, "jpg": key.encode(), "cls": 3})
    result = run("pack", tmp_path, tmp_path / "streamed")
    assert result.exit_code == 0, result.output
    assert [Shards(tmp_path / "streamed")[n].data for n in range(3)] == [b"x", b"y", b"z"]
    shutil.rmtree(tmp_path / "streamed")
    result = run("index", tmp_path)
    assert f"indexed 3 samples in {tmp_path}" in result.stdout
    assert isinstance(open_source(tmp_path), Shards)


def test_paths_find_their_readers(folder, tmp_path):
    assert isinstance(open_source(folder), ImageFolder)
    (tmp_path / "list.csv").write_text("path\n1.jpg\n")
    files = open_source(tmp_path / "list.csv", images=folder / "cat")
    assert isinstance(files, FileList)
    assert files[0].data.endswith(b"cat/1.jpg")
    table = {
        "images": [{"id": 3, "file_name": "1.jpg", "height": 4, "width": 4}],
        "annotations": [],
        "categories": [],
    }
    (folder / "dog/coco.json").write_text(json.dumps(table))
    coco = open_source(folder / "dog/coco.json")
    assert isinstance(coco, Coco)
    assert coco[0].data.endswith(b"dog/1.jpg")
    assert open_source(folder / "dog/coco.json", images=folder / "cat")[0].data.endswith(b"cat/1.jpg")
    np.save(tmp_path / "a.npy", IMAGES)
    assert isinstance(open_source(tmp_path / "a.npy"), NpyFile)
    np.savez(tmp_path / "a.npz", images=IMAGES)
    assert isinstance(open_source(tmp_path / "a.npz"), Arrays)
    pack([Sample(b"x")], tmp_path / "packed")
    assert isinstance(open_source(tmp_path / "packed"), Shards)
    (tmp_path / "cifar").mkdir()
    (tmp_path / "cifar/test.bin").write_bytes(bytes(3074))
    assert isinstance(open_source(tmp_path / "cifar", split="test"), Cifar)


def test_paths_of_optional_readers(tmp_path):
    lmdb, h5py = pytest.importorskip("lmdb"), pytest.importorskip("h5py")
    pytest.importorskip("webdataset")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["images"] = IMAGES
    with lmdb.open(str(tmp_path / "lmdb")) as database, database.begin(write=True) as transaction:
        transaction.put(b"1", b"one")
    (tmp_path / "records").mkdir()
    recorded = Path(__file__).parents[2] / "data/readers/tests/records.tfrecord"
    shutil.copy(recorded, tmp_path / "records/a.tfrecord-00000-of-00001")
    pack([Sample(b"x")], tmp_path / "packed")
    for path, kind, count in (
        ("a.h5", "Hdf5", 5), ("lmdb", "Lmdb", 1), ("lmdb/data.mdb", "Lmdb", 1), ("records", "TfRecords", 3),
        ("packed/shard-000000.tar", "ShardStream", 1),
    ):  # fmt: skip
        source = open_source(tmp_path / path)
        assert type(source).__name__ == kind
        assert (
            len(list(source) if kind == "ShardStream" else [source[n] for n in range(len(source))]) == count
        )
