"""Hostile files for every reader: good files, mutated by a seed, read in a process with limits.

A round writes the good files of a target, mutates one of them, and reads them. It passes if the samples are
correct, or if the reader raised a ValueError, OSError or BadSample that names the fault.
"""

from __future__ import annotations

import json
import os
import pickle
import random
import re
import resource
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from orbbec.data import (
    Arrays,
    BadSample,
    Cifar,
    Coco,
    FileList,
    Hdf5,
    ImageFolder,
    Lmdb,
    MaskFolder,
    NpyFile,
    Parquet,
    RecordIo,
    Sample,
    Shards,
    ShardStream,
    TfRecords,
    Voc,
    Yolo,
    decode_image,
    image_size,
    index_archives,
    pack,
)
from orbbec.data.readers.examples import features_of
from orbbec.data.readers.protobuf import datum_sample, example_sample
from orbbec.data.readers.records import masked_crc32c
from orbbec.data.readers.tar import end_of_archive
from tests.support.damage.damage import FORMATS, closed, flipped, good_file, huge
from tests.support.damage.hostile import ENTRIES, HOSTILE_ENTRIES

SIZE = (24, 40)
MAX_PIXELS = 4_000_000
MEMORY = 1 << 30  # bytes that a round may allocate
SECONDS = 10  # per round, on a machine with other load
SECRET = b"what lies outside of the folder"
_REFUSED = (ValueError, OSError, BadSample)
_IMAGES = np.random.default_rng(0).integers(0, 256, (4, 6, 8, 3), np.uint8)

# Replacements of numbers and paths in text files.
_NUMBERS = (
    *(b"-1", b"0", b"-0.5", b"1e400", b"NaN", b"-Infinity", b"null", b"true", b'"7"', b"[]", b"{}"),
    *(str(1 << bits).encode() for bits in (31, 32, 40, 62, 63, 64, 2000)),
    b"[" * 5000,
)
_PATHS = (b"../secret", b"/etc/passwd", b"a/../../secret", b"..", b"", b"\\u0000", b"\\ud800", b"x" * 5000)


@dataclass(frozen=True)
class Target:
    """A reader under attack.

    Args:
        make: writes good files to a folder.
        read: yields the samples of a folder.
        mutated: pattern of the files to mutate.
        is_checked: whether checksums protect the mutated files, so that samples are intact or refused.
        only_cut: files that a C library reads without checks: they are truncated, but not mutated otherwise.
    """

    make: Callable[[Path], Any]
    read: Callable[[Path], Iterator[Any]]
    mutated: str
    is_checked: bool = False
    only_cut: bool = False


def _rows(source: Any) -> Iterator[Any]:
    for index in range(min(len(source), 8)):
        try:
            yield source[index]
        except BadSample:
            continue


def _make_images(root: Path) -> None:
    for offset, (kind, (format, _)) in enumerate(FORMATS.items()):
        (root / f"{offset % 2}").mkdir(exist_ok=True)
        (root / f"{offset % 2}/{kind}.{format.lower()}").write_bytes(good_file(kind, SIZE, 1 + offset % 8))


def _make_list(root: Path) -> None:
    (root / "a.jpg").write_bytes(good_file("jpeg", SIZE))
    (root / "list.csv").write_text("path,label,weight\na.jpg,7,0.5\na.jpg,8,2\n")


def _make_coco(root: Path) -> None:
    (root / "a.jpg").write_bytes(good_file("jpeg", SIZE))
    polygon = {"segmentation": [[1, 1, 9, 1, 9, 9]], "keypoints": [3, 4, 2]}
    runs = {"segmentation": {"size": [24, 40], "counts": [100, 60, 800]}, "iscrowd": 1}
    table = {
        "images": [{"id": n, "file_name": "a.jpg", "height": 24, "width": 40} for n in (3, 5)],
        "categories": [{"id": 5, "name": "cat", "keypoints": ["nose"]}],
        "annotations": [
            {"id": n, "image_id": 3 + 2 * n, "category_id": 5, "bbox": [1, 2, 8, 9.5], "area": 60, **more}
            for n, more in enumerate((polygon, runs))
        ],
    }
    (root / "coco.json").write_text(json.dumps(table))


def _make_cifar(root: Path, protocol: int | None) -> None:
    pixels = np.random.default_rng(1).integers(0, 10, (3, 3073), np.uint8)
    if protocol is None:
        pixels.tofile(root / "test_batch.bin")
    else:
        table = {b"data": pixels[:, 1:], b"labels": pixels[:, 0].tolist(), b"filenames": [b"a.png"] * 3}
        (root / "test_batch").write_bytes(pickle.dumps(table, protocol))


def _samples() -> list[Sample]:
    masks = [np.ones((2, 3), np.uint8)]
    return [
        Sample(
            good_file(kind, SIZE), {"label": n, "boxes": np.full((n, 4), n), "masks": masks, "text": "x"}, n
        )
        for n, kind in enumerate(("jpeg", "png", "bmp"))
    ]


def _make_foreign(root: Path) -> None:
    for name in ("a.tar", "b.tar"):
        (root / name).write_bytes(ENTRIES + end_of_archive(len(ENTRIES)))


def _read_foreign(root: Path) -> Iterator[Any]:
    index_archives(root)
    return _rows(Shards(root))


def _field(number: int, value: bytes) -> bytes:
    length, size = b"", len(value)
    while size > 127:
        length, size = length + bytes([size & 127 | 128]), size >> 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + value


def _example() -> bytes:
    """A `tf.train.Example` of an image, a label and floats."""
    image = _field(1, b"image") + _field(2, _field(1, _field(1, good_file("jpeg", SIZE))))
    label = _field(1, b"label") + _field(2, _field(3, b"\x08\x07"))
    floats = _field(1, b"floats") + _field(2, _field(2, _field(1, struct.pack("<2f", 0.5, 2))))
    return _field(1, _field(1, image) + _field(1, label) + _field(1, floats))


def _read_example(root: Path) -> Iterator[Any]:
    message = (root / "example").read_bytes()
    return iter([Sample(*example_sample(features_of(message, len(message))), 0)])


def _make_records(root: Path) -> None:
    message = _example()
    length = struct.pack("<Q", len(message))
    masked = (struct.pack("<I", masked_crc32c(part)) for part in (length, message))
    (root / "a.tfrecord").write_bytes((length + next(masked) + message + next(masked)) * 3)


def _make_datum(root: Path) -> None:
    head = b"\x08\x03\x10\x06\x18\x08\x28\x05"
    (root / "datum").write_bytes(head + _field(4, bytes(3 * 6 * 8)))


def _make_hdf5(root: Path) -> None:
    with import_module("h5py").File(root / "a.h5", "w") as file:
        file["images"], file["labels"] = _IMAGES, [3, 2, 1, 0]


def _make_lmdb(root: Path) -> None:
    with import_module("lmdb").open(str(root)) as database, database.begin(write=True) as transaction:
        for n in range(300):
            transaction.put(b"%d" % n, bytes(500))


def _make_yolo(root: Path) -> None:
    for folder in ("images", "labels"):
        (root / folder).mkdir()
    (root / "images/a.jpg").write_bytes(good_file("jpeg", SIZE))
    (root / "labels/a.txt").write_text("1 0.5 0.5 0.25 0.5\n0 0.1 0.1 0.9 0.1 0.5 0.75\n")
    text = "path: .\ntrain: images\nnc: 2\nnames: [cat, dog]\n"
    (root / "data.yaml").write_text(text)
    (root / "list.yaml").write_text(text.replace("images", "list.txt"))
    (root / "list.txt").write_text("images/a.jpg\nimages/a.jpg\n")


def _make_voc(root: Path) -> None:
    (root / "a.jpg").write_bytes(good_file("jpeg", SIZE))
    corners = "<xmin>2</xmin><ymin>3</ymin><xmax>9</xmax><ymax>9.5</ymax>"
    thing = f"<object><name>cat</name><difficult>1</difficult><bndbox>{corners}</bndbox></object>"
    size = "<size><width>40</width><height>24</height></size>"
    (root / "a.xml").write_text(f"<annotation>{size}{thing}{thing}</annotation>")


def _make_masks(root: Path) -> None:
    for folder, kind in (("images", "jpeg"), ("masks", "png")):
        (root / folder).mkdir()
        (root / folder / f"a.{kind}").write_bytes(good_file(kind, SIZE))
    pixels = np.arange(24 * 40, dtype=np.uint8).reshape(24, 40) % 3
    import_module("PIL.Image").fromarray(pixels).save(root / "masks/a.png")


def _make_parquet(root: Path) -> None:
    images = [{"bytes": good_file("jpeg", SIZE), "path": "a.jpg"}] * 4
    table = import_module("pyarrow").table({"image": images, "label": [1, 2, 3, 4]})
    import_module("pyarrow.parquet").write_table(table, root / "a.parquet", row_group_size=2)


def _make_record_io(root: Path) -> None:
    record = struct.pack("<IfQQ", 2, 0, 7, 0) + struct.pack("<2f", 3, 4) + good_file("jpeg", SIZE)
    padded = struct.pack("<II", 0xCED7230A, len(record)) + record + bytes(-len(record) % 4)
    (root / "a.rec").write_bytes(padded * 3)
    (root / "a.idx").write_text("".join(f"{n}\t{n * len(padded)}\n" for n in range(3)))


TARGETS = {
    "images": Target(_make_images, lambda root: _rows(ImageFolder(root)), "*/*"),
    "list": Target(_make_list, lambda root: _rows(FileList(root / "list.csv")), "list.csv"),
    "coco": Target(
        _make_coco,
        lambda root: _rows(Coco(root, root / "coco.json", masks=True, keypoints=True, keep_crowd=True)),
        "coco.json",
    ),
    "cifar": Target(lambda root: _make_cifar(root, None), lambda root: _rows(Cifar(root, "test")), "test*"),
    "cifar 2": Target(lambda root: _make_cifar(root, 2), lambda root: _rows(Cifar(root, "test")), "test*"),
    "cifar 5": Target(lambda root: _make_cifar(root, 5), lambda root: _rows(Cifar(root, "test")), "test*"),
    "shards": Target(lambda root: pack(_samples(), root), lambda root: _rows(Shards(root)), "*.tar", True),
    "index": Target(lambda root: pack(_samples(), root), lambda root: _rows(Shards(root)), "*.json"),
    "stream": Target(
        lambda root: pack(_samples(), root),
        lambda root: iter(ShardStream(root / "shard-000000.tar")),
        "*.tar",
    ),
    "foreign": Target(_make_foreign, _read_foreign, "*.tar"),
    "records": Target(_make_records, lambda root: _rows(TfRecords(root / "a.tfrecord")), "*.tfrecord", True),
    "example": Target(lambda root: (root / "example").write_bytes(_example()), _read_example, "example"),
    "datum": Target(
        _make_datum,
        lambda root: iter([Sample(*datum_sample(b"", (root / "datum").read_bytes()), 0)]),
        "datum",
    ),
    "npy": Target(
        lambda root: np.save(root / "a.npy", _IMAGES), lambda root: _rows(NpyFile(root / "a.npy")), "a.npy"
    ),
    "npz": Target(
        lambda root: np.savez(root / "a.npz", images=_IMAGES, labels=np.arange(4)),
        lambda root: _rows(Arrays.load(root / "a.npz")),
        "a.npz",
    ),
    "yolo": Target(_make_yolo, lambda root: _rows(Yolo(root / "data.yaml", masks=False)), "*/*.txt"),
    "yaml": Target(_make_yolo, lambda root: _rows(Yolo(root / "list.yaml")), "list.*"),
    "voc": Target(
        _make_voc, lambda root: _rows(Voc(root, images="", annotations="", classes=["cat"])), "a.xml"
    ),
    "names of voc": Target(_make_voc, lambda root: _rows(Voc(root, images="", annotations="")), "a.xml"),
    "masks": Target(_make_masks, lambda root: _rows(MaskFolder(root)), "masks/*"),
    "parquet": Target(
        _make_parquet, lambda root: _rows(Parquet(root / "a.parquet")), "a.parquet", only_cut=True
    ),
    "record io": Target(_make_record_io, lambda root: _rows(RecordIo(root / "a.rec")), "a.*"),
    "hdf5": Target(_make_hdf5, lambda root: _rows(Hdf5(root / "a.h5")), "a.h5", only_cut=True),
    "lmdb": Target(_make_lmdb, lambda root: _rows(Lmdb(root)), "data.mdb", only_cut=True),
}


def bound_memory() -> None:
    """Limit this process to `MEMORY` more than it uses now; beyond, allocations raise a MemoryError."""
    with open("/proc/self/statm", encoding="ascii") as file:
        now = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, resource.RLIM_INFINITY))


def attack(name: str, seed: int) -> str:
    """One round.

    Returns:
        "read", "partly read" or "refused".

    Raises:
        AssertionError: a sample is wrong.
        Exception: the reader raised an unexpected error.
    """
    chance, target = random.Random(seed), TARGETS[name]
    files, good = _good(name)
    with TemporaryDirectory() as folder:
        root = Path(folder, "root")
        Path(folder, "secret").write_bytes(SECRET)
        _write(root, files)
        path = chance.choice(sorted(root.glob(target.mutated)))
        path.write_bytes(_mutated(path.read_bytes(), path.suffix, chance, target.only_cut))
        try:
            samples = list(islice(target.read(root), 16))
        except _REFUSED:
            return "refused"
        found = [sample for sample in samples if isinstance(sample, Sample)]
        for sample in found:
            assert not target.is_checked or _digest(sample) in good, f"it is not of the source: {sample}"
            _check(sample)
        return "read" if len(found) == len(samples) else "partly read"


def _write(root: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)


@cache
def _good(name: str) -> tuple[dict[str, bytes], list[int]]:
    """Write the good files of a target and check that all samples can be read."""
    with TemporaryDirectory() as folder:
        root = Path(folder)
        TARGETS[name].make(root)
        files = {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}
        return files, [_digest(sample) for sample in TARGETS[name].read(root)]


def _digest(sample: Any) -> int:
    return zlib.crc32(repr((sample.sample_id, sample.data, sorted(sample.targets.items()))).encode())


def _check(sample: Sample) -> None:
    """Check that a sample has the form that readers promise, and decode it."""
    assert 0 <= sample.sample_id < 1 << 63
    assert isinstance(sample.data, (bytes, np.ndarray)), type(sample.data)
    assert SECRET not in bytes(sample.data), "a file outside of the folder was read"
    assert b"root:" not in bytes(sample.data), "a file outside of the folder was read"
    boxes = sample.targets.get("boxes", np.zeros((0, 4)))
    if "iscrowd" in sample.targets:  # Coco's
        assert np.isfinite(boxes).all()
        assert (boxes[:, 2:] >= boxes[:, :2]).all()
    if not isinstance(sample.data, bytes):
        return
    for on_damage in ("raise", "keep"):
        try:
            pixels = decode_image(sample.data, max_pixels=MAX_PIXELS, on_damage=on_damage)
        except ValueError:
            continue
        assert pixels.dtype == np.uint8
        assert pixels.shape == (*image_size(sample.data), 3)


def _mutated(data: bytes, suffix: str, chance: random.Random, only_cut: bool) -> bytes:
    offset, other = chance.randrange(len(data) + 1), chance.randrange(len(data) + 1)
    length = chance.randrange(1, 600)
    ways: list[Callable[[], bytes]] = [lambda: data[:offset]]
    if only_cut:
        return ways[0]()
    ways += [
        lambda: flipped(data, chance),
        lambda: data[:offset] + data[other : other + length] + data[offset:],  # repeat a piece
        lambda: data[:offset] + data[offset + length :],  # drop a piece
        lambda: data[:offset] + bytes(length) + data[offset + length :],
        lambda: data[:offset] + b"\xff" * length + data[offset + length :],
        lambda: data + data[other:],
    ]
    if suffix in (".json", ".csv", ".txt", ".yaml", ".xml", ".idx"):
        ways = [*ways[:2], *[lambda: _replaced(data, rb"-?\d+(\.\d+)?", _NUMBERS, chance)] * 6]
        ways += [lambda: _replaced(data, rb"\w+\.(jpg|tar)", _PATHS, chance)] * 3
    if suffix == ".tar":
        hostile = chance.choice([*HOSTILE_ENTRIES.values()])
        end = len(data.rstrip(b"\0")) + 511 & -512  # of the entries; empty blocks follow
        ways += [lambda: hostile + data, lambda: data[:end] + hostile + data[end:]] * 4
    if suffix == ".jpeg":
        ways += [lambda: closed(data[:offset]), lambda: huge("jpeg", data, chance.choice((1, 999, 9999)))]
    if suffix == ".png":
        ways += [lambda: huge("png", data, chance.choice((1, 999, 1 << 30)))]
    return chance.choice(ways)()


def _replaced(data: bytes, pattern: bytes, values: tuple[bytes, ...], chance: random.Random) -> bytes:
    """One match of a pattern replaced."""
    found = chance.choice([*re.finditer(pattern, data)] or [re.match(b"", data)])
    assert found is not None
    return data[: found.start()] + chance.choice(values) + data[found.end() :]
