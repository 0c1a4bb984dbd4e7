"""A Loader with a cache gives the batches of one without, whatever happens to files."""

import copy
import gc
import io
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from orbbec.data import (
    BadSample,
    Cache,
    CameraFolders,
    Decoding,
    DepthFolder,
    ImageFolder,
    Loader,
    MaskFolder,
    Order,
    Sample,
    Shards,
    Voc,
    Yolo,
    as_source,
    pack,
)
from orbbec.data.cache import cache as cache_module
from orbbec.data.cache.cache import CachedSource
from orbbec.data.cache.parts import apart
from orbbec.transforms import ColorJitter, RandomResizedCrop

COUNT = 12
FORMATS = ("JPEG", "PNG", "WEBP")


def encoded(seed, format="JPEG", size=(40, 56)):
    pixels = np.random.default_rng(seed).integers(0, 256, (5, 7, 3), np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).resize(size[::-1], Image.Resampling.BICUBIC).save(file, format)
    return file.getvalue()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Images of two classes in three formats; one is cut off and one is none."""
    monkeypatch.setattr(cache_module, "_SETTLED", 0)
    for index in range(COUNT):
        path = tmp_path / "photos" / "ab"[index % 2] / f"{index:02}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encoded(index, FORMATS[index % 3]))
    path.write_bytes(path.read_bytes()[:300])
    (path.parent / "05.jpg").write_bytes(b"no image")
    return tmp_path / "photos"


def cache_of(kind, folder, nbytes=10 << 20):
    path = folder.parent / "samples.cache" if "file" in kind else None
    return Cache(nbytes, path, decoded="decoded" in kind)


KINDS = ["memory", "memory decoded", "file", "file decoded"]


def seen(loader, epochs=3):
    """All that a loader gives."""
    found = []
    for _ in range(epochs):
        for images, targets, sample_ids in loader:
            kept = {name: torch.as_tensor(value).tolist() for name, value in targets.items()}
            pixels = [image.tobytes() for image in images.numpy()]
            found.append((pixels, kept, sample_ids.tolist()))
    return found, sorted(map(str, loader.faults))


@pytest.mark.filterwarnings("ignore:Loader. .* bad samples? w")
@pytest.mark.parametrize("on_error", ["skip", "substitute"])
@pytest.mark.parametrize("kind", KINDS)
def test_batches_are_those_without_a_cache(folder, kind, on_error):
    def loader(cache=None, **options):
        pipeline = [RandomResizedCrop(16), ColorJitter(0.4)]
        return Loader(ImageFolder(folder), 4, pipeline, seed=3, on_error=on_error, cache=cache, **options)

    expected = seen(loader())
    assert len(expected[1]) == 6
    cached = loader(cache_of(kind, folder))
    assert seen(cached) == expected
    assert cached.report().cached > 0.6
    assert "From the cache: " in str(cached.report())
    again = loader(cache_of(kind, folder), threads=3)
    assert seen(again) == expected
    assert again.report().cached > (0.7 if "file" in kind else 0.6)
    assert loader().report().cached is None


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_of_a_cached_sample_is_that_without_a_cache(folder, kind):
    for decoding in (Decoding(), Decoding(roi=False), Decoding(max_pixels=100)):
        errors = []
        for cache in (None, cache_of(kind, folder)):
            loader = Loader(
                ImageFolder(folder), COUNT, shuffle=False, cache=cache, decoding=decoding, threads=1
            )
            for _ in range(2):
                with pytest.raises(BadSample) as caught:
                    next(iter(loader))
                errors.append(str(caught.value))
        assert len(set(errors)) == 1
        (folder.parent / "samples.cache").unlink(missing_ok=True)


def test_what_is_neither_true_nor_false_is_named():
    assert Cache(1, decoded=np.True_).decoded is True
    with pytest.raises(ValueError, match="Cache: expected decoded as True or False, but got 1"):
        Cache(1, decoded=1)


@pytest.mark.parametrize("decoded", [False, True])
def test_arrays_and_tensors_are_kept_with_fresh_targets(decoded):
    def change(targets):
        for target in targets:
            target["boxes"] += 1
        return targets

    pixels = np.random.default_rng(1).integers(0, 256, (3, 9, 8, 3), np.uint8)
    data = [pixels[0], pixels[1][:, ::-1], torch.from_numpy(pixels[2][..., 0].copy()), b"P5 2 1 255 ab"]
    source = [Sample(image, {"boxes": np.zeros((1, 4)), "n": n}, n) for n, image in enumerate(data)]

    class Fresh:
        def __len__(self):
            return 4

        def __getitem__(self, index):
            return copy.deepcopy(source[index])

    plain = Loader(Fresh(), 1, shuffle=False, collate=change)
    cached = Loader(Fresh(), 1, shuffle=False, collate=change, cache=Cache(1 << 20, decoded=decoded))
    for _ in range(3):
        for (images, targets, _), (expected, others, _) in zip(cached, plain, strict=True):
            assert np.array_equal(images.numpy()[0], expected.numpy()[0])
            assert targets[0]["boxes"].tolist() == others[0]["boxes"].tolist() == [[1, 1, 1, 1]]
            assert targets[0]["n"] == others[0]["n"]
    assert cached.report().cached == 2 / 3


@pytest.mark.parametrize("kind", KINDS)
def test_a_changed_file_is_read_again(folder, kind):
    source = CachedSource(ImageFolder(folder), cache_of(kind, folder), None, Decoding().whole)
    path = Path(source[0].path)
    before, status = path.read_bytes(), path.stat()
    assert np.array_equal(Decoding().whole(source[0].data), Decoding().whole(before))
    assert source.hits == 1
    other = encoded(99)
    other += b"\0" * (len(before) - len(other)) if len(other) < len(before) else b""
    path.write_bytes(other)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))  # as a copy that keeps times
    for _ in range(2):
        assert np.array_equal(Decoding().whole(source[0].data), Decoding().whole(other))
    path.unlink()
    with pytest.raises(BadSample, match="No such file"):
        source[0]


def masks(root, value):
    Image.fromarray(np.full((40, 56), value, np.uint8)).save(root / "masks/1.png")


def depths(root, value):
    np.save(root / "depth/1.npy", np.full((40, 56), value, np.uint16))


def label_lines(root, value):
    (root / "labels/1.txt").write_text(f"{value} 0.5 0.5 0.2 0.2\n")


def objects(root, value):
    box = "<bndbox><xmin>1</xmin><ymin>2</ymin><xmax>4</xmax><ymax>6</ymax></bndbox>"
    xml = f"<annotation><object><name>{'abcdef'[value]}</name>{box}</object></annotation>"
    (root / "labels/1.xml").write_text(xml)


ANNOTATED = {
    "mask": (masks, MaskFolder),
    "depth": (depths, partial(DepthFolder, images="images")),
    "yolo": (label_lines, lambda root: Yolo(root / "images")),
    "voc": (objects, partial(Voc, images="images", annotations="labels", classes="abcdef")),
}


def camera_folders(root):
    return CameraFolders(root, {"left": "images", "right": "right"}, depth={"right": "depth"})


@pytest.mark.parametrize("kind", KINDS)
def test_samples_of_several_images_are_kept(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(cache_module, "_SETTLED", 0)
    root = tmp_path / "set"
    for number, name in enumerate(("images", "right", "depth")):
        (root / name).mkdir(parents=True)
        (root / name / "1.jpg").write_bytes(encoded(number))
    (root / "depth/1.jpg").unlink()
    depths(root, 1)
    source = CachedSource(camera_folders(root), cache_of(kind, root), None, Decoding().whole)

    def check(hits):
        found, expected = source[0], camera_folders(root)[0]
        assert (list(found.data), source.hits) == (["left", "right"], hits)
        for name, image in expected.data.items():
            data = found.data[name].data
            pixels = Decoding().whole(data) if isinstance(data, bytes) else data
            assert np.array_equal(pixels, Decoding().whole(image.data))
            assert str(found.data[name].targets) == str(image.targets)
            assert found.data[name].path == image.path

    check(0)
    check(1)
    depths(root, 2)
    check(1)
    check(2)
    (root / "right/1.jpg").write_bytes(encoded(7))
    check(2)
    check(3)


@pytest.mark.parametrize("image", [np.zeros((1, 2), np.float32), torch.zeros(1, 2), "a.jpg"])
def test_only_files_and_bytes_are_taken_apart(image):
    for data in (image, {"left": b"one", "right": image}, (image, b"one"), {"left": Sample(image)}):
        assert apart(Sample(data)) is None


def test_a_file_takes_no_sample_of_an_image_without_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr(cache_module, "_SETTLED", 0)
    path = tmp_path / "1.jpg"
    path.write_bytes(encoded(1))
    images = {"left": Sample(path.read_bytes(), path=str(path)), "right": Sample(encoded(2))}
    cached = CachedSource([Sample(images, path=str(path))], Cache(1 << 20, tmp_path / "c"), None, None)
    assert [cached[0].path, cached[0].path, cached.hits] == [str(path), str(path), 0]


@pytest.mark.parametrize("decoded", [False, True])
def test_clips_are_kept(decoded):
    frames = [encoded(seed) for seed in range(3)]
    source = [Sample(tuple(frames), {"label": 3}, 0), Sample(tuple(frames[1:] + frames[:1]), {"label": 4}, 1)]
    plain = list(Loader(source, 2, shuffle=False))
    loader = Loader(source, 2, shuffle=False, cache=Cache(1 << 20, decoded=decoded))
    for _ in range(2):
        for (clips, targets, _), (expected, labels, _) in zip(loader, plain, strict=True):
            assert torch.equal(clips.buffer, expected.buffer)
            assert targets["label"].tolist() == labels["label"].tolist() == [3, 4]
    assert loader.report().cached == 0.5


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("annotate", ANNOTATED)
def test_changed_annotations_are_read_again(tmp_path, monkeypatch, annotate, kind):
    monkeypatch.setattr(cache_module, "_SETTLED", 0)
    for name in ("images", "masks", "depth", "labels"):
        (tmp_path / "set" / name).mkdir(parents=True)
    root = tmp_path / "set"
    (root / "images/1.jpg").write_bytes(encoded(1))
    write, reader = ANNOTATED[annotate]
    write(root, 1)
    source = CachedSource(reader(root), cache_of(kind, root), None, Decoding().whole)
    first, again = source[0], source[0]
    assert (source.hits, len(first.files)) == (1, 1)
    assert str(first.targets) == str(again.targets)
    write(root, 2)
    fresh = reader(root)[0]
    assert str(source[0].targets) == str(fresh.targets) != str(first.targets)
    assert (source.hits, str(source[0].targets)) == (1, str(fresh.targets))
    assert source.hits == 2


def test_annotations_that_appear_later_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr(cache_module, "_SETTLED", 0)
    for name in ("images/1.jpg", "images/2.jpg", "labels/2.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(encoded(1) if "images" in name else b"")
    source = CachedSource(Yolo(tmp_path / "images"), Cache(1 << 20), None, Decoding().whole)
    assert [len(source[0].targets["labels"]) for _ in range(2)] == [0, 0]
    label_lines(tmp_path, 3)
    assert source[0].targets["labels"].tolist() == [3]
    assert source.hits == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_changed_just_now_is_not_kept(folder, kind, monkeypatch):
    monkeypatch.setattr(cache_module, "_SETTLED", 10**12)
    source = CachedSource(ImageFolder(folder), cache_of(kind, folder), None, Decoding().whole)
    assert source[0].data == source[0].data
    assert source.hit_rate == 0


@pytest.mark.parametrize(("age", "kept"), [(2 * 10**9, 0), (2 * 10**9 + 1, 1)])
def test_a_file_is_kept_once_the_time_stamps_of_fat_show_its_next_change(tmp_path, monkeypatch, age, kept):
    """They have steps of two seconds, the longest of all file systems."""
    path = tmp_path / "1.jpg"
    path.write_bytes(encoded(1))
    sample = Sample(path.read_bytes(), {}, 0, str(path))
    source = CachedSource([sample], Cache(1 << 20), None, Decoding().whole)
    monkeypatch.setattr(cache_module.time, "time_ns", lambda: path.stat().st_ctime_ns + age)
    assert source[0].data == source[0].data == sample.data
    assert source.hits == kept


@pytest.mark.parametrize("kind", KINDS)
def test_a_cache_stays_within_its_size(folder, kind):
    source = ImageFolder(folder)
    whole = sum(len(sample.data) for sample in map(source.__getitem__, range(COUNT)))
    nbytes = 3 * (40 * 56 * 3 + 700) if "decoded" in kind else whole // 2
    loader = Loader(source, 3, [RandomResizedCrop(8)], on_error="skip", cache=cache_of(kind, folder, nbytes))
    with pytest.warns(UserWarning, match="2 bad samples were"):
        seen(loader, epochs=4)
    assert 0.1 < loader.report().cached < 0.6
    if "file" in kind:
        assert (folder.parent / "samples.cache").stat().st_size <= nbytes


def test_a_file_takes_no_sample_without_a_file(tmp_path):
    source = [Sample(b"P5 1 1 255 a", {}, 0), Sample(b"P5 1 1 255 b", {}, 1, "in a database")]
    for path, hits in ((tmp_path / "samples.cache", 0), (None, 2)):
        cached = CachedSource(source, Cache(1 << 20, path), None, Decoding().whole)
        assert [cached[index].data for index in (0, 1, 0, 1)] == [sample.data for sample in source * 2]
        assert cached.hits == hits


def test_a_file_belongs_to_one_source_and_decoding(folder, tmp_path):
    def loader(source=None, path=tmp_path / "c", decoded=False, **options):
        return Loader(source or ImageFolder(folder), 2, cache=Cache(1 << 20, path, decoded), **options)

    loader()
    loader(decoding=Decoding("L"))  # the files are the same
    refused = pytest.raises(ValueError, match=r"/c has samples of another source or decoding, or is no cache")
    with refused:
        loader([Sample(b"", {}, 0)])
    with refused:
        loader(decoded=True)
    loader(path=tmp_path / "d", decoded=True)
    with pytest.raises(ValueError, match=r"/d has samples of another source or decoding"):
        loader(path=tmp_path / "d", decoded=True, decoding=Decoding("L"))
    notes = tmp_path / "notes.txt"
    notes.write_text("not a cache")
    with pytest.raises(ValueError, match="or is no cache: delete it, or use another path"):
        loader(path=notes)
    assert notes.read_text() == "not a cache"
    (tmp_path / "c").chmod(0o755)
    loader()
    for mode in (0o620, 0o602):
        (tmp_path / "c").chmod(mode)
        with pytest.raises(ValueError, match=r"expected .*/c as a file that only this user writes to"):
            loader()
    with pytest.raises(TypeError, match="expected a source that can be pickled"):
        loader([lambda: None], path=tmp_path / "e")


DIGESTS = """
import sys
from orbbec.data import Coco, FileList, ImageFolder, Shards, as_source
from orbbec.data.cache.cache import _digest
for source in eval(sys.argv[1]):
    print(_digest(source, None).hex())
"""


def test_all_processes_give_a_source_one_digest(folder, tmp_path):
    pack(ImageFolder(folder), tmp_path / "shards")
    (tmp_path / "list.csv").write_text("path,label\na.jpg,dog\nb.jpg,cat\n")
    (tmp_path / "coco.json").write_text(
        '{"images": [{"id": 1, "file_name": "a.jpg", "height": 2, "width": 2}], "annotations": '
        '[{"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 1, 1]}], '
        '"categories": [{"id": 1, "name": "x"}]}'
    )
    sources = (
        f"(ImageFolder('{folder}'), Shards('{tmp_path}/shards'), FileList('{tmp_path}/list.csv'), "
        f"Coco('{tmp_path}', '{tmp_path}/coco.json'), as_source([(b'a', 1)]))"
    )
    outputs = []
    for seed in ("1", "2"):
        command = [sys.executable, "-c", DIGESTS, sources]
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        outputs.append(
            subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
        )
    assert outputs[0] == outputs[1]
    assert len(set(outputs[0].split())) == 5


def test_what_no_cache_can_serve_is_refused():
    class Changing(list):
        def set_epoch(self, epoch):
            pass

    cache = Cache(1 << 20)
    for source in (as_source(iter([])), Changing()):
        with pytest.raises(ValueError, match="a source with an index, and without set_epoch, for cache"):
            Loader(source, 2, cache=cache)
    for decoding in (Decoding(shrink=True), Decoding(planes=True)):
        with pytest.raises(ValueError, match="a decoded cache expects decoding without shrink"):
            Loader([], 2, cache=Cache(1 << 20, decoded=True), decoding=decoding)
        Loader([], 2, cache=cache, decoding=decoding)
    with pytest.raises(ValueError, match="Cache: expected nbytes as a whole number of at least 1, but got 0"):
        Cache(0)


def test_a_copied_loader_has_a_cache_of_its_own_and_no_descriptor_stays(folder, tmp_path):
    gc.collect()  # of other tests
    before = len(os.listdir("/proc/self/fd"))
    source = [Sample(np.full((4, 4, 3), n, np.uint8), {}, n) for n in range(8)]
    loaders = [
        Loader(source, 2, cache=Cache(1 << 20)),
        Loader(ImageFolder(folder), 2, cache=Cache(1 << 20, tmp_path / "c")),
    ]
    seen(loaders[0], epochs=2)
    assert loaders[0].report().cached == 0.5
    copied = copy.deepcopy(loaders[0])
    assert copied.report().cached == 0
    assert seen(copied, 1)[0] == seen(loaders[0], 1)[0]
    loaders.append(copy.copy(loaders[1]))
    assert len(os.listdir("/proc/self/fd")) == before + 2
    loaders.clear()
    del copied
    assert len(os.listdir("/proc/self/fd")) == before


def test_ranks_share_a_file(folder, tmp_path):
    """What one rank has read, the other rank finds, with another number of ranks too."""
    source, cache = Shards(packed(folder, tmp_path)), Cache(10 << 20, tmp_path / "c")
    for rank in range(2):
        loader = Loader(source, 2, order=Order(len(source), rank=rank, world_size=2), cache=cache)
        assert len(list(loader)) == 3
        assert loader.report().cached == 0
    loader = Loader(Shards(tmp_path / "shards"), 2, cache=cache)
    assert seen(loader, 1) == seen(Loader(source, 2), 1)
    assert loader.report().cached == 1


def packed(folder, tmp_path):
    good = [Sample(encoded(n), {"label": n}, n) for n in range(COUNT)]
    pack(good, tmp_path / "shards")
    return tmp_path / "shards"
