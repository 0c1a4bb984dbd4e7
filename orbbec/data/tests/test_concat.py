"""Combined sources have distinct sample ids, and so different draws."""

import numpy as np
import pytest
import torch
from torch.utils.data import ConcatDataset, Subset, TensorDataset, random_split

from orbbec.data import BadSample, Cache, Decoding, Loader, Repeats, Sample, Shards, as_source, pack
from orbbec.data.concat import with_distinct_ids
from orbbec.data.ray import _Worker
from orbbec.transforms import RandomResizedCrop

NOISE = np.random.default_rng(0).integers(0, 256, (20, 20, 3), np.uint8)


def part(*ids):
    return [Sample(NOISE, {"label": sample_id}, sample_id) for sample_id in ids]


def ids_of(source, **options):
    batches = Loader(source, 2, threads=1, shuffle=False, **options)
    return [sample_id for batch in batches for sample_id in batch.sample_ids.tolist()]


def numbers(ids):
    """The number of the part and the id in it."""
    return [(sample_id >> 48, sample_id & (1 << 48) - 1) for sample_id in ids]


def test_the_parts_of_a_concatenation_have_distinct_ids():
    parts = part(0, 1), part(0, 1, 5)
    expected = [(1, 0), (1, 1), (2, 0), (2, 1), (2, 5)]
    for source in (ConcatDataset(parts), as_source(ConcatDataset(parts))):
        assert numbers(ids_of(source)) == expected
        assert numbers(ids_of(source)) == expected  # again, and in every process


def test_parts_of_parts_and_subsets_of_them_count_too():
    one, two, three = part(0), part(0), part(0, 4)
    nested = ConcatDataset([ConcatDataset([one, two]), three])
    assert numbers(ids_of(nested)) == [(1, 0), (2, 0), (3, 0), (3, 4)]
    assert numbers(ids_of(Subset(nested, [3, 0, 1]))) == [(3, 4), (1, 0), (2, 0)]
    inner = ConcatDataset([Subset(ConcatDataset([one, two]), [1]), three])
    assert numbers(ids_of(inner)) == [(2, 0), (3, 0), (3, 4)]
    halves = random_split(nested, [2, 2], torch.Generator().manual_seed(0))
    assert sorted(ids_of(halves[0]) + ids_of(halves[1])) == ids_of(nested)


def test_a_source_that_is_repeated_to_lengthen_an_epoch_is_augmented_anew():
    once = part(3)
    ((images, _, _),) = Loader(ConcatDataset([once] * 3), 3, [RandomResizedCrop(16)])
    assert not torch.equal(images[0], images[1])
    assert not torch.equal(images[1], images[2])


def test_data_sets_without_samples_keep_their_positions_as_ids():
    images = TensorDataset(torch.zeros(2, 3, 8, 8, dtype=torch.uint8), torch.arange(2))
    assert ids_of(as_source(ConcatDataset([images, images]))) == [0, 1, 2, 3]
    mixed = ids_of(as_source(ConcatDataset([images, part(0, 1)])))
    assert mixed[:2] == [0, 1]
    assert numbers(mixed[2:]) == [(2, 0), (2, 1)]


def test_a_single_source_and_its_subset_keep_their_ids():
    source = part(7, 9, 11)
    assert ids_of(source) == [7, 9, 11]
    assert ids_of(Subset(source, [2, 0])) == [11, 7]
    assert with_distinct_ids(source) is source


def test_ids_too_large_for_a_part_are_refused():
    with pytest.raises(RuntimeError, match=r"expected sample ids below 2\^48 in part 2"):
        ids_of(ConcatDataset([part(0), part(1 << 48)]))


def test_a_bad_sample_of_a_part_has_the_id_of_its_part():
    class Lost(list):
        def __getitem__(self, index):
            raise BadSample(5, "lost.jpg", "the file is empty")

    loader = Loader(ConcatDataset([part(5), Lost([0])]), 2, on_error="skip", shuffle=False)
    with pytest.warns(UserWarning, match=r"lost\.jpg"):
        list(loader)
    assert numbers([fault.sample_id for fault in loader.faults]) == [(2, 5)]


def test_a_concatenation_is_packed_with_its_ids(tmp_path):
    source = ConcatDataset([part(0, 1), part(0)])
    pack(source, tmp_path)
    assert numbers(Shards(tmp_path).sample_ids) == [(1, 0), (1, 1), (2, 0)]


@pytest.mark.parametrize("samples", [[Sample(NOISE), Sample(NOISE[::-1])], [Sample(b"1"), Sample(b"2")]])
def test_two_images_with_one_id_are_named(samples):
    if isinstance(samples[0].data, bytes):
        samples = [Sample(b"P5 1 1 255 " + sample.data, path=f"{n}.pgm") for n, sample in enumerate(samples)]
        names = "0.pgm and 1.pgm"
    else:
        names = "the sample at index 0 and the sample at index 1"
    with pytest.raises(ValueError, match=f"Loader: expected distinct sample ids, but {names} both have 0"):
        ids_of(samples)


def test_two_images_of_a_stream_with_one_id_are_named():
    with pytest.raises(ValueError, match="a sample of the stream and a sample of the stream both have 4"):
        list(Loader(iter([Sample(NOISE, sample_id=4), Sample(NOISE[::-1], sample_id=4)]), 2))


def test_one_sample_may_be_repeated():
    source = part(3, 4)
    assert ids_of(Subset(source, [0, 0, 1, 1])) == [3, 3, 4, 4]
    (batch,) = Loader([*source, *source], 4, shuffle=False)
    assert batch.sample_ids.tolist() == [3, 4, 3, 4]


class Changing(list):
    """A source whose samples depend on the epoch."""

    epochs: list[int]

    def set_epoch(self, epoch):
        self.epochs = [*getattr(self, "epochs", []), epoch]


@pytest.mark.parametrize("order", [None, Repeats(2)], ids=["once", "repeated"])
def test_a_part_of_a_source_has_the_epochs_of_the_loader(order):
    parts = [Changing(part(*ids)) for ids in ((0, 1), (0,), (0, 2), (3,))]
    inner = Subset(ConcatDataset(parts[1:3]), [0, 2])
    nested = ConcatDataset([parts[0], inner, as_source(parts[3]), part(4)])
    with Loader(nested, 2, order=order) as loader:
        loader.set_epoch(5)
        for _ in range(2):
            list(loader)
    assert [each.epochs for each in parts] == [[5, 6]] * 4
    with pytest.raises(ValueError, match="a source with an index, and without set_epoch, for cache"):
        Loader(nested, 2, cache=Cache(1 << 20))


def test_a_source_has_the_epoch_of_its_worker_in_ray():
    source = Changing(part(0, 1))
    _Worker(Subset(source, [1]), None, Decoding(), "raise", 3)
    assert source.epochs == [3]
