"""The feed makes the batches of the Python functions: pixels, targets, ids, faults and errors."""

import itertools
import json
import random
import warnings
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch

from orbbec.data import (
    BadSample,
    Coco,
    Decoding,
    FileList,
    ImageFiles,
    ImageFolder,
    Loader,
    Sample,
    Shards,
    TfRecords,
    Weights,
    pack,
)
from orbbec.data.decode.native import codec, has_native
from orbbec.data.decode.tests.corpus import pngs_and_webps
from orbbec.data.files import FileSource
from orbbec.data.loader.by_feed import FeedAssembler
from orbbec.transforms import Compose, MixUp, RandomHorizontalFlip, RandomResizedCrop, Resize
from tests.support.damage import damage

SIZE = 45, 64
NAMES = ("good", "odd", "formats", "damaged", "damaged formats", "gone")
PIPELINES = {
    "crop": [RandomResizedCrop(16), RandomHorizontalFlip()],
    "flip": [RandomHorizontalFlip()],
    "none": None,
}
DECODINGS = {
    "regions": Decoding(),
    "luma": Decoding(mode="L"),
    "alpha": Decoding(mode="RGBA"),
    "whole": Decoding(roi=False),
    "shrink": Decoding(shrink=True),
    "planes": Decoding(planes=True),
    "as stored": Decoding(apply_exif_orientation=False),
    "keep": Decoding(on_damage="keep"),
    "few pixels": Decoding(max_pixels=SIZE[0] * SIZE[1] - 1),
}
NEEDS_NATIVE = "shrink", "planes"
HAS_CODECS = None not in (codec("png"), codec("webp"))


def ended_early(data):
    """Damage that only decoding can tell."""
    return data[: data.index(b"\xff\xda") + 200] + b"\xff\xd9"


def files_of(kind):
    """Files by name: ordinary ones, and what the feed leaves to the Python functions."""
    good = {f"{way}.jpg": damage.good_file("jpeg", SIZE, way) for way in range(1, 9)}
    good |= {f"8{n}.jpg": damage.good_file("jpeg", (SIZE[0] + n, SIZE[1]), 1 + n % 8) for n in range(8)}
    others = {
        "good": {},
        "odd": {
            "gray.jpg": dict(damage.odd_jpegs(SIZE))["jpeg/L.jpeg"],
            "cmyk.jpg": dict(damage.odd_jpegs(SIZE))["jpeg/CMYK.jpeg"],
            "progressive.jpg": damage.good_file("progressive.jpeg", SIZE),
            "picture.bmp": damage.good_file("bmp", SIZE),
        },
        "formats": {
            f"{way}{letter}.{kind}": damage.good_file(kind, SIZE, way)
            for letter, kind in enumerate(("png", "webp"))
            for way in (1, 6, 8)
        },
        "damaged formats": {
            "3x.jpg": ended_early(good["3.jpg"]),
            "2cut.png": damage.good_file("png", SIZE)[:-600],
            "4.png": damage.good_file("png", SIZE),
            "5cut.webp": damage.good_file("webp", SIZE)[:-900],
        },
        "damaged": {
            "3x.jpg": ended_early(good["3.jpg"]),
            "5x.jpg": ended_early(good["5.jpg"]),
            "4x.jpg": good["4.jpg"][:700],
            "81x.jpg": b"",
            "82x.jpg": good["2.jpg"].replace(b"\xff\xc0", b"\xff\xc4", 1),
        },
        "gone": {"2x.jpg": None, "6x.jpg": ended_early(good["6.jpg"]), "83x.jpg": None},
    }
    return good | others[kind]


def folder(root, files):
    for number, (name, data) in enumerate(sorted(files.items())):
        path = root / f"class-{number % 2}" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data or b"")
    source = ImageFolder(root)
    for path in source.paths:
        if files[path.rpartition("/")[2]] is None:
            (root / path).unlink()
    return source


def file_list(root, files):
    folder(root, files)
    rows = "".join(f"class-{n % 2}/{name},{n / 2},{name}\n" for n, name in enumerate(sorted(files)))
    (root / "list.csv").write_text(f"path,weight,name\n{rows}")
    return FileList(root / "list.csv")


def coco(root, files):
    folder(root, files)
    paths = [f"class-{n % 2}/{name}" for n, name in enumerate(sorted(files))]
    more_rows = [int(path[9]) if path[8] == "8" and path[9].isdigit() else 0 for path in paths]
    sizes = [(SIZE[0] + more, SIZE[1]) for more in more_rows]
    images = [
        {"id": 100 + n, "file_name": path, "height": size[0], "width": size[1]}
        for n, (path, size) in enumerate(zip(paths, sizes, strict=True))
    ]
    boxes = [
        {"id": n, "image_id": 100 + n, "category_id": 1, "bbox": [n % 7, 2, 9, 11]}
        for n in range(0, len(paths), 2)
    ]
    table = {"images": images, "annotations": boxes, "categories": [{"id": 1, "name": "thing"}]}
    (root / "coco.json").write_text(json.dumps(table))
    return Coco(root, root / "coco.json")


def samples(root, files):
    """Encoded files, and pixels, from any source."""
    encoded = [Sample(data or b"", {"label": n}, n) for n, (_, data) in enumerate(sorted(files.items()))]
    pixels = Sample(np.full((30, 40, 3), 9, np.uint8), {"label": -1}, len(encoded))
    return [*encoded[:3], pixels, *encoded[3:]]


def shards(root, files):
    encoded = [
        Sample(data or b"none", {"label": n}, 7 * n) for n, (_, data) in enumerate(sorted(files.items()))
    ]
    pack(encoded, root / "packed", shard_bytes=8000)
    return Shards(root / "packed")


def shards_with_boxes(root, files):
    """Every second sample has boxes, some with the size that they were annotated for."""
    encoded = list(enumerate(data or b"none" for _, data in sorted(files.items())))
    boxes = [{"boxes": np.float32([[1, 2, 3 + n, 40]]), "label": n} for n, _ in encoded]
    sizes = [SIZE if n % 3 else None for n, _ in encoded]
    packed = [
        Sample(data, boxes[n], 7 * n, size=sizes[n]) if n % 2 else Sample(data, {"label": n}, 7 * n)
        for n, data in encoded
    ]
    pack(packed, root / "packed", shard_bytes=8000)
    return Shards(root / "packed")


def records(root, files):
    examples = [
        {
            "image/encoded": data or b"none",
            "image/class/label": n,
            "image/height": SIZE[0],
            "image/width": SIZE[1],
        }
        for n, (_, data) in enumerate(sorted(files.items()))
    ]
    for example in examples[::2]:
        example |= {f"image/object/bbox/{name}": [0.25, 0.5] for name in ("xmin", "ymin", "xmax", "ymax")}
        example["image/object/class/label"] = [1, 2]
    tfrecords = pytest.importorskip("orbbec.data.readers.tests.tfrecords", exc_type=ImportError)
    data = b"".join(tfrecords.record(tfrecords.example(features)) for features in examples)
    (root / "all.tfrecord").write_bytes(data)
    return TfRecords(root / "all.tfrecord")


SOURCES = {
    **{"folder": folder, "list": file_list, "coco": coco, "samples": samples, "shards": shards},
    **{"shards with boxes": shards_with_boxes, "records": records},
}


def pixels_of(images):
    if isinstance(images, torch.Tensor):
        return [images]
    if hasattr(images, "planes"):
        return [plane for row in range(len(images)) for plane in images.planes(row)]
    return list(images)


def epoch_of(source, pipeline, decoding, on_error, planned):
    """The batches of an epoch, the faults, and the error at its end."""
    transforms = None if pipeline is None else Compose(pipeline, seed=5)
    options = {"threads": 1, "prefetch": 0, "seed": 3}  # no batch is begun before the last one is taken
    loader = Loader(source, 6, transforms, on_error=on_error, decoding=decoding, collate=list, **options)
    batches, error = [], None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            for batch in loader.planned() if planned else loader:
                pixels = [image.clone() for image in pixels_of(batch.images)]
                batches.append((pixels, batch.targets, batch.sample_ids.tolist()))
        except Exception as raised:
            error = f"{type(raised).__name__}: {raised}"
    return batches, [str(fault) for fault in loader.faults], error


def assert_same(actual, expected):
    (batches, *rest), (expected_batches, *expected_rest) = actual, expected
    assert rest == expected_rest
    assert len(batches) == len(expected_batches)
    for (pixels, targets, ids), (old_pixels, old_targets, old_ids) in zip(
        batches, expected_batches, strict=True
    ):
        assert ids == old_ids
        assert str(targets) == str(old_targets)
        assert [image.shape for image in pixels] == [image.shape for image in old_pixels]
        assert all(map(torch.equal, pixels, old_pixels))


@pytest.mark.parametrize("planned", [False, True])
@pytest.mark.parametrize("on_error", ["raise", "skip", "substitute"])
@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize("decoding", DECODINGS)
@pytest.mark.parametrize("files", NAMES)
@pytest.mark.parametrize("source", SOURCES)
def test_batches_faults_and_errors_are_those_of_the_python_functions(
    source, files, decoding, pipeline, on_error, planned, tmp_path, monkeypatch
):
    if decoding in NEEDS_NATIVE and not has_native():
        pytest.skip("libjpeg-turbo was not built in")
    images = SOURCES[source](tmp_path, files_of(files))
    options = images, PIPELINES[pipeline], DECODINGS[decoding], on_error, planned
    actual = epoch_of(*options)
    monkeypatch.setenv("ORBBEC_FEED", "0")
    expected = epoch_of(*options)
    assert_same(actual, expected)
    assert expected[0] or expected[1] or expected[2]


@pytest.mark.parametrize("source", ["shards", "shards with boxes", "records"])
def test_changed_bytes_of_an_archive_make_the_same_faults(source, tmp_path, monkeypatch):
    images = SOURCES[source](tmp_path, files_of("good"))
    chance = random.Random(4)
    for file in [*tmp_path.rglob("*.tar"), *tmp_path.rglob("*.tfrecord")]:
        data = bytearray(file.read_bytes())
        for _ in range(len(data) // 12000 + 1):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        file.write_bytes(data[:-3000] if source == "records" else data)
    options = images, PIPELINES["crop"], DECODINGS["regions"], "skip", False
    actual = epoch_of(*options)
    monkeypatch.setenv("ORBBEC_FEED", "0")
    assert_same(actual, epoch_of(*options))
    assert 2 < len(actual[1]) < 14


class OddRecords(TfRecords):
    """Of some records no sample, or none that is to be had."""

    def record_sample(self, index, record):
        if index == 3:
            raise KeyError("no image")
        return None if index == 9 else super().record_sample(index, record)


def test_a_record_that_becomes_no_sample_makes_the_same_error(tmp_path, monkeypatch):
    images = OddRecords(SOURCES["records"](tmp_path, files_of("good")).paths)
    options = images, PIPELINES["crop"], DECODINGS["regions"], "skip", False
    actual = epoch_of(*options)
    monkeypatch.setenv("ORBBEC_FEED", "0")
    assert_same(actual, epoch_of(*options))
    assert "expected a Sample, but sample 9 is a NoneType" in actual[2]


@pytest.mark.parametrize("decoding", DECODINGS)
@pytest.mark.parametrize("source", ["folder", "samples"])
def test_pngs_and_webps_of_every_kind_make_the_same_batches(source, decoding, tmp_path, monkeypatch):
    if decoding in NEEDS_NATIVE and not has_native():
        pytest.skip("libjpeg-turbo was not built in")
    kinds = pngs_and_webps()[::3]
    images = SOURCES[source](tmp_path, {f"{n}.png": data for n, data in enumerate(kinds)})
    options = images, PIPELINES["crop"], DECODINGS[decoding], "skip", False
    actual = epoch_of(*options)
    monkeypatch.setenv("ORBBEC_FEED", "0")
    assert_same(actual, epoch_of(*options))
    assert 100 < len(actual[1]) < len(kinds) - 20


def test_jpegs_that_shrink_have_other_pixels_with_the_feed_and_without(tmp_path, monkeypatch):
    if not has_native():
        pytest.skip("libjpeg-turbo was not built in")
    source = folder(tmp_path, files_of("good"))
    found = {}
    for feed, shrink in itertools.product("01", (False, True)):
        monkeypatch.setenv("ORBBEC_FEED", feed)
        (batch,) = Loader(
            source, len(source), [Resize((8, 8))], shuffle=False, decoding=Decoding(shrink=shrink)
        )
        found[feed, shrink] = batch.images
    for shrink in (False, True):
        assert torch.equal(found["0", shrink], found["1", shrink])
    assert not torch.equal(found["0", False], found["0", True])


@pytest.mark.parametrize("decoding", ["regions", "whole", "as stored", "luma", "planes", "shrink"])
@pytest.mark.parametrize("source", ["folder", "list", "coco", "shards", "shards with boxes", "records"])
@pytest.mark.parametrize("files", ["good", "formats"])
def test_ordinary_batches_are_made_by_the_feed_alone(files, source, decoding, tmp_path, monkeypatch):
    if decoding in NEEDS_NATIVE and not has_native():
        pytest.skip("libjpeg-turbo was not built in")
    if files == "formats" and not HAS_CODECS:
        pytest.skip("libspng and libwebp were not built in")
    counts = Counter()
    work = FeedAssembler._by_feed

    def counted(*arguments):
        batch = work(*arguments)
        counts[batch is not None] += 1
        return batch

    def refused(*_):
        raise AssertionError("the Python functions are not needed")

    monkeypatch.setattr(FeedAssembler, "_by_feed", counted)
    monkeypatch.setattr(FeedAssembler, "_open", refused)
    monkeypatch.setattr(FeedAssembler, "_entries", refused)
    good = {
        name: data
        for name, data in files_of(files).items()
        if name < "5" or source not in ("coco", "shards with boxes", "records")
    }
    images = SOURCES[source](tmp_path, good)
    batches, faults, error = epoch_of(images, PIPELINES["crop"], DECODINGS[decoding], "raise", False)
    assert (faults, error) == ([], None)
    assert counts == {True: len(batches)} == {True: -(-len(good) // 6)}


def test_of_a_batch_with_an_odd_file_only_that_one_is_read_by_python(tmp_path, monkeypatch):
    folder(tmp_path, files_of("good") | {"5.bmp": damage.good_file("bmp", SIZE)})
    source, asked = ImageFolder(tmp_path), []
    read = FileSource.__getitem__
    monkeypatch.setattr(
        FileSource, "__getitem__", lambda self, index: asked.append(index) or read(self, index)
    )
    loader = Loader(source, len(source), PIPELINES["crop"], shuffle=False)
    (batch,) = loader
    odd = [index for index, path in enumerate(source.paths) if path.endswith("bmp")]
    assert asked == odd
    monkeypatch.setenv("ORBBEC_FEED", "0")
    (expected,) = Loader(source, len(source), PIPELINES["crop"], shuffle=False)
    assert torch.equal(batch.images, expected.images)
    assert torch.equal(batch.targets["label"], expected.targets["label"])


@pytest.mark.parametrize("pipeline", ["flip", "none"])
def test_of_a_batch_with_a_file_that_ends_early_no_other_one_is_decoded_again(
    pipeline, tmp_path, monkeypatch
):
    files = files_of("good")
    source = folder(tmp_path, files | {"3x.jpg": ended_early(files["3.jpg"])})
    options = {"transforms": PIPELINES[pipeline], "on_error": "skip", "shuffle": False}
    by_feed, by_python = [], []
    write, whole = FeedAssembler._write_by_feed, FeedAssembler._whole
    monkeypatch.setattr(
        FeedAssembler,
        "_write_by_feed",
        lambda *arguments: by_feed.append(len(arguments[4])) or write(*arguments),
    )
    monkeypatch.setattr(
        FeedAssembler, "_whole", lambda self, sample: by_python.append(sample.path) or whole(self, sample)
    )
    with pytest.warns(UserWarning, match="3x"):
        (batch,) = Loader(source, len(source), **options)
    assert by_feed == [len(source)]
    assert [path.rpartition("/")[2] for path in by_python] == ["3x.jpg"]
    monkeypatch.setenv("ORBBEC_FEED", "0")
    with pytest.warns(UserWarning, match="3x"):
        (expected,) = Loader(source, len(source), **options)
    assert all(map(torch.equal, batch.images, expected.images))


@pytest.mark.parametrize(("kinds", "makers"), [(["good.jpg"] * 20, 3), (["good.jpg"] * 20 + ["bmp"] * 3, 8)])
def test_files_that_the_feed_leaves_to_python_get_as_many_threads_as_without_it(tmp_path, kinds, makers):
    ordinary, odd = damage.good_file("jpeg", SIZE), damage.good_file("bmp", SIZE)
    folder(tmp_path, {f"{n}.{kind}": odd if kind == "bmp" else ordinary for n, kind in enumerate(kinds)})
    loader = Loader(ImageFolder(tmp_path), len(kinds), PIPELINES["crop"], shuffle=False)
    list(loader)
    assert not loader._assembler.needs_makers()  # the epoch has asked
    loader._assembler.pin_memory = True  # as on CUDA
    assert loader._assembler.crew(8, 2, 64) == (makers, 10 - makers)


@pytest.mark.parametrize(
    ("feed", "is_pinned", "batch_size", "makers"),
    [("1", True, 64, 3), ("1", True, 4, 4), ("1", True, 1, 10), ("1", False, 64, 9), ("0", True, 64, 8)],
)
def test_on_cuda_few_threads_make_batches_which_others_read(
    tmp_path, monkeypatch, feed, is_pinned, batch_size, makers
):
    monkeypatch.setenv("ORBBEC_FEED", feed)
    folder(tmp_path, files_of("good"))
    assembler = Loader(ImageFolder(tmp_path), 2)._assembler
    assembler.pin_memory = is_pinned
    assert assembler.crew(8, 2, batch_size) == (makers, 10 - makers)


def targets_of(source, transforms=None, **options):
    loader = Loader(source, 6, transforms, seed=3, threads=1, prefetch=0, **options)
    return [(batch.targets, batch.sample_ids) for batch in loader]


def refused(*_):
    raise AssertionError("the targets of each sample are not needed")


@pytest.mark.parametrize(
    "transforms", [None, PIPELINES["crop"], [RandomResizedCrop(16), MixUp(num_classes=20)]]
)
@pytest.mark.parametrize("source", ["folder", "list", "shards"])
def test_columns_make_the_targets_of_the_python_functions(source, transforms, tmp_path, monkeypatch):
    images = SOURCES[source](tmp_path, files_of("good"))
    transforms = transforms and Compose(transforms, seed=5)
    monkeypatch.setenv("ORBBEC_FEED", "0")
    expected = targets_of(images, transforms)
    monkeypatch.setenv("ORBBEC_FEED", "1")
    owner = next(kind for kind in type(images).__mro__ if "targets" in vars(kind))
    monkeypatch.setattr(owner, "targets", refused)
    actual = targets_of(images, transforms)
    assert str(actual) == str(expected)
    for (targets, _), (old_targets, _) in zip(actual, expected, strict=True):
        assert [getattr(value, "dtype", None) for value in targets.values()] == [
            getattr(value, "dtype", None) for value in old_targets.values()
        ]


def test_copies_of_samples_have_the_columns_of_their_source(tmp_path, monkeypatch):
    images = folder(tmp_path, files_of("good"))
    orders = {"order": Weights([1.0] * len(images), samples=2 * len(images))}
    monkeypatch.setenv("ORBBEC_FEED", "0")
    expected = targets_of(images, PIPELINES["crop"], **orders)
    monkeypatch.setenv("ORBBEC_FEED", "1")
    monkeypatch.setattr(FileSource, "targets", refused)
    assert str(targets_of(images, PIPELINES["crop"], **orders)) == str(expected)


class OtherLabels(ImageFolder):
    def targets(self, index):
        return {"label": 100 + index}


def test_a_source_with_other_targets_than_the_columns_is_asked_for_them(tmp_path):
    folder(tmp_path, files_of("good"))
    found = torch.cat([targets["label"] for targets, _ in targets_of(OtherLabels(tmp_path), shuffle=False)])
    assert found.tolist() == list(range(100, 100 + len(found)))
    source = ImageFolder(tmp_path)
    source.targets = lambda index: {"label": -index}
    assert [-label for (targets, _) in targets_of(source, shuffle=False) for label in targets["label"]] == [
        *range(len(found))
    ]


class ShortColumn(ImageFolder):
    def table(self):
        return ImageFiles(self.paths, columns={"label": self.labels[:3]})


def test_a_batch_without_values_in_a_column_has_the_targets_of_the_source(tmp_path):
    labels = folder(tmp_path, files_of("good")).labels
    found = torch.cat([targets["label"] for targets, _ in targets_of(ShortColumn(tmp_path), shuffle=False)])
    assert found.tolist() == labels


def test_columns_that_lie_on_the_images_are_checked(tmp_path):
    class Placed(ImageFolder):
        def targets(self, index):
            return {"boxes": np.zeros((0, 4), np.float32)}

        def table(self):
            empty = [np.zeros((0, 4), np.float32)] * len(self.paths)
            return ImageFiles(self.paths, sizes=[(1, 1)] * len(self.paths), columns={"boxes": empty})

        def __getitem__(self, index):
            return replace(super().__getitem__(index), targets=self.targets(index), size=(1, 1))

    folder(tmp_path, files_of("good"))
    with pytest.raises(BadSample, match=r"size \[1, 1\], as annotated"):
        targets_of(Placed(tmp_path))


def test_records_are_read_by_the_feed_alone(tmp_path, monkeypatch):
    source = records(tmp_path, {name: data for name, data in files_of("good").items() if name < "5"})
    monkeypatch.setattr(TfRecords, "__getitem__", refused)
    batches, faults, error = epoch_of(source, PIPELINES["crop"], DECODINGS["regions"], "raise", False)
    assert (len(batches), faults, error) == (1, [], None)
