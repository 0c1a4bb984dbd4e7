"""Pair images of mixes from the source: drawn by seed, epoch and index, whatever the batches are."""

import shutil

import cv2
import numpy as np
import pytest
import torch

from orbbec.data import BadSample, Decoding, ImageFolder, Loader, Sample
from orbbec.data.loader import views
from orbbec.data.loader.pairs import pairs_of, with_pairs
from orbbec.data.loader.tests.test_clips import jpegs
from orbbec.transforms import (
    Compose,
    CopyPaste,
    GaussianNoise,
    MixUp,
    Mosaic,
    Normalize,
    RandomApply,
    RandomHorizontalFlip,
    Resize,
    ToDtype,
)

pytestmark = pytest.mark.usefixtures("no_earlier_threads")
COUNT, SIZE = 40, (8, 8)
MOSAIC = Mosaic(16, center_range=(0.5, 0.5))
QUARTERS = (
    (slice(0, 8), slice(0, 8)),
    (slice(0, 8), slice(8, 16)),
    (slice(8, 16), slice(0, 8)),
    (slice(8, 16), slice(8, 16)),
)


class Plain:
    """Images of one value, their index; each with an object in the middle. Counts what is read."""

    def __init__(self, bad=(), count=COUNT):
        self.bad, self.count, self.read = bad, count, []

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        self.read.append(index)
        if index in self.bad:
            raise BadSample(index, f"{index}.jpg", "no such file")
        mask = np.zeros((1, *SIZE), bool)
        mask[:, 2:4, 3:6] = True
        target = {"boxes": np.array([[3.0, 2, 6, 4]]), "labels": np.array([index]), "masks": mask}
        return Sample(np.full((*SIZE, 3), index, np.uint8), target, index)


class Labelled(Plain):
    def __getitem__(self, index):
        return Sample(np.full((*SIZE, 3), index, np.uint8), {"label": np.array(index)}, index)


def loader_of(source, transforms, batch_size=8, **options):
    options = {"pairs": "source", "collate": list, "threads": 1, "prefetch": 1, "seed": 3} | options
    return Loader(source, batch_size, transforms, **options)


def values_by_id(loader):
    """The values in the quarters of each mosaic, and its labels."""
    found = {}
    for images, targets, ids in loader:
        for image, target, sample_id in zip(images, targets, ids.tolist(), strict=True):
            found[sample_id] = (
                [int(image[0][quarter].unique()) for quarter in QUARTERS],
                target["labels"].tolist(),
            )
    return found


def drawn(index, epoch, count=3, seed=3, length=COUNT):
    return pairs_of([index], count, length, seed, epoch)


@pytest.mark.parametrize("batch_size", [1, 7, 40])
def test_a_mosaic_has_pairs_of_the_whole_source(batch_size):
    with loader_of(Plain(), [MOSAIC], batch_size) as loader:
        for epoch in range(2):
            found = values_by_id(loader)
            assert sorted(found) == list(range(COUNT))
            for index, (values, labels) in found.items():
                assert values == labels == [index, *drawn(index, epoch)]


def test_a_mosaic_of_nine_has_eight_pairs():
    nine, size = Mosaic(24, center_range=(7 / 12, 7 / 12), tiles=9), slice(0, 24, 8)
    order = [4, 1, 2, 5, 8, 7, 6, 3, 0]  # of the tiles, row by row
    with loader_of(Plain(), [nine], 7) as loader:
        for images, targets, ids in loader:
            for image, target, index in zip(images, targets, ids.tolist(), strict=True):
                expected = [index, *drawn(index, 0, 8)]
                assert image[0, size, size].flatten()[order].tolist() == expected
                assert target["labels"].tolist() == expected
        assert loader.report().pairs == 8 * COUNT


def test_pairs_are_uniform_and_change_with_seed_and_epoch():
    pairs = np.array([pairs_of(range(1000), 3, 10, 0, epoch) for epoch in range(4)])
    counts = np.bincount(pairs.reshape(-1), minlength=10)
    assert abs(counts - 1200).max() < 160  # 4.9 deviations
    assert len({tuple(row) for row in pairs.tolist()}) == 4
    assert pairs_of(range(9), 1, 10**12, 0, 0) != pairs_of(range(9), 1, 10**12, 1, 0)
    assert max(pairs_of(range(999), 1, 10**12, 0, 0)) > 9 * 10**11


def test_an_epoch_resumes_with_the_same_pairs():
    with loader_of(Plain(), [MOSAIC]) as loader:
        whole = values_by_id(loader)
        loader.set_epoch(0)
        batches = iter(loader)
        next(batches)
        state = loader.state_dict()
    with loader_of(Plain(), [MOSAIC]) as again:
        again.load_state_dict(state)
        rest = values_by_id(again)
    assert len(rest) == COUNT - 8
    assert rest == {index: whole[index] for index in rest}


def mixup_pair(index, epoch=0, seed=3):
    return pairs_of([index], 1, COUNT, seed, epoch, mix=1)[0]


@pytest.mark.parametrize("batch_size", [1, 7, 40])
def test_mosaics_are_mixed_with_mosaics_of_the_whole_source(batch_size):
    transforms = [MOSAIC, ToDtype(torch.float32, scale=False), MixUp(1.0)]
    with loader_of(Plain(), transforms, batch_size) as loader:
        for epoch in range(2):
            seen = []
            for images, targets, ids in loader:
                for image, target, index in zip(images, targets, ids.tolist(), strict=True):
                    other = mixup_pair(index, epoch)
                    rows = [[each, *drawn(each, epoch)] for each in (index, other)]
                    assert target["labels"].tolist() == [*rows[0], *rows[1]]
                    one, two = np.float64(rows)
                    values = np.array([float(image[0][quarter].mean()) for quarter in QUARTERS])
                    weight = np.dot(values - two, one - two) / max(np.dot(one - two, one - two), 1e-9)
                    assert -1e-4 <= weight <= 1 + 1e-4
                    assert np.abs(weight * one + (1 - weight) * two - values).max() < 1e-3  # float32
                    seen.append(index)
            assert sorted(seen) == list(range(COUNT))
        assert loader.report().pairs == 2 * 7 * COUNT


def test_mixes_without_this_epoch_read_nothing():
    mosaic = Mosaic(16, center_range=(0.5, 0.5), epochs=(1, 3))
    transforms = [ToDtype(torch.float32, scale=False), MixUp(1.0, epochs=(0, 2)), mosaic]
    source = Plain()
    assert [Compose(transforms).others(epoch) for epoch in (0, 1, 2, 3, None)] == [
        (1, 0),
        (1, 3),
        (0, 3),
        (0, 0),
        (1, 3),
    ]
    with loader_of(source, transforms, drop_last=True) as loader:
        for epoch, each in enumerate((2, 8, 4, 1)):
            source.read.clear()
            for _, targets, ids in loader:
                for target, index in zip(targets, ids.tolist(), strict=True):
                    expected = [index]
                    if epoch in (1, 2):
                        expected += pairs_of([index], 3, COUNT, 3, epoch, mix=1)
                    if epoch in (0, 1):
                        expected = [other for each in expected for other in (each, *drawn(each, epoch, 1))]
                    assert target["labels"].tolist() == expected
            assert len(source.read) == each * COUNT


def test_objects_are_pasted_on_mixed_images():
    transforms = [ToDtype(torch.float32, scale=False), MixUp(1.0), RandomHorizontalFlip(), CopyPaste()]
    with loader_of(Plain(), transforms, 7) as loader:
        for _, targets, ids in loader:
            for target, index in zip(targets, ids.tolist(), strict=True):
                other = mixup_pair(index)
                mixed = [{each, *drawn(each, 0, 1)} for each in (index, other)]
                labels = set(target["labels"].tolist())
                assert labels <= mixed[0] | mixed[1]
                assert labels & mixed[1]


def test_a_mix_in_a_container_has_pairs():
    with loader_of(Plain(), [RandomApply([MOSAIC], 1.0)], 40) as loader:
        found = values_by_id(loader)
    assert all(values == [index, *drawn(index, 0)] for index, (values, _) in found.items())


def test_floats_are_mixed_in_a_pass_of_their_own():
    """What the pass before a mix of the batch would do itself."""
    transforms = [Resize((8, 8)), ToDtype(torch.float32, scale=False), MixUp(0.5, num_classes=COUNT)]
    with loader_of(Labelled(), transforms) as loader:
        for images, targets, _ in loader:
            for image, target in zip(images, targets, strict=True):
                value = float((target["label"] * torch.arange(COUNT)).sum())
                assert abs(float(image.mean()) - value) < 1e-3


def test_pairs_are_read_in_addition_and_counted():
    source = Plain()
    with loader_of(source, [Mosaic(16, epochs=(0, 1))], drop_last=True) as loader:
        values_by = [sum(1 for _ in loader) for _ in range(2)]
        report = loader.report()
    assert values_by == [5, 5]
    assert len(source.read) == COUNT * 4 + COUNT  # none in the epoch without mosaics
    assert report.pairs == 3 * COUNT
    assert "Pair images of mixes: 1.5 more samples were read per image" in str(report)


def test_pairs_are_read_where_another_mix_has_ended():
    source = Plain()
    with loader_of(source, [Mosaic(16, epochs=(0, 1)), Mosaic(16, epochs=(0, 2))]) as loader:
        read = [(list(loader), len(source.read))[1] for _ in range(3)]
    assert np.diff([0, *read]).tolist() == [16 * COUNT, 4 * COUNT, COUNT]


@pytest.mark.parametrize("on_error", ["skip", "substitute"])
def test_another_sample_replaces_a_bad_pair_image(on_error):
    bad = drawn(0, 0)[0]
    assert bad
    loader = loader_of(Plain(bad=[bad]), [MOSAIC], on_error=on_error)
    with pytest.warns(UserWarning, match=f"sample {bad} "):
        found = values_by_id(loader)
    loader.close()
    faults = loader.faults
    assert bad not in found
    assert len(faults) >= 1 + sum(drawn(n, 0).count(bad) for n in found if n != bad and on_error == "skip")
    for index, (values, labels) in found.items():
        expected = [index, *((bad + 1) % COUNT if each == bad else each for each in drawn(index, 0))]
        if on_error == "skip" or index != (bad + 1) % COUNT:
            assert values == labels == expected


def test_a_bad_partner_is_an_error():
    source = Plain(bad=[5])
    owner = next(index for index in range(COUNT) if 5 in drawn(index, 0) and index != 5)
    with (
        pytest.raises(BadSample, match=r"\(5.jpg\): no such file"),
        loader_of(source, [MOSAIC], 1, order=[owner]) as loader,
    ):
        list(loader)


SOME = Compose(
    [
        Mosaic(24, p=0.5),
        Resize((16, 16)),
        ToDtype(torch.float32, scale=True),
        MixUp(p=0.4),
        RandomHorizontalFlip(),
        GaussianNoise(sigma=0.1),
    ],
    seed=3,
)


@pytest.fixture(scope="module")
def photographs_in_folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("photographs")
    (root / "class").mkdir()
    for index, file in enumerate(jpegs(COUNT, 30, 24)):
        (root / "class" / f"{index:02}.jpg").write_bytes(file)
    return root


def by_id(batch):
    return zip(batch.sample_ids.tolist(), batch.images, strict=True)


def images_by_id(source, compose=SOME, **options):
    with loader_of(source, compose, 9, **options) as loader:
        found = {n: image for batch in loader for n, image in by_id(batch)}
        return found, loader.report()


def without_choice(plan):
    return plan, np.arange(len(plan))


@pytest.mark.parametrize(
    "options", [{}, {"decoding": Decoding(planes=True)}, {"decoding": Decoding(device="cuda")}, {"memory": 1}]
)
@pytest.mark.parametrize("feed", ["1", "0"])
def test_pairs_that_no_mix_reads_are_not_decoded(photographs_in_folders, monkeypatch, feed, options):
    monkeypatch.setenv("ORBBEC_FEED", feed)
    source = ImageFolder(photographs_in_folders)
    found, report = images_by_id(source, **options)
    assert report.pairs == 7 * COUNT
    # 1.4 mosaics per image, half of them with three others: 2.5 in the mean, and 15 deviations are 1.5
    assert 1.5 < report.decoded_pairs / COUNT < 3.5
    monkeypatch.setattr(views, "without_unused", without_choice)
    whole, every = images_by_id(source, **options)
    assert (every.pairs, every.decoded_pairs) == (7 * COUNT, 7 * COUNT)
    assert sorted(found) == sorted(whole) == list(range(COUNT))
    for n, image in found.items():
        assert torch.equal(image, whole[n])


@pytest.mark.parametrize("feed", ["1", "0"])
def test_damaged_pairs_matter_only_where_they_are_mixed(photographs_in_folders, tmp_path, monkeypatch, feed):
    monkeypatch.setenv("ORBBEC_FEED", feed)
    shutil.copytree(photographs_in_folders, tmp_path, dirs_exist_ok=True)
    good, _ = images_by_id(ImageFolder(tmp_path))
    file = tmp_path / "class" / "07.jpg"
    file.write_bytes(file.read_bytes()[:-200])
    loader = loader_of(ImageFolder(tmp_path), SOME, 9, on_error="substitute")
    with loader, pytest.warns(UserWarning, match="sample 7 "):
        found = {n: image for batch in loader for n, image in by_id(batch)}
    ids = [*range(7), *range(8, COUNT)]
    assert sorted(found) == ids
    same = [n for n in ids if torch.equal(found[n], good[n])]
    mixed = [n for n in ids if 7 in with_pairs([n], [3, 1], COUNT, 3, 0)]
    assert set(ids) - set(mixed) <= set(same)
    assert set(same) & set(mixed)
    assert set(mixed) - set(same)
    assert {fault.sample_id for fault in loader.faults} == {7}


def test_files_that_the_feed_reads_have_the_same_pairs(tmp_path):
    (tmp_path / "class").mkdir()
    for index in range(COUNT):
        cv2.imwrite(str(tmp_path / "class" / f"{index:02}.png"), np.full((*SIZE, 3), 2 * index, np.uint8))
    pipeline = Compose([MOSAIC], seed=3)
    with loader_of(ImageFolder(tmp_path), pipeline) as loader:
        for images, _, ids in loader:
            for image, index in zip(images, ids.tolist(), strict=True):
                values = [int(image[0][quarter].unique()) // 2 for quarter in QUARTERS]
                assert values == [index, *drawn(index, 0)]


@pytest.mark.parametrize(
    ("source", "transforms"),
    [(iter([]), [MOSAIC]), (Plain(), [Normalize()]), (Plain(), None)],
)
def test_pairs_need_an_index_and_a_mix(source, transforms):
    with pytest.raises(
        ValueError, match="Loader: expected a source with an index, and transforms that mix images"
    ):
        Loader(source, 4, transforms, pairs="source")


def test_wrong_pairs_are_named():
    with pytest.raises(ValueError, match="Loader: expected pairs"):
        Loader(Plain(), 4, [MOSAIC], pairs="dataset")
    with pytest.raises(
        ValueError, match=r"Compose.plan: expected pairs \[3\], as the mixes read, but got \[2\] for 9 images"
    ):
        Compose([MOSAIC]).plan([SIZE] * 9, epoch=0, pairs=[2])
    with pytest.raises(ValueError, match=r"expected pairs \[3, 1\], .* but got \[3, 1\] for 12 images"):
        Compose([MOSAIC, MixUp()]).plan([SIZE] * 12, epoch=0, pairs=[3, 1])
    with pytest.raises(ValueError, match="expected images with pairs, but got clips"):
        Compose([MOSAIC]).plan([SIZE] * 8, epoch=0, pairs=[3], frames=2)
