"""Batches too large for the host are put together on the device from pieces, with the same bytes."""

import math
from functools import partial
from threading import Event
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from orbbec.batch import ImageBatch
from orbbec.data import BadSample, Decoding, ImageFolder, Loader, Sample
from orbbec.data.decode.native import codec, has_native
from orbbec.data.loader.assemble import Assembler
from orbbec.data.loader.memory import Job, MemoryBudget
from orbbec.data.loader.pieces import AugmentedPieces, Pieces
from orbbec.transforms import (
    Compose,
    GaussianBlur,
    MixUp,
    Normalize,
    RandomErasing,
    RandomHorizontalFlip,
    RandomResizedCrop,
    Resize,
    ToDtype,
)
from tests.support import assert_same_bytes
from tests.support.damage import damage

SIDES = [(300, 200), (200, 300), (250, 250), (400, 120), (90, 90), (300, 310)]
BYTES = 3 * sum(height * width for height, width in SIDES)
GOOD = damage.good_file("jpeg", (45, 64), 3)
OTHERS = {  # one that Pillow decodes, one whose damage shows when it is decoded, one that is cut off
    "2x.bmp": damage.good_file("bmp", (45, 64), 3),
    "3x.jpg": GOOD[: GOOD.index(b"\xff\xda") + 200] + b"\xff\xd9",
    "4x.jpg": GOOD[:700],
}
PIPELINES = {
    "regions": [RandomResizedCrop(48), RandomHorizontalFlip()],
    "whole": [RandomResizedCrop(40, scale=(1.0, 1.0)), MixUp(num_classes=3)],
    "none": None,
}


def name_of(device):
    return "cuda" if device.name == "cuda" else "cpu"


def folder(path, others=()):
    """A folder of JPEGs, of one PNG, and of others by name."""
    files = {f"{n}.jpg": damage.good_file("jpeg", size, 1 + n) for n, size in enumerate(SIDES)}
    files |= {"png.png": damage.good_file("png", (100, 100)), **dict(others)}
    for name, data in files.items():
        (path / "0").mkdir(exist_ok=True)
        (path / "0" / name).write_bytes(data)
    return ImageFolder(path)


def batches(source, memory=None, **options):
    """All batches, the largest number of bytes of a piece, and the report."""
    with Loader(source, len(source), shuffle=False, threads=2, memory=memory, **options) as loader:
        if loader.device.type == "cpu":
            loader._assembler.device = loader.device  # as on CUDA
        pieces = []

        def attempt(opened, regions, empty, make=loader._assembler._attempt):
            pieces.append(make(opened, regions, empty))
            return pieces[-1]

        loader._assembler._attempt = attempt
        found = [batch for _ in range(2) for batch in loader]
        return found, max((len(piece.batch.buffer) for piece in pieces), default=0), loader


def assert_same_batches(batches, expected):
    assert len(batches) == len(expected)
    for batch, other in zip(batches, expected, strict=True):
        assert batch.sample_ids.tolist() == other.sample_ids.tolist()
        assert str(batch.targets) == str(other.targets)
        if isinstance(batch.images, torch.Tensor):
            assert_same_bytes(batch.images, other.images)
        else:
            assert all(map(torch.equal, batch.images.to("cpu").images(), other.images.to("cpu").images()))


DECODINGS = [Decoding(), Decoding(roi=False), Decoding(mode="L"), Decoding(planes=True)]


@pytest.mark.parametrize("decoding", DECODINGS, ids=str)
@pytest.mark.parametrize("name", PIPELINES)
def test_pieces_have_the_bytes_of_whole_batches(name, decoding, device, tmp_path):
    if decoding.planes and not has_native():
        pytest.skip("libjpeg-turbo was not built in")
    source, options = folder(tmp_path), {"device": name_of(device), "decoding": decoding}
    expected, _, _ = batches(source, transforms=PIPELINES[name], **options)
    found, largest, loader = batches(source, BYTES // 8, transforms=PIPELINES[name], **options)
    assert_same_batches(found, expected)
    alone = 3 * max(math.prod(size) for size in SIDES) + 64
    assert 0 < largest <= max(alone, BYTES // 32)
    assert loader.report().most_bytes <= 2 * (BYTES + 3 * 100 * 100 + 64 * 9)  # a batch being made, and one


@pytest.mark.skipif(None in (codec("png"), codec("webp")), reason="libspng and libwebp were not built in")
@pytest.mark.parametrize(
    "decoding", [Decoding(roi=False), Decoding(mode="RGBA"), Decoding(shrink=True)], ids=str
)
@pytest.mark.parametrize("name", PIPELINES)
def test_pngs_and_webps_are_decoded_in_pieces_too(name, decoding, device, tmp_path, monkeypatch):
    (tmp_path / "0").mkdir()
    for number, size in enumerate(SIDES):
        kind = ("png", "webp")[number % 2]
        (tmp_path / "0" / f"{number}.{kind}").write_bytes(damage.good_file(kind, size, 1 + number))
    source, options = ImageFolder(tmp_path), {"device": name_of(device), "decoding": decoding}
    expected, _, _ = batches(source, transforms=PIPELINES[name], **options)
    sizes, empty = [], Job.empty
    monkeypatch.setattr(
        Job, "empty", lambda self, nbytes, **pins: sizes.append(nbytes) or empty(self, nbytes, **pins)
    )
    monkeypatch.setattr(Assembler, "_on_host", None)
    found, largest, _ = batches(source, BYTES // 8, transforms=PIPELINES[name], **options)
    assert_same_batches(found, expected)
    assert 0 < largest <= 4 * max(math.prod(size) for size in SIDES) + 64
    assert max(sizes, default=0) <= BYTES // 16  # the host has no memory for the whole batch


def test_what_pillow_decodes_and_a_bad_file_change_nothing_else(device, tmp_path):
    source = folder(tmp_path, OTHERS)
    options = {"transforms": [Resize((40, 40))], "device": name_of(device), "on_error": "skip"}
    with pytest.warns(UserWarning, match="(?s)4x.*3x"):
        expected, _, _ = batches(source, **options)
    with pytest.warns(UserWarning, match="(?s)4x.*3x"):
        found, largest, loader = batches(source, BYTES // 8, **options)
    assert_same_batches(found, expected)
    assert [len(batch.sample_ids) for batch in found] == [8, 8]
    assert len(loader.faults) == 4
    assert 0 < largest < BYTES // 2


def test_a_bad_file_in_a_piece_is_raised(tmp_path):
    source = folder(tmp_path, {"2x.jpg": b"no image"})
    with pytest.raises(BadSample, match="2x"):
        batches(source, BYTES // 8, transforms=PIPELINES["regions"])


def pieces_of(sizes, limit):
    make = partial(ImageBatch.of_sizes, sizes, 1)
    return Pieces(lambda empty: make(empty=empty), None, Job(Event(), MemoryBudget(limit), 0))


@pytest.mark.parametrize(("limit", "slices"), [(16 * 100, [3, 2]), (16 * 300, [5]), (1, [1] * 5)])
def test_a_piece_is_a_quarter_of_the_memory_or_one_image(limit, slices):
    pieces = pieces_of([(1, 128)] * 5, limit)
    assert [images.stop - images.start for images in pieces.slices()] == slices


def test_the_memory_of_a_batch_is_taken_from_its_job():
    job = Job(Event(), MemoryBudget(1000), 0)
    taken = []
    job.take = taken.append
    batch = Pieces(lambda empty: ImageBatch.of_sizes([(1, 64)] * 3, 1, empty=empty), None, job).batch
    assert taken == [batch.storage.nbytes]


def test_the_memory_of_a_piece_and_of_all_results_is_taken_from_its_job():
    job = Job(Event(), MemoryBudget(16 * 100), 0)
    taken = []
    job.take = taken.append
    plan = Compose([Resize((4, 5)), ToDtype("float32")]).plan([(1, 300), (10, 20), (1, 30)], channels=1)
    assert list(AugmentedPieces(plan, None, job).slices()) == [slice(0, 1), slice(1, 3)]
    assert taken == [300 + 3 * 4 * 5 * 4]


def test_a_piece_is_copied_after_the_one_before():
    class Copied:
        waits = 0

        def synchronize(self):
            self.waits += 1

    pieces = pieces_of([(1, 64)] * 3, 1)
    pieces._copied = Copied()
    for number, images in enumerate(pieces.slices()):
        piece = ImageBatch.of_sizes([(1, 64)] * (images.stop - images.start), 1)
        piece.buffer.fill_(number)
        pieces.add(images, piece)
    assert pieces._copied.waits == 3
    assert [image.unique().tolist() for image in pieces.batch] == [[0], [1], [2]]


def test_a_piece_has_at_most_256_mib():
    assert Job(Event(), MemoryBudget(2**40), 0).piece_bytes == 2**28


@pytest.mark.parametrize("memory", [2 * 10**6, 3 * 10**6])
def test_batches_in_the_making_hold_their_pixels_and_results_within_the_memory(memory):
    source = [Sample(np.full((100, 120, 3), n, np.uint8), {"label": n}, n) for n in range(40)]
    pixels, results = 4 * 100 * 120 * 3, 4 * 3 * 112 * 112 * 1
    transforms = [RandomResizedCrop(112)]
    with Loader(source, 4, transforms, threads=3, prefetch=6, shuffle=False, memory=memory) as loader:
        for batch in loader:
            assert batch.images.nbytes == results
            assert loader._memory.in_use <= memory + pixels + results
        most = loader.report().most_bytes
    assert pixels + results < most <= memory + pixels + results  # the next batch may go beyond the limit


def test_batches_that_the_user_keeps_never_change():
    images = [np.full((100, 120, 3), n, np.uint8) for n in range(64)]
    source = [Sample(image, {"label": n}, n) for n, image in enumerate(images)]
    kept = []
    with Loader(source, 4, [RandomResizedCrop(112)], threads=3, prefetch=2) as loader:
        for _ in range(3):
            kept += [batch for number, batch in enumerate(loader) if number % 3 == 0]
    for batch in kept:
        assert (batch.images == batch.sample_ids[:, None, None, None]).all()
    assert len({batch.images.data_ptr() for batch in kept}) == len(kept) == 18


def test_a_batch_waits_while_it_would_take_more_and_not_to_give_back():
    budget = MemoryBudget(100)
    budget.take(0, 90, Event())
    budget.take(1, 10, Event())
    budget.take(0, 200, Event())
    budget.take(1, 5, Event())
    assert (budget.in_use, budget.most) == (205, 210)


def test_no_batch_is_large_where_there_is_no_device():
    assembler = Assembler([], None, Decoding(), "raise", pin_memory=False)
    assert not assembler._is_large([(1000, 1000)], Job(Event(), MemoryBudget(1), 0))


def test_planes_lie_in_the_memory_of_the_job():
    sizes = []

    def empty(nbytes):
        sizes.append(nbytes)
        return torch.empty(nbytes, dtype=torch.uint8)

    assembler = Assembler([], None, Decoding(planes=True), "raise", pin_memory=False)
    opened = SimpleNamespace(stored=np.zeros((4, 6, 3), np.uint8))
    batch = assembler._batch_of([opened], None, empty)
    assert sizes == [batch.storage.numel()]
    assert sizes[0] >= 72


CPU_PIPELINES = {
    "regions": [RandomResizedCrop(48), RandomHorizontalFlip()],
    "sizes vary": [RandomHorizontalFlip()],
    "floats of sizes that vary": [
        RandomHorizontalFlip(),
        ToDtype("float32", scale=True),
        Normalize((0.5,) * 3, (0.2,) * 3),
    ],
    "several passes": [Resize((90, 80)), GaussianBlur(5), RandomErasing(1.0), ToDtype("float32")],
}


def epoch_on_the_cpu(source, memory=None, **options):
    with Loader(source, len(source), shuffle=False, threads=2, memory=memory, **options) as loader:
        return list(loader), loader


@pytest.mark.parametrize("decoding", DECODINGS[:2] + DECODINGS[3:], ids=str)
@pytest.mark.parametrize("name", CPU_PIPELINES)
@pytest.mark.parametrize("feed", ["0", "1"])
def test_on_the_cpu_large_batches_are_augmented_in_pieces(name, decoding, feed, tmp_path, monkeypatch):
    if decoding.planes and not has_native():
        pytest.skip("libjpeg-turbo was not built in")
    monkeypatch.setenv("ORBBEC_FEED", feed)
    source, options = folder(tmp_path), {"decoding": decoding, "transforms": CPU_PIPELINES[name]}
    expected, whole = epoch_on_the_cpu(source, **options)
    lengths, add = [], AugmentedPieces.add
    monkeypatch.setattr(
        AugmentedPieces,
        "add",
        lambda self, images, piece: lengths.append(len(piece)) or add(self, images, piece),
    )
    found, loader = epoch_on_the_cpu(source, BYTES // 8, **options)
    assert len(lengths) > 1
    assert sum(lengths) == len(source)
    for batch, other in zip(found, expected, strict=True):
        assert str(batch.targets) == str(other.targets)
        for image, other_image in zip(batch.images, other.images, strict=True):
            assert image.dtype == other_image.dtype
            assert torch.equal(image, other_image)
    if name == "regions":
        assert loader.report().most_bytes < whole.report().most_bytes


def test_a_large_batch_whose_images_are_mixed_is_not_split(tmp_path, monkeypatch):
    source, options = folder(tmp_path), {"transforms": PIPELINES["whole"]}
    expected, _ = epoch_on_the_cpu(source, **options)
    monkeypatch.setattr(AugmentedPieces, "__init__", None)
    found, _ = epoch_on_the_cpu(source, BYTES // 8, **options)
    assert_same_batches(found, expected)


def test_a_bad_file_in_a_piece_on_the_cpu_is_skipped(tmp_path):
    source = folder(tmp_path, OTHERS)
    options = {"transforms": [Resize((40, 40))], "on_error": "skip"}
    with pytest.warns(UserWarning, match="(?s)4x.*3x"):
        expected, _ = epoch_on_the_cpu(source, **options)
    with pytest.warns(UserWarning, match="(?s)4x.*3x"):
        found, _ = epoch_on_the_cpu(source, BYTES // 8, **options)
    assert_same_batches(found, expected)


def test_plans_that_are_not_applied_get_whole_batches(tmp_path):
    with Loader(folder(tmp_path), 4, [RandomResizedCrop(48)], memory=BYTES // 8) as loader:
        assert all(len(batch.images) == len(batch.plan) for batch in loader.planned())
