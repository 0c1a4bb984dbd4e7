"""Every reader can be pickled, counted and packed, and its samples work with transforms."""

import gc
import json
import os
import pickle
import re
import shutil
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from orbbec.batch import collate
from orbbec.data import (
    Arrays,
    BadSample,
    Cifar,
    Coco,
    FileList,
    Hdf5,
    HuggingFace,
    ImageFolder,
    Lmdb,
    MaskFolder,
    NpyFile,
    Order,
    Parquet,
    RecordIo,
    Sample,
    Shards,
    ShardStream,
    Source,
    Voc,
    Yolo,
    as_source,
    open_source,
    pack,
)
from orbbec.transforms import Compose, RandomHorizontalFlip, Resize

IMAGES = np.random.default_rng(0).integers(0, 256, (4, 6, 8, 3), np.uint8)
TARGETS = {
    "label": [3, 2, 1, 0],
    "boxes": [np.full((n, 4), n, np.float32) for n in range(4)],
    "name": list("abcd"),
}


def folder(root: Path) -> ImageFolder:
    for n in range(4):
        (root / f"class{n % 2}").mkdir(exist_ok=True)
        (root / f"class{n % 2}/{n}.jpg").write_bytes(b"\xff\xd8\xff%d" % n)
    return ImageFolder(root)


def file_list(root: Path) -> FileList:
    folder(root)
    (root / "list.csv").write_text("path,label,weight\nclass0/0.jpg,7,0.5\nclass1/3.jpg,8,2\n")
    return FileList(root / "list.csv")


def coco(root: Path) -> Coco:
    folder(root)
    size = {"height": 6, "width": 8}
    objects = [
        {
            "image_id": image,
            "category_id": 5,
            "bbox": [1, 1, 2, 3],
            "area": 6,
            "segmentation": [[1, 1, 3, 1, 3, 4]],
        }
        for image in (2, 2, 9)
    ]
    images = [{"id": 9, "file_name": "class0/0.jpg", **size}, {"id": 2, "file_name": "class1/3.jpg", **size}]
    table = {"images": images, "annotations": objects, "categories": [{"id": 5, "name": "cat"}]}
    (root / "coco.json").write_text(json.dumps(table))
    return Coco(root, root / "coco.json", masks=True, keypoints=True)


def cifar(root: Path) -> Cifar:
    np.random.default_rng(1).integers(0, 10, (3, 3073), np.uint8).tofile(root / "test_batch.bin")
    return Cifar(root, "test")


def npy_file(root: Path) -> NpyFile:
    np.save(root / "a.npy", IMAGES)
    return NpyFile(root / "a.npy", TARGETS)


def shards(root: Path) -> Shards:
    pack(Arrays(IMAGES, TARGETS), root)
    return Shards(root)


def lmdb(root: Path) -> Source:
    lmdb = pytest.importorskip("lmdb")
    with lmdb.open(str(root)) as database, database.begin(write=True) as transaction:
        for n in range(4):
            transaction.put(b"%d" % n, b"\xff\xd8\xff%d" % n)
    return open_source(root)


def tf_records(root: Path) -> Source:
    shutil.copy(Path(__file__).with_name("records.tfrecord"), root)
    return open_source(root)


def hdf5(root: Path) -> Source:
    h5py = pytest.importorskip("h5py")
    with h5py.File(root / "a.h5", "w") as file:
        file["images"], file["labels"], file["names"] = IMAGES, [3, 2, 1, 0], list("abcd")
    return open_source(root / "a.h5")


def arrays(root: Path) -> Arrays:
    return Arrays(IMAGES, TARGETS)


def wrapped(root: Path) -> Source:
    return as_source(list(zip(IMAGES, TARGETS["label"], strict=True)))


def picture(n: int) -> bytes:
    return b"P5 8 6 255 " + bytes([n]) * 48


def yolo(root: Path) -> Yolo:
    for n in range(3):
        (root / f"{n}.pgm").write_bytes(picture(n))
        (root / f"{n}.txt").write_text(f"{n} 0.5 0.5 0.25 0.5\n" * n)
    return Yolo(root, classes="abc")


def voc(root: Path) -> Voc:
    box = "<bndbox><xmin>1</xmin><ymin>2</ymin><xmax>4</xmax><ymax>6</ymax></bndbox>"
    for n in range(3):
        (root / f"{n}.jpg").write_bytes(b"\xff\xd8\xff%d" % n)
        objects = f"<object><name>cat</name>{box}</object>" * n
        (root / f"{n}.xml").write_text(f"<annotation>{objects}</annotation>")
    return Voc(root, images="", annotations="")


def mask_folder(root: Path) -> MaskFolder:
    for n in range(3):
        for name in (f"images/{n}.jpg", f"masks/{n}.pgm"):
            (root / name).parent.mkdir(exist_ok=True)
            (root / name).write_bytes(picture(n) if name[0] == "m" else b"\xff\xd8\xff%d" % n)
    return open_source(root)


def parquet(root: Path) -> Parquet:
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"image": list(map(picture, range(3))), "label": [2, 1, 0]})
    pytest.importorskip("pyarrow.parquet").write_table(table, root / "a.parquet", row_group_size=2)
    return open_source(root)


def hugging_face(root: Path) -> HuggingFace:
    datasets = pytest.importorskip("datasets")
    return HuggingFace(
        datasets.Dataset.from_dict({"image": list(map(picture, range(3))), "label": [2, 1, 0]})
    )


def record_io(root: Path) -> RecordIo:
    header = b"\x0a\x23\xd7\xce\x20\0\0\0" + bytes(24)  # a record of 32 bytes, with the label 0
    (root / "a.rec").write_bytes(b"".join(header + b"picture%d" % n for n in range(3)))
    return open_source(root / "a.rec")


READERS = (
    *(folder, file_list, coco, cifar, npy_file, shards, lmdb, tf_records, hdf5, arrays, wrapped),
    *(yolo, voc, mask_folder, parquet, hugging_face, record_io),
)
each_reader = pytest.mark.parametrize("make", READERS, ids=lambda make: make.__name__)


@pytest.mark.parametrize("name", ["a.tar", "pack.json", "a.tfrecord", "data.mdb", "data_batch_1.bin"])
def test_a_folder_of_two_kinds_of_data_is_named(tmp_path, name):
    (tmp_path / "train/cat").mkdir(parents=True)
    (tmp_path / "train/cat/1.jpg").write_bytes(b"...")
    assert open_source(tmp_path).classes == ["train"]
    (tmp_path / name).touch()
    with pytest.raises(
        ValueError, match=r"one kind of data in .*, but got that of \w+ and ImageFolder: call"
    ):
        open_source(tmp_path)


def assert_same(value, expected):
    """Equal numbers in equal types of arrays, also within dicts and lists."""
    assert type(value) is type(expected)
    if isinstance(value, dict):
        assert value.keys() == expected.keys()
        for name in value:
            assert_same(value[name], expected[name])
    elif isinstance(value, np.ndarray):
        assert value.dtype == expected.dtype
        assert np.array_equal(value, expected)
    else:
        assert value == expected


@each_reader
def test_a_reader_is_a_source_that_pickles(make, tmp_path):
    source = make(tmp_path)
    assert isinstance(source, Source)
    again = pickle.loads(pickle.dumps(source))
    samples = list(source)
    assert len(samples) == len(source) == len(again) > 1
    assert len({sample.sample_id for sample in samples}) == len(samples)
    for index, sample in enumerate(samples):
        assert_same(vars(again[index]), vars(sample))


def open_files(folder):
    """The files of a folder that this process has open."""
    found = []
    for handle in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # the one that lists them
            found.append(os.readlink(f"/proc/self/fd/{handle}"))
    return sorted(name for name in found if name.startswith(str(folder)))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="no /proc")
@each_reader
def test_a_reader_opens_a_file_once_and_closes_it_in_the_end(make, tmp_path):
    source = make(tmp_path)
    for _ in range(2):
        assert len(list(source)) == len(source)
        opened = open_files(tmp_path)
        assert len(set(opened)) == len(opened)
    del source
    gc.collect()
    assert open_files(tmp_path) == []


@each_reader
def test_an_index_from_the_end_gives_the_sample_there(make, tmp_path):
    source = make(tmp_path)
    if make is not npy_file:  # it refuses the file
        for index in range(-len(source), 0):
            assert_same(vars(source[index]), vars(source[len(source) + index]))
    for index in (len(source), -len(source) - 1):
        with pytest.raises(IndexError):
            source[index]


@each_reader
def test_a_reader_comes_back_from_shards(make, tmp_path):
    (tmp_path / "source").mkdir()
    source = make(tmp_path / "source")
    pack(source, tmp_path / "packed", shuffle=True, seed=4)
    packed = {sample.sample_id: sample for sample in Shards(tmp_path / "packed")}
    assert len(packed) == len(source)
    for sample in source:
        assert_same(
            vars(replace(packed[sample.sample_id], path=sample.path, files=sample.files)), vars(sample)
        )


@pytest.mark.parametrize("make", [cifar, npy_file, shards, hdf5, arrays, wrapped])
def test_samples_go_through_transforms_the_same_in_every_order(make, tmp_path):
    source, pipeline, seen = make(tmp_path), Compose([RandomHorizontalFlip(), Resize((4, 4))], seed=1), []
    for epoch in (0, 1):
        samples = [source[index] for index in Order(len(source), seed=2).indices(epoch).tolist()]
        ids = [sample.sample_id for sample in samples]
        images, targets = pipeline(
            collate([sample.data for sample in samples]), [sample.targets for sample in samples], ids
        )
        assert [target.keys() for target in targets] == [sample.targets.keys() for sample in samples]
        seen.append({sample_id: images[index].tolist() for index, sample_id in enumerate(ids)})
    assert seen[0] == seen[1]


@pytest.mark.parametrize(
    ("reader", "package"),
    [(ShardStream, "webdataset"), (Lmdb, "lmdb"), (Hdf5, "h5py")],
)
def test_a_reader_whose_package_is_missing_says_how_to_install_it(monkeypatch, tmp_path, reader, package):
    monkeypatch.setitem(sys.modules, package, None)
    (tmp_path / "data").touch()
    told = f"{reader.__name__}: expected {package} to be installed: pip install {package} (in the extra "
    with pytest.raises(ImportError, match=re.escape(f"{told}orbbec[data])")):
        reader(tmp_path / "data")


@each_reader
def test_a_sample_names_its_file(make, tmp_path):
    names = {Path(sample.path).suffix for sample in make(tmp_path)}
    files = {make: {".jpg"} for make in (folder, file_list, coco, voc, mask_folder)}
    files |= {yolo: {".pgm"}, shards: {".tar"}}
    if make is record_io:
        names = {name.partition(":")[0].replace(".rec", "") for name in names}
    assert names == files.get(make, {""})
    if make in files:
        assert all(Path(sample.path).is_file() for sample in make(tmp_path))


@pytest.mark.parametrize("make", [folder, file_list, coco, shards, tf_records])
def test_a_bad_sample_names_its_file_as_a_good_one_does(make, tmp_path):
    source = make(tmp_path)
    samples = list(source)
    for path in tmp_path.rglob("*.*"):
        if path.is_file():
            os.truncate(path, 0)
    for index, sample in enumerate(samples):
        with pytest.raises(BadSample) as caught:
            source[index]
        assert caught.value.sample_id == sample.sample_id
        assert str(tmp_path) in caught.value.path
        assert sample.path in ("", caught.value.path)


@pytest.mark.parametrize("targets", [{}, {"label": 3}, {"name": "a"}])
def test_a_sample_of_a_shard_names_its_archive(tmp_path, targets):
    pack([Sample(b"P5 1 1 255 a", targets, 4)], tmp_path)
    (sample,) = Shards(tmp_path)
    assert (sample.path, sample.targets) == (str(tmp_path / "shard-000000.tar"), targets)


def test_the_page_of_readers_lists_those_that_these_tests_read(tmp_path):
    page = (Path(__file__).parents[4] / "docs/reference/readers.md").read_text()
    rows = page.partition("| reader | reads | requires |")[2].partition("\n\n")[0].splitlines()[2:]
    listed = {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    made = set()
    for make in READERS:
        (tmp_path / make.__name__).mkdir()
        made.add(type(make(tmp_path / make.__name__)).__name__)
    clips = {"FrameFolders", "VideoClips"}  # read in test_clips.py and test_videos.py
    cameras = {"CameraFolders", "DepthFolder", "SeveralImages"}  # read in test_cameras.py
    assert listed == made - {"WrappedDataset"} | {"as_source", "ShardStream"} | clips | cameras
