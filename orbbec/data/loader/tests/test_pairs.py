"""Pair images of mixes from the source: drawn by seed, epoch and index, whatever the batches are."""

import cv2
import numpy as np
import pytest
import torch

from orbbec.data import BadSample, ImageFolder, Loader, Sample
from orbbec.data.loader.pairs import pairs_of
from orbbec.transforms import (
    Compose,
    CopyPaste,
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


def test_only_the_first_mix_reads_the_source():
    transforms = [ToDtype(torch.float32, scale=False), MixUp(1.0), RandomHorizontalFlip(), CopyPaste()]
    with loader_of(Plain(), transforms) as loader:
        for _, targets, ids in loader:
            rows = ids.tolist()
            for n, (target, index) in enumerate(zip(targets, rows, strict=True)):
                before = [rows[n - 1], *drawn(rows[n - 1], 0, 1)]  # of the previous image of the batch
                assert set(target["labels"].tolist()) <= {index, *drawn(index, 0, 1), *before}
                assert set(target["labels"].tolist()) & set(before)


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
        ValueError, match=r"Compose.plan: expected 3 pairs per image, .* but got 2 for 9 images"
    ):
        Compose([MOSAIC]).plan([SIZE] * 9, epoch=0, pairs=2)
